//! The text of a call under review. Text of the model, the tool and files stands in frames.

use super::{BOLD, Map, Review, Value};
use crate::terminal::{DIM, GREEN, RED, YELLOW, at_words};
use agent_host_app::{DiffRow, FileChange};
use agent_host_engine::{
    policy::main_argument,
    text::framed,
    turn::{CallPreview, arguments_text, expand_tabs},
};
use anstyle::Style;

/// The columns that a frame takes of a row.
const BAR_COLUMNS: usize = 3;

/// The maximum number of rows of what a tool may reach, and of a tool's reason.
const MAX_REACH_ROWS: usize = 12;

impl Review<'_> {
    /// Renders the whole call: its target, what its tool may reach, what it changes, and the rest
    /// of its arguments.
    pub(super) fn shown(&self) -> String {
        let who = match self.position {
            (_, ..=1) => "The model wants to run".to_owned(),
            (position, count) => format!("{position} of {count}: the model wants to run"),
        };
        let digest = self.call.input_digest.to_string();
        let (change, shows) = match self.change {
            Some(FileChange::Compared { rows, shows }) => (self.comparison(rows), *shows),
            Some(FileChange::Unread { reason }) => (
                self.named(
                    "The tool says that the file cannot be compared",
                    reason,
                    MAX_REACH_ROWS,
                ),
                &[][..],
            ),
            None => (String::new(), &[][..]),
        };
        self.text(&who, &self.call.input, &digest, &change, shows)
    }

    /// Renders the call with other arguments.
    pub(super) fn shown_edited(&self, input: &Map<String, Value>) -> String {
        let who = "Instead, you would run";
        self.text(who, input, "as you wrote them", "", &[])
    }

    /// Renders the exact arguments.
    pub(super) fn json(&self) -> String {
        let digest = self.call.input_digest.to_string();
        let columns = self.terminal.columns();
        let preview = CallPreview::new(self.call, &self.call.input, &digest, columns);
        format!(
            "\n{DIM}The arguments are exactly:{DIM:#}\n{}\n{DIM}{}{DIM:#}",
            preview.arguments, preview.below
        )
    }

    /// Renders a call. `shows` are the arguments that `change` shows.
    fn text(
        &self,
        who: &str,
        input: &Map<String, Value>,
        digest: &str,
        change: &str,
        shows: &[&str],
    ) -> String {
        let columns = self.terminal.columns();
        let preview = CallPreview::new(self.call, input, digest, columns);
        let title = preview.title.map_or_else(String::new, |title| {
            format!("\n{DIM}The tool's own title is:{DIM:#}\n{title}")
        });
        let target = self.target(input).map_or_else(String::new, |target| {
            let target = framed(target, columns, usize::MAX);
            format!("\n{DIM}Its target is:{DIM:#}\n{BOLD}{target}{BOLD:#}")
        });
        let arguments = arguments_text(input, shows);
        let arguments = match (arguments.is_empty(), shows.is_empty()) {
            (true, _) => String::new(),
            (false, true) => self.named("The arguments are", &arguments, usize::MAX),
            (false, false) => self.named("The other arguments are", &arguments, usize::MAX),
        };
        let what = format!("{YELLOW}{who}{YELLOW:#} {BOLD}{}{BOLD:#}.", preview.what);
        format!(
            "\n{}{target}\n{DIM}It comes from:{DIM:#}\n{}{title}{change}{arguments}\n{DIM}{}{DIM:#}",
            at_words(&what, columns),
            framed_words(self.reach, columns, MAX_REACH_ROWS),
            at_words(&preview.below, columns)
        )
    }

    /// Returns the main argument, if it is a text.
    fn target<'i>(&self, input: &'i Map<String, Value>) -> Option<&'i str> {
        let name = main_argument(&self.tool()?.definition)?;
        input.get(name)?.as_str()
    }

    /// Renders framed text below its name.
    fn named(&self, name: &str, text: &str, max_rows: usize) -> String {
        let text = framed(text, self.terminal.columns(), max_rows);
        format!("\n{DIM}{name}:{DIM:#}\n{text}")
    }

    /// Renders a comparison with the file as it is.
    fn comparison(&self, rows: &[DiffRow]) -> String {
        if rows.is_empty() {
            return format!("\n{BOLD}The file already has this content.{BOLD:#}");
        }
        let rows = rows.iter().map(|row| self.diff_row(row));
        format!(
            "\n{DIM}The file as it is now would change like this:{DIM:#}{}",
            rows.collect::<String>()
        )
    }

    fn diff_row(&self, row: &DiffRow) -> String {
        let (sign, text, style) = match row {
            DiffRow::Hunk(text) => ("", text, DIM),
            DiffRow::Same(text) => (" ", text, Style::new()),
            DiffRow::Removed(text) => ("-", text, RED),
            DiffRow::Added(text) => ("+", text, GREEN),
        };
        let text = format!("{sign}{}", expand_tabs(text));
        let rows = framed(&text, self.terminal.columns(), usize::MAX);
        let rows = rows
            .split('\n')
            .map(|row| format!("\n{style}{row}{style:#}"));
        rows.collect()
    }
}

/// Frames text of the host, broken between words where they fit a row.
pub(super) fn framed_words(text: &str, columns: usize, max_rows: usize) -> String {
    let text = at_words(text, columns.saturating_sub(BAR_COLUMNS));
    framed(&text, columns, max_rows)
}
