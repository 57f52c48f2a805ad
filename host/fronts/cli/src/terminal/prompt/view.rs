//! The text of a call under review. Text of the model, the tool and files stands in frames, except
//! for a target that is one plain word.

use super::{
    BOLD, Map, Review, Value,
    menu::{MenuContext, more},
};
use crate::terminal::{DIM, GREEN, RED, YELLOW, at_words, escape_line};
use agent_host_app::{DiffRow, FileChange};
use agent_host_engine::{
    text::framed,
    turn::{CallFrame, FrameArguments, expand_tabs},
};
use anstyle::Style;

/// The columns that a frame takes of a row.
const BAR_COLUMNS: usize = 3;

/// The maximum number of rows of a title, and of a tool's reason.
const MAX_NOTE_ROWS: usize = 3;

/// A rendered call.
pub(super) struct RenderedCall {
    pub(super) text: String,
    /// The number of rows that are left out, which the text tells.
    pub(super) left_out: usize,
}

impl Review<'_> {
    /// Renders the call: its tool, target, and change or effect, then the rows of the change or its
    /// other arguments, and what it could reach besides. At most `max_rows` rows.
    pub(super) fn shown(&self, max_rows: usize) -> RenderedCall {
        let position = match self.position {
            (_, ..=1) => String::new(),
            (position, count) => format!("{position} of {count}  "),
        };
        let (rows, shows) = match self.change {
            Some(FileChange::Compared {
                is_new,
                rows,
                shows,
            }) => {
                // The position in a file that does not exist tells nothing.
                let is_told = |row: &&DiffRow| !*is_new || !matches!(row, DiffRow::Hunk(_));
                (self.comparison(rows.iter().filter(is_told)), *shows)
            }
            Some(FileChange::Unread { reason }) => {
                let mut rows = vec![format!(
                    "{DIM}The tool could not read the file, and may not be able to write it:{DIM:#}"
                )];
                let columns = self.terminal.columns();
                let reason = framed_words(reason, columns, MAX_NOTE_ROWS);
                rows.extend(reason.lines().map(str::to_owned));
                (rows, &[][..])
            }
            None => (Vec::new(), &[][..]),
        };
        let frame = self.frame(&self.call.input, shows);
        self.text(&position, frame, rows, max_rows)
    }

    /// Renders the call on one line, without styles.
    pub(super) fn line(&self) -> String {
        let frame = self.frame(&self.call.input, &[]);
        let target = frame.target.as_deref().and_then(|rows| rows.lines().next());
        let target = target.map_or_else(String::new, |row| format!("  {row}"));
        let warning = if frame.warnings.is_empty() && !self.reach.is_outside {
            ""
        } else {
            "  (!)"
        };
        format!("{}{warning}{target}", frame.heading)
    }

    /// Renders the call with other arguments.
    pub(super) fn shown_edited(&self, input: &Map<String, Value>) -> String {
        let frame = self.frame(input, &[]);
        self.text("Edited  ", frame, Vec::new(), usize::MAX).text
    }

    /// Renders the exact arguments.
    pub(super) fn json(&self) -> String {
        let text = serde_json::to_string_pretty(&self.call.input).unwrap_or_default();
        let rows = framed(&text, self.terminal.columns(), usize::MAX);
        format!("\n{DIM}The arguments are exactly:{DIM:#}\n{rows}")
    }

    /// Renders what the frame leaves out: who offers the tool, why the user is asked, and the other
    /// answers.
    pub(super) fn details(&self, context: MenuContext<'_>) -> String {
        let columns = self.terminal.columns();
        let title = self
            .call
            .title
            .as_deref()
            .map_or_else(String::new, |title| {
                let title = framed(title, columns, MAX_NOTE_ROWS);
                format!("\n{DIM}The tool's own title is:{DIM:#}\n{title}")
            });
        let origin = framed_words(&self.reach.origin, columns, usize::MAX);
        let reach = self.reach.beyond.as_deref();
        let reach = reach.unwrap_or("Sandboxed; it can reach nothing.");
        let basis = format!(
            "Asked because of {}.",
            self.frame(&self.call.input, &[]).basis
        );
        let answers = more(self.call, context);
        let answers = answers
            .iter()
            .map(|answer| format!("\n{}", at_words(answer, columns)));
        format!(
            "{title}\n{DIM}It comes from:{DIM:#}\n{origin}\n{}\n{DIM}{}{DIM:#}{}",
            framed_words(reach, columns, usize::MAX),
            at_words(&basis, columns),
            answers.collect::<String>()
        )
    }

    /// Returns the parts of the call with these arguments. `without` are shown elsewhere.
    fn frame(&self, input: &Map<String, Value>, without: &[&str]) -> CallFrame {
        let change = match self.change {
            Some(FileChange::Compared { is_new, rows, .. }) if *input == *self.call.input => {
                Some(change_size(*is_new, rows))
            }
            _ => None,
        };
        let arguments = FrameArguments {
            input,
            target: self.main_argument(),
            without,
            change: change.as_deref(),
            is_sandboxed: !self.reach.is_outside,
            columns: self.terminal.columns(),
        };
        CallFrame::new(self.call, &arguments)
    }

    /// Renders the parts of a call, with the rows of its change before its arguments.
    fn text(
        &self,
        before: &str,
        frame: CallFrame,
        mut rows: Vec<String>,
        max_rows: usize,
    ) -> RenderedCall {
        let columns = self.terminal.columns();
        rows.extend(frame.arguments.lines().map(str::to_owned));
        let left_out = rows.len().saturating_sub(max_rows);
        rows.truncate(max_rows);
        if left_out > 0 {
            rows.push(format!(
                "{YELLOW}{left_out} more rows are not shown; `y` allows them, too.{YELLOW:#}"
            ));
        }
        let target = frame
            .target
            .map(|target| target.replace('\n', &format!("{BOLD:#}\n{BOLD}")));
        let target = target.map(|target| format!("{BOLD}{target}{BOLD:#}"));
        let heading = format!("{YELLOW}{before}{YELLOW:#}{BOLD}{}{BOLD:#}", frame.heading);
        let reach = self.reach.beyond.as_deref().unwrap_or_default();
        let reach = at_words(&escape_line(reach), columns);
        let (outside, inside) = match (self.reach.is_outside, reach.is_empty()) {
            (_, true) => (None, None),
            (true, false) => (Some(format!("{YELLOW}{reach}{YELLOW:#}")), None),
            (false, false) => (None, Some(format!("{DIM}{reach}{DIM:#}"))),
        };
        let mut text = format!("\n{}", at_words(&heading, columns));
        let description = self.own_description().into_iter().flatten();
        for row in outside
            .into_iter()
            .chain(target)
            .chain(rows)
            .chain(description)
        {
            text.push_str(&format!("\n{row}"));
        }
        text.push_str(&frame.warnings);
        text.extend(inside.map(|reach| format!("\n{reach}")));
        RenderedCall { text, left_out }
    }

    /// Renders what a tool outside the sandbox says it does, which the host cannot check.
    fn own_description(&self) -> Option<[String; 2]> {
        if !self.reach.is_outside || self.call.description.is_empty() {
            return None;
        }
        let rows = framed_words(
            &self.call.description,
            self.terminal.columns(),
            MAX_NOTE_ROWS,
        );
        Some([
            format!("{DIM}The tool says of itself, unchecked:{DIM:#}"),
            rows,
        ])
    }

    fn framed_rows(&self, text: &str, max_rows: usize) -> Vec<String> {
        let rows = framed(text, self.terminal.columns(), max_rows);
        rows.lines().map(str::to_owned).collect()
    }

    /// Renders a comparison with the file as it is.
    fn comparison<'r>(&self, rows: impl Iterator<Item = &'r DiffRow>) -> Vec<String> {
        let rows: Vec<String> = rows.flat_map(|row| self.diff_row(row)).collect();
        match rows.is_empty() {
            true => vec![format!("{BOLD}The file already has this content.{BOLD:#}")],
            false => rows,
        }
    }

    fn diff_row(&self, row: &DiffRow) -> Vec<String> {
        let (sign, text, style) = match row {
            DiffRow::Hunk(text) => ("", text, DIM),
            DiffRow::Same(text) => (" ", text, Style::new()),
            DiffRow::Removed(text) => ("-", text, RED),
            DiffRow::Added(text) => ("+", text, GREEN),
        };
        let rows = self.framed_rows(&format!("{sign}{}", expand_tabs(text)), usize::MAX);
        let styled = |row: String| format!("{style}{row}{style:#}");
        rows.into_iter().map(styled).collect()
    }
}

/// Describes the size of a change, such as `+1 -1`.
fn change_size(is_new: bool, rows: &[DiffRow]) -> String {
    let count =
        |is_counted: fn(&DiffRow) -> bool| rows.iter().filter(|row| is_counted(row)).count();
    let added = count(|row| matches!(row, DiffRow::Added(_)));
    let removed = count(|row| matches!(row, DiffRow::Removed(_)));
    match (is_new, added, removed) {
        (true, ..) => format!("new file +{added}"),
        (false, 0, 0) => "no change".to_owned(),
        (false, ..) => format!("+{added} -{removed}"),
    }
}

/// Frames text of the host, broken between words where they fit a row.
pub(super) fn framed_words(text: &str, columns: usize, max_rows: usize) -> String {
    let text = at_words(text, columns.saturating_sub(BAR_COLUMNS));
    framed(&text, columns, max_rows)
}
