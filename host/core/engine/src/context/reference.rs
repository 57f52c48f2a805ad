//! References in place of old results: the kind, size and beginning of a result, and the artifact
//! with all of it.

use super::{estimate, shortened};
use crate::{
    artifact::result_name,
    spill::{unquoted_preview, whole_bytes},
};
use agent_host_types::{
    context::ReferencedResult,
    message::{Message, Role, ToolResult},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
};

/// The smallest result that is replaced, in tokens. A reference to a smaller one would save little.
const LEAST_TOKENS: u64 = 256;

/// The bytes of a result's beginning in a reference.
const HEAD_BYTES: usize = 200;

/// The number of files that a reference names.
const NAMED_FILES: usize = 8;

/// A result replaced by a reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eviction {
    pub(crate) result: ReferencedResult,
    /// The whole result, where no blob has it yet.
    pub(crate) blob: Option<Blob>,
    /// The saved tokens.
    pub(crate) saves: u64,
}

/// Chooses results to replace, oldest first, until `tokens` tokens are saved. Excludes those of the
/// newest `keep` messages with results, and those that the model has not seen. `is_repeatable` says
/// whether a tool may be called again only to see its result.
pub(crate) fn choose(
    messages: &[Message],
    keep: usize,
    tokens: u64,
    is_repeatable: impl Fn(&str) -> bool,
) -> Vec<Eviction> {
    let unseen = messages
        .last()
        .is_some_and(|last| last.role == Role::ToolResult);
    let with_results = messages
        .iter()
        .filter(|message| !message.tool_results.is_empty());
    let old = with_results
        .clone()
        .count()
        .saturating_sub(keep.max(usize::from(unseen)));
    let candidates = with_results
        .take(old)
        .flat_map(|message| &message.tool_results);
    let mut saved = 0;
    let mut chosen = Vec::new();
    for result in candidates {
        if saved >= tokens {
            break;
        }
        if let Some(eviction) = evict(result, is_repeatable(&result.name)) {
            saved += eviction.saves;
            chosen.push(eviction);
        }
    }
    chosen
}

/// Returns the reference to a result; `None` if it would not be smaller.
fn evict(result: &ToolResult, is_repeatable: bool) -> Option<Eviction> {
    let size = estimate::output(&result.output);
    if size < LEAST_TOKENS {
        return None;
    }
    let read = unquoted_preview(&result.output, result.whole.as_ref());
    let (kind, beginning) = described(&result.output, read.as_ref().unwrap_or(&result.output))?;
    let (whole, blob) = match &result.whole {
        Some(whole) => (whole.clone(), None),
        None => {
            let blob = Blob::new(whole_bytes(&result.output)?);
            (blob.reference(), Some(blob))
        }
    };
    let again = if is_repeatable {
        "If you need it, make the same call again."
    } else {
        "Do not make the call again only to see it: that may change something."
    };
    let text = format!(
        "[This result of `{}` was taken out of the conversation to make room: {kind}, {} bytes. All of it is the artifact `{}`. \
         {again}]{beginning}",
        result.name,
        whole.size,
        result_name(&result.call_id),
    );
    let output = match result.output.is_error() {
        true => ToolResultOutput::ErrorText(text),
        false => ToolResultOutput::Text(text),
    };
    let saves = size.checked_sub(estimate::output(&output))?;
    (saves > 0).then(|| Eviction {
        result: ReferencedResult {
            call_id: result.call_id.clone(),
            tool: result.name.clone(),
            output,
            blob: whole,
        },
        blob,
        saves,
    })
}

/// Returns the kind of a result and the end of the note on it, with the beginning of what the model
/// read; `None` if the call did not run.
fn described(output: &ToolResultOutput, read: &ToolResultOutput) -> Option<(String, String)> {
    let kind = match output {
        ToolResultOutput::Text(_) | ToolResultOutput::ErrorText(_) => "text".to_owned(),
        ToolResultOutput::Json(_) | ToolResultOutput::ErrorJson(_) => "JSON".to_owned(),
        ToolResultOutput::Content(parts) => format!("{} parts{}", parts.len(), files(parts)),
        ToolResultOutput::ExecutionDenied(_) => return None,
    };
    let beginning = match read {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => beginning(text),
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
            beginning(json.as_str())
        }
        ToolResultOutput::Content(parts) => {
            let text = parts.iter().find_map(ContentPart::text);
            beginning(text.unwrap_or_default())
        }
        ToolResultOutput::ExecutionDenied(_) => return None,
    };
    Some((kind, beginning))
}

/// Lists the files among the parts.
fn files(parts: &[ContentPart]) -> String {
    let files: Vec<&FilePart> = parts.iter().filter_map(ContentPart::file).collect();
    let named: String = files
        .iter()
        .take(NAMED_FILES)
        .map(|file| format!(", {}", describe(file)))
        .collect();
    match files.len().saturating_sub(NAMED_FILES) {
        0 => named,
        more => format!("{named}, and {more} more files"),
    }
}

/// Describes a file in a few words.
pub(super) fn describe(file: &FilePart) -> String {
    let name = file.filename.as_deref().unwrap_or("a file");
    let place = match &file.data {
        FileData::Blob(blob) => format!("{} bytes, blob {}", blob.size, blob.digest),
        FileData::Bytes(bytes) => format!("{} bytes", bytes.len()),
        FileData::Text(text) => format!("{} bytes", text.len()),
        FileData::Url(url) => shortened(url, HEAD_BYTES),
    };
    format!(
        "{} ({}, {place})",
        shortened(name, HEAD_BYTES),
        file.media_type
    )
}

/// Returns the beginning of a result's text, as the end of the note.
fn beginning(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("\nIt began:\n{}", shortened(text, HEAD_BYTES)),
    }
}
