//! The change of a text file that a waiting call of `builtin:files` would make, for the user who
//! decides on the call.
//!
//! The file is read by `read_file` of the same component, in the sandbox and with the same grants:
//! what they mask, deny or leave out is not shown, and a link leads nowhere that the tool could not
//! go.

use crate::{ComponentSource, Registry, host_path};
use agent_host_engine::{
    flow::CallFlow,
    tool::{Invocation, RunEnd},
};
use agent_host_types::{
    id::{CallId, SessionId},
    output::ToolResultOutput,
    reason::Reason,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};
use std::{io, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The built-in component with the tools below.
const COMPONENT: &str = "files";
const READ: &str = "read_file";
const WRITE: &str = "write_file";
const EDIT: &str = "edit_file";

/// The unchanged lines around each change.
const CONTEXT_LINES: usize = 3;

/// The maximum number of rows of a comparison; a longer one is not shown.
const MAX_ROWS: usize = 500;

/// The time after which a comparison gets coarser.
const DIFF_TIME: Duration = Duration::from_millis(300);

/// The change of a file that a call would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileChange {
    /// The file is a text or does not exist, and this would be changed.
    Compared {
        /// Whether the file does not exist yet.
        is_new: bool,
        /// The rows of a unified diff.
        rows: Vec<DiffRow>,
        /// The arguments that the rows show.
        shows: &'static [&'static str],
    },
    /// There is nothing to compare with, as the tool says.
    Unread {
        /// The tool's reason.
        reason: String,
    },
}

/// A row of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "text", rename_all = "kebab-case")]
pub enum DiffRow {
    /// The position of the rows that follow.
    Hunk(String),
    /// A line that stays.
    Same(String),
    /// A line that goes.
    Removed(String),
    /// A line that comes.
    Added(String),
}

/// The text that a call of `builtin:files` writes, as its arguments have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenText<'a> {
    /// The file, by the tool's path.
    pub path: &'a str,
    /// The text that is replaced, which occurs once; absent if the whole file is.
    pub old: Option<&'a str>,
    /// The text.
    pub new: &'a str,
}

impl Registry {
    /// Returns the text that a call writes to a file; `None` if it is not one of `builtin:files`
    /// that writes a text.
    #[must_use]
    pub fn written_text<'a>(
        &self,
        tool: &str,
        input: &'a Map<String, Value>,
    ) -> Option<WrittenText<'a>> {
        match &self.component_of(tool)?.source {
            ComponentSource::Builtin(name) if name == COMPONENT => {}
            _ => return None,
        }
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let path = text("path")?;
        let (old, new) = match tool {
            WRITE => (None, text("content")?),
            EDIT => (Some(text("old")?), text("new")?),
            _ => return None,
        };
        Some(WrittenText { path, old, new })
    }

    /// Returns the change that a call would make to a file; `None` if it is not one of
    /// `builtin:files` that writes a text, or the change is too long to show.
    pub async fn file_change(&self, tool: &str, input: &Map<String, Value>) -> Option<FileChange> {
        let written = self.written_text(tool, input)?;
        let (is_new, before, after) = match (self.file_texts(tool, input).await?, written.old) {
            (Ok((before, after)), _) => (false, before, after),
            (Err(_), None) if self.is_missing(tool, written.path) => {
                (true, String::new(), written.new.to_owned())
            }
            (Err(reason), _) => {
                let reason = reason.into();
                return Some(FileChange::Unread { reason });
            }
        };
        let shows: &[&str] = match written.old {
            None => &["path", "content"],
            Some(_) => &["path", "old", "new"],
        };
        let rows = rows(&before, &after);
        (rows.len() <= MAX_ROWS).then_some(FileChange::Compared {
            is_new,
            rows,
            shows,
        })
    }

    /// Whether no file has this path, not even one that the tool may not see.
    fn is_missing(&self, tool: &str, path: &str) -> bool {
        let entry = self.component_of(tool);
        let place = entry.and_then(|entry| host_path(&entry.grants, path));
        place.is_some_and(|place| {
            let found = place.symlink_metadata();
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        })
    }

    /// Returns the texts of a file before a call and after it; the inner error is the reason of the
    /// tool that cannot read it. `None` as of [`Self::file_change`].
    pub async fn file_texts(
        &self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Option<Result<(String, String), Reason>> {
        let written = self.written_text(tool, input)?;
        // Another component, or one with other grants, may read other files.
        if !std::ptr::eq(self.component_of(READ)?, self.component_of(tool)?) {
            return None;
        }
        let before = match self.page(written.path, 1).await? {
            Ok(before) => before,
            Err(reason) => return Some(Err(reason)),
        };
        let count = before.lines().count();
        if let Some(line) = before.split_inclusive('\n').next_back()
            && self.page(written.path, count).await?.ok()? != last_page(line, count)
        {
            return None;
        }
        let after = written.after(&before)?;
        Some(Ok((before, after)))
    }

    /// Reads a page of a text file from a line on; the inner error is the tool's reason.
    async fn page(&self, path: &str, line: usize) -> Option<Result<String, Reason>> {
        let tools = self.tool_set();
        let input = json!({ "path": path, "offset_line": line });
        let session = SessionId::new();
        let invocation = Invocation {
            session,
            call_id: CallId("preview".to_owned()),
            tool: READ.to_owned(),
            input: tools.accept(READ, input.as_object()?).ok()?,
            idempotency_key: session.to_string(),
            shared: Arc::default(),
            context: Arc::default(),
            answers: Vec::new(),
            artifacts: None,
            agent_depth: 0,
            traceparent: None,
            sources: Vec::new(),
            flow: CallFlow::default(),
            can_ask: false,
            cancel: CancellationToken::new(),
        };
        let RunEnd::Settled(report) = tools.run(invocation, &|_| {}).await else {
            return None;
        };
        match report.output {
            ToolResultOutput::Text(text) => Some(Ok(text)),
            ToolResultOutput::ErrorText(reason)
            | ToolResultOutput::ExecutionDenied(Some(reason)) => Some(Err(reason.into())),
            _ => None,
        }
    }
}

/// Returns the page of the last line of a file of `count` lines. A page that was cut ends with a
/// line of the tool's own, so that the file has another line there, or none.
fn last_page(line: &str, count: usize) -> String {
    match (count, line.ends_with('\n')) {
        (1, _) => line.to_owned(),
        (_, true) => format!("{line}[lines {count} to {count} of {count}]"),
        (_, false) => format!("{line}\n[lines {count} to {count} of {count}]"),
    }
}

impl WrittenText<'_> {
    /// Returns the file after the call; `None` if the call would change nothing.
    fn after(&self, before: &str) -> Option<String> {
        match self.old {
            None => Some(self.new.to_owned()),
            Some(old) => {
                let end = line_end(before)?;
                let with_ends = |text: &str| match end {
                    Some(end) => text.replace("\r\n", "\n").replace('\n', end),
                    None => text.to_owned(),
                };
                let (old, new) = (with_ends(old), with_ends(self.new));
                let is_once = !old.is_empty() && before.matches(&old).count() == 1;
                is_once.then(|| before.replacen(&old, &new, 1))
            }
        }
    }
}

/// Returns the line end of a text, which the tool uses for what it inserts; the inner `None` is
/// that of a text of one line. `None` if there are several, whose change is not shown.
fn line_end(text: &str) -> Option<Option<&'static str>> {
    let (feeds, pairs) = (text.matches('\n').count(), text.matches("\r\n").count());
    match (feeds, pairs) {
        (0, _) => (!text.contains('\r')).then_some(None),
        (_, 0) => Some(Some("\n")),
        _ => (feeds == pairs).then_some(Some("\r\n")),
    }
}

/// Returns the rows of a unified diff.
fn rows(before: &str, after: &str) -> Vec<DiffRow> {
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_lines(before, after);
    let mut rows = Vec::new();
    for hunk in diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .iter_hunks()
    {
        rows.push(DiffRow::Hunk(hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let line = change.value();
            let text = line.strip_suffix('\n').unwrap_or(line).to_owned();
            let is_last = change.missing_newline();
            rows.push(match change.tag() {
                ChangeTag::Equal => DiffRow::Same(text),
                ChangeTag::Delete => DiffRow::Removed(text),
                ChangeTag::Insert => DiffRow::Added(text),
            });
            if is_last {
                rows.push(DiffRow::Hunk("\\ No newline at end of file".to_owned()));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{DiffRow, WrittenText, rows};
    use pretty_assertions::assert_eq;

    #[test]
    fn edit_is_shown_with_the_line_ends_of_the_file() {
        let cases = [
            ("a\r\nb\r\n", "b", "x\ny", Some("a\r\nx\r\ny\r\n")),
            ("a\r\nb\r\n", "a\nb", "x", Some("x\r\n")),
            ("a\nb\n", "a\r\n", "x\r\n", Some("x\nb\n")),
            ("a", "a", "x\r\ny", Some("x\r\ny")),
            // Mixed, and ends of an old kind.
            ("a\r\nb\n", "b", "x", None),
            ("a\rb", "b", "x", None),
            ("a\na\n", "a", "x", None),
        ];
        for (before, old, new, expected) in cases {
            let written = WrittenText {
                path: "f",
                old: Some(old),
                new,
            };
            let after = written.after(before);
            assert_eq!(after.as_deref(), expected, "{before:?} {old:?}");
        }
    }

    #[test]
    fn comparison_has_changed_lines_and_the_end_of_the_file() {
        let same = |text: &str| DiffRow::Same(text.to_owned());
        let hunk = |text: &str| DiffRow::Hunk(text.to_owned());
        let before = "1\n2\n3\n4\n5\nold\n";
        let after = "1\n2\n3\n4\n5\nnew";
        let expected = vec![
            hunk("@@ -3,4 +3,4 @@"),
            same("3"),
            same("4"),
            same("5"),
            DiffRow::Removed("old".to_owned()),
            DiffRow::Added("new".to_owned()),
            hunk("\\ No newline at end of file"),
        ];
        assert_eq!(rows(before, after), expected);
        assert_eq!(rows(before, before), vec![]);
    }
}
