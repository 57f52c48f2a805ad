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

impl Review<'_> {
    /// Renders the call: its tool, target, effect and size, what it changes or its other
    /// arguments, and what it could reach besides. At most `max_rows` rows of the second; how many
    /// are left out is told.
    pub(super) fn shown(&self, max_rows: usize) -> String {
        let position = match self.position {
            (_, ..=1) => String::new(),
            (position, count) => format!("{position} of {count}  "),
        };
        let (mut size, mut rows, mut shows) = (String::new(), Vec::new(), &[][..]);
        match self.change {
            Some(FileChange::Compared {
                is_new,
                rows: changed,
                shows: shown,
            }) => {
                size = change_size(*is_new, changed);
                // The position in a file that does not exist tells nothing.
                let is_told = |row: &&DiffRow| !*is_new || !matches!(row, DiffRow::Hunk(_));
                rows = self.comparison(changed.iter().filter(is_told));
                shows = shown;
            }
            Some(FileChange::Unread { reason }) => {
                rows.push(format!("{DIM}The tool cannot read the file now:{DIM:#}"));
                rows.extend(self.framed_rows(reason, MAX_NOTE_ROWS));
            }
            None => {}
        }
        self.text(&position, &self.call.input, (&size, rows, shows), max_rows)
    }

    /// Renders the call on one line, without styles.
    pub(super) fn line(&self) -> String {
        let frame = self.frame(&self.call.input, &[]);
        let target = frame.target.as_deref().and_then(|rows| rows.lines().next());
        let target = target.map_or_else(String::new, |row| format!("  {row}"));
        let size = match self.change {
            Some(FileChange::Compared { is_new, rows, .. }) => change_size(*is_new, rows),
            _ => String::new(),
        };
        let warning = if frame.warnings.is_empty() {
            ""
        } else {
            "  (!)"
        };
        format!("{}{size}{warning}{target}", frame.heading)
    }

    /// Renders the call with other arguments.
    pub(super) fn shown_edited(&self, input: &Map<String, Value>) -> String {
        self.text("Edited  ", input, ("", Vec::new(), &[]), usize::MAX)
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
        let reach = self.reach.beyond.as_deref().unwrap_or("can reach nothing");
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

    pub(super) fn frame(&self, input: &Map<String, Value>, without: &[&str]) -> CallFrame {
        let arguments = FrameArguments {
            input,
            target: self.main_argument(),
            without,
            columns: self.terminal.columns(),
        };
        CallFrame::new(self.call, &arguments)
    }

    /// Renders a call. A change has a size, rows, and the arguments that they show.
    fn text(
        &self,
        before: &str,
        input: &Map<String, Value>,
        (size, mut rows, shows): (&str, Vec<String>, &[&str]),
        max_rows: usize,
    ) -> String {
        let columns = self.terminal.columns();
        let frame = self.frame(input, shows);
        rows.extend(frame.arguments.lines().map(str::to_owned));
        let left_out = rows.len().saturating_sub(max_rows);
        rows.truncate(max_rows);
        if left_out > 0 {
            rows.push(format!(
                "{YELLOW}{left_out} more rows are not shown; v shows them.{YELLOW:#}"
            ));
        }
        let target = frame
            .target
            .map(|target| target.replace('\n', &format!("{BOLD:#}\n{BOLD}")));
        let target = target.map(|target| format!("{BOLD}{target}{BOLD:#}"));
        let heading = format!("{}{size}", frame.heading);
        let heading = at_words(
            &format!("{YELLOW}{before}{YELLOW:#}{BOLD}{heading}{BOLD:#}"),
            columns,
        );
        let mut text = format!("\n{heading}");
        for row in target.into_iter().chain(rows) {
            text.push_str(&format!("\n{row}"));
        }
        text.push_str(&frame.warnings);
        if let Some(beyond) = &self.reach.beyond {
            let beyond = at_words(&format!("It {}.", escape_line(beyond)), columns);
            text.push_str(&format!("\n{DIM}{beyond}{DIM:#}"));
        }
        text
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

/// Returns the size of a change, such as `  +1 -1`.
fn change_size(is_new: bool, rows: &[DiffRow]) -> String {
    let count =
        |is_counted: fn(&DiffRow) -> bool| rows.iter().filter(|row| is_counted(row)).count();
    let added = count(|row| matches!(row, DiffRow::Added(_)));
    let removed = count(|row| matches!(row, DiffRow::Removed(_)));
    match (is_new, added, removed) {
        (true, ..) => format!("  new file +{added}"),
        (false, 0, 0) => String::new(),
        (false, ..) => format!("  +{added} -{removed}"),
    }
}

/// Frames text of the host, broken between words where they fit a row.
pub(super) fn framed_words(text: &str, columns: usize, max_rows: usize) -> String {
    let text = at_words(text, columns.saturating_sub(BAR_COLUMNS));
    framed(&text, columns, max_rows)
}
