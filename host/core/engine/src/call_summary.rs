//! Tells a call in one line of words for the user, from the tool's template or by default. Pure.
//!
//! Everything that a tool, a model or a file can choose in the line is hostile. It is bounded, on
//! one line, and escaped as [`crate::text::escape_line`] does, with single spaces and without the
//! marks of outcomes, so that no part of it looks like another line. The outcome of a failure or a
//! denial is the host's. The words of a template can still say anything, such as those of another
//! tool's calls. So the line ends with the tool's name, which no template can remove, unless the
//! host wrote the template ([`SummaryTemplate::own`]): a line without a name is the host's alone.

mod template;
#[cfg(test)]
mod tests;

pub use template::{MAX_TEMPLATE, Template};

use crate::{policy::main_argument, text::bytes};
use agent_host_types::{
    accounting::AuditEntry,
    audit::AuditRequest,
    failure::FailureFields,
    json::JsonText,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{MAX_TOOL_NAME, RegisteredTool, SummaryTemplate, ToolDefinition},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, fmt};
use template::{Values, plain, quoted, spaced};

/// The keyword for the template of a summary, at the root of a tool's input schema. It is taken out
/// of the schema before anything else reads it.
pub const KEYWORD: &str = "x-summary";

/// The longest words about a call, and the longest reason of a failure, in characters.
pub const MAX_WORDS: usize = 100;

/// The longest value in the words, in characters.
const MAX_VALUE: usize = 60;

/// The longest text that is shown in the place of its size, in characters.
const MAX_SHORT_TEXT: usize = 40;

/// The largest JSON result that is looked into, in bytes: a tree takes much more memory.
const MAX_JSON: usize = 256 * 1024;

/// A call in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSummary {
    /// The words about the call and its outcome.
    pub words: String,
    /// The tool's name, which is shown behind the words; absent for a tool of the host.
    pub tool: Option<String>,
}

/// Writes the words and the name on one line, without styles.
impl fmt::Display for CallSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "{}  ({tool})", self.words),
            None => f.write_str(&self.words),
        }
    }
}

impl CallSummary {
    /// Tells a call that has its result and its requests to the gate. `tool` is absent for one that
    /// is not known any more, and `whole` is the whole result where `output` is a preview of it.
    #[must_use]
    pub fn new(
        name: &str,
        tool: Option<&RegisteredTool>,
        input: Option<&Map<String, Value>>,
        output: &ToolResultOutput,
        whole: Option<&BlobRef>,
        audit: &[AuditEntry],
    ) -> Self {
        let none = Map::new();
        let input = input.unwrap_or(&none);
        let result = result_value(output).filter(|_| whole.is_none());
        let size = whole.map_or_else(|| size(output), |whole| whole.size);
        let template = tool.and_then(|tool| tool.summary.as_ref());
        let told = template.and_then(|template| {
            let values = Values {
                input,
                result: result.as_deref(),
                size: output.is_success().then_some(size),
                status: only_status(audit).filter(|_| output.is_success()),
            };
            Template::parse(&template.text).ok()?.render(values)
        });
        let words = told.unwrap_or_else(|| {
            let definition = tool.map(|tool| &*tool.definition);
            let call = default_words(name, definition, input);
            match (output.is_success(), whole) {
                (true, None) => format!("{call}  {}", outcome(output, result.as_deref())),
                (true, Some(_)) => format!("{call}  {}", bytes(size)),
                (false, _) => call,
            }
        });
        let words = crate::text::truncated(words, MAX_WORDS);
        Self {
            words: match failure(output) {
                Some(failure) => format!("{words}  {failure}"),
                None => words,
            },
            tool: match template {
                Some(SummaryTemplate { own: true, .. }) => None,
                _ => Some(spaced(name, MAX_TOOL_NAME)),
            },
        }
    }

    /// Names a call that has no result yet: its tool and its main argument.
    #[must_use]
    pub fn pending(
        name: &str,
        tool: Option<&RegisteredTool>,
        input: Option<&Map<String, Value>>,
    ) -> String {
        let name = spaced(name, MAX_TOOL_NAME);
        let argument =
            input.and_then(|input| main_value(tool.map(|tool| &*tool.definition), input));
        match argument {
            Some(argument) => format!("{name} {argument}"),
            None => name,
        }
    }
}

/// Returns the text or the JSON of a success, unless it has files or is too large.
fn result_value(output: &ToolResultOutput) -> Option<Cow<'_, Value>> {
    match output {
        ToolResultOutput::Text(text) => Some(Cow::Owned(text.as_str().into())),
        ToolResultOutput::Json(json) if json.as_str().len() <= MAX_JSON => {
            serde_json::from_str(json.as_str()).ok().map(Cow::Owned)
        }
        _ => None,
    }
}

/// Returns the status of the response to the only HTTP request of a call; those that were redirected
/// lead to it.
fn only_status(audit: &[AuditEntry]) -> Option<u16> {
    let mut only = None;
    for entry in audit {
        match (&entry.request, entry.status, only) {
            (_, Some(301..=303 | 307 | 308), _) => {}
            (_, Some(status), None) if entry.count == 1 => only = Some(status),
            (AuditRequest::Http { .. } | AuditRequest::Others, _, _) | (_, Some(_), _) => {
                return None;
            }
            _ => {}
        }
    }
    only
}

/// Returns the size of a success in bytes.
fn size(output: &ToolResultOutput) -> u64 {
    match output {
        ToolResultOutput::Text(text) => text.len() as u64,
        ToolResultOutput::Json(json) => json.as_str().len() as u64,
        ToolResultOutput::Content(parts) => parts
            .iter()
            .map(|part| match part {
                ContentPart::Text { text } => text.len() as u64,
                ContentPart::File(file) => file_size(file),
            })
            .sum(),
        _ => 0,
    }
}

fn file_size(file: &FilePart) -> u64 {
    match &file.data {
        FileData::Bytes(bytes) => bytes.len() as u64,
        FileData::Text(text) => text.len() as u64,
        FileData::Blob(blob) => blob.size,
        FileData::Url(_) => 0,
    }
}

/// Returns the name of the tool as words, and its main argument.
fn default_words(
    name: &str,
    definition: Option<&ToolDefinition>,
    input: &Map<String, Value>,
) -> String {
    let words = name.split(['_', '-']).filter(|word| !word.is_empty());
    let words = spaced(&words.collect::<Vec<_>>().join(" "), MAX_TOOL_NAME);
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    let words: String = first.into_iter().chain(characters).collect();
    match main_value(definition, input) {
        Some(argument) => format!("{words} {argument}"),
        None => words,
    }
}

/// Returns the value of the main argument; without a definition, that of `path` or the first text.
fn main_value(definition: Option<&ToolDefinition>, input: &Map<String, Value>) -> Option<String> {
    let value = match definition {
        Some(definition) => input.get(main_argument(definition)?)?,
        None => {
            let texts = input.values().find(|value| value.is_string());
            input
                .get("path")
                .filter(|path| path.is_string())
                .or(texts)?
        }
    };
    let shown = plain(value)?;
    let is_phrase = shown.contains(' ');
    Some(match value.as_str() {
        Some(text) if is_phrase => quoted(text),
        _ => shown,
    })
}

/// Returns the size of a success, or a short result itself.
fn outcome(output: &ToolResultOutput, result: Option<&Value>) -> String {
    let told = match output {
        ToolResultOutput::Text(text) => Some(text_outcome(text)),
        ToolResultOutput::Json(_) => result.and_then(json_outcome),
        ToolResultOutput::Content(parts) => files_outcome(parts),
        _ => None,
    };
    told.unwrap_or_else(|| bytes(size(output)))
}

fn text_outcome(text: &str) -> String {
    let trimmed = text.trim();
    match trimmed.lines().count() {
        1 if trimmed.chars().nth(MAX_SHORT_TEXT).is_none() => quoted(trimmed),
        0 | 1 => bytes(text.len() as u64),
        lines => format!("{lines} lines"),
    }
}

/// Counts a list, and the only list of an object; shows a single value.
fn json_outcome(result: &Value) -> Option<String> {
    let Value::Object(fields) = result else {
        return scalar(result);
    };
    let mut lists = fields.values().filter(|value| value.is_array());
    match (lists.next(), lists.next()) {
        (Some(list), None) => scalar(list),
        _ => scalar(fields.values().next().filter(|_| fields.len() == 1)?),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if items.len() == 1 => Some("1 item".to_owned()),
        Value::Array(items) => Some(format!("{} items", items.len())),
        Value::String(text) => Some(text_outcome(text)),
        Value::Null => Some("null".to_owned()),
        value => plain(value),
    }
}

fn files_outcome(parts: &[ContentPart]) -> Option<String> {
    let mut files = parts.iter().filter_map(|part| match part {
        ContentPart::File(file) => Some(file),
        ContentPart::Text { .. } => None,
    });
    let file = files.next()?;
    Some(match files.count() {
        0 => {
            let kind = spaced(&file.media_type, MAX_VALUE);
            format!("{kind}, {}", bytes(file_size(file)))
        }
        more => format!("{} files", more + 1),
    })
}

/// Returns the host's words about a failure or a denial, with its reason.
fn failure(output: &ToolResultOutput) -> Option<String> {
    let (word, reason) = match output {
        ToolResultOutput::ErrorText(text) => ("failed", text.clone()),
        ToolResultOutput::ErrorJson(json) => ("failed", json_reason(json)),
        ToolResultOutput::ExecutionDenied(reason) => ("denied", reason.clone().unwrap_or_default()),
        _ => return None,
    };
    let reason = spaced(&reason, MAX_WORDS);
    Some(match reason.is_empty() {
        true => word.to_owned(),
        false => format!("{word}: {reason}"),
    })
}

fn json_reason(json: &JsonText) -> String {
    if let Some(FailureFields { message, .. }) = FailureFields::from_json(json) {
        return message;
    }
    let small = Some(json.as_str()).filter(|json| json.len() <= MAX_JSON);
    let value: Option<Value> = small.and_then(|json| serde_json::from_str(json).ok());
    let status = value
        .as_ref()
        .and_then(|value| value.get("status")?.as_u64());
    let message = value
        .as_ref()
        .and_then(|value| value.get("message")?.as_str());
    match (message, status) {
        (Some(message), _) => message.to_owned(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => json.as_str().to_owned(),
    }
}
