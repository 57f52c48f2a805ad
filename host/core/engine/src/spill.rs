//! Stores large results: moves bytes to blobs, and a result with more text than
//! [`INLINE_TEXT_BYTES`] as a whole, before it enters the history. A preview stays in its place,
//! of the same variant: the head and the tail of each long text, and a note between them that names
//! the artifact with the whole.

use agent_host_types::{
    artifact::{ArtifactName, FILES},
    event::Event,
    id::Digest,
    json::JsonText,
    message::Message,
    output::{Blob, BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    workflow::NodeOutput,
};
use serde_json::Value;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The inline text of one result, all parts together, in bytes. The rest is in a blob.
pub const INLINE_TEXT_BYTES: usize = 50 * 1024;

/// A result in the form that the journal stores, with its blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct SpilledOutput {
    /// The result without bytes and long text.
    pub output: ToolResultOutput,
    /// The whole result, where `output` is a preview.
    pub whole: Option<BlobRef>,
    /// The blobs to store with it.
    pub blobs: Vec<Blob>,
}

/// The inline text of a node whose whole output is a blob, in bytes.
const NODE_TEXT_BYTES: usize = 4 * 1024;

/// The longest text that always stays inline, in bytes: a note in its place would not be shorter.
const NOTE_BYTES: usize = 256;

/// Moves bytes of a result to blobs, and a long result, too. `name` is the name of its artifact.
///
/// The preview of JSON is JSON of the same variant: a string with the head and the tail of its
/// text.
#[must_use]
pub fn spill_output(output: ToolResultOutput, name: &str) -> SpilledOutput {
    let mut blobs = Vec::new();
    let output = match output {
        ToolResultOutput::Content(parts) => {
            let parts = parts.into_iter().map(|part| store_bytes(part, &mut blobs));
            ToolResultOutput::Content(parts.collect())
        }
        other => other,
    };
    let preview = preview(&output, name);
    let long = preview.and_then(|preview| Some((preview, whole_bytes(&output)?)));
    let (output, whole) = match long {
        Some((preview, bytes)) => (preview, Some(store(bytes, &mut blobs))),
        None => (output, None),
    };
    SpilledOutput {
        output,
        whole,
        blobs,
    }
}

/// Returns the preview of a result that is too long to stay inline.
fn preview(output: &ToolResultOutput, name: &str) -> Option<ToolResultOutput> {
    let mut budget = Budget::default();
    let note = || format!("the whole result is the artifact `{name}`");
    let mut cut = |text: &str| budget.cut(text, note);
    let quoted = |text: String| JsonText::try_from(&Value::String(text)).ok();
    Some(match output {
        ToolResultOutput::Text(text) => ToolResultOutput::Text(cut(text)?),
        ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(cut(text)?),
        ToolResultOutput::Json(json) => ToolResultOutput::Json(quoted(cut(json.as_str())?)?),
        ToolResultOutput::ErrorJson(json) => {
            ToolResultOutput::ErrorJson(quoted(cut(json.as_str())?)?)
        }
        ToolResultOutput::ExecutionDenied(reason) => {
            ToolResultOutput::ExecutionDenied(Some(cut(reason.as_deref()?)?))
        }
        ToolResultOutput::Content(parts) => {
            let mut parts = parts.clone();
            let mut is_cut = false;
            for part in &mut parts {
                if let ContentPart::Text { text }
                | ContentPart::File(FilePart {
                    data: FileData::Text(text),
                    ..
                }) = part
                    && let Some(short) = cut(text)
                {
                    *text = short;
                    is_cut = true;
                }
            }
            return is_cut.then_some(ToolResultOutput::Content(parts));
        }
    })
}

/// Returns the bytes that hold all of a result besides its variant: its text, its JSON, or its
/// parts as JSON. `None` if a part cannot be written as JSON, which no part is known to cause.
pub(crate) fn whole_bytes(output: &ToolResultOutput) -> Option<Vec<u8>> {
    match output {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => {
            Some(text.as_bytes().to_vec())
        }
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
            Some(json.as_str().as_bytes().to_vec())
        }
        ToolResultOutput::Content(parts) => serde_json::to_vec(parts).ok(),
        ToolResultOutput::ExecutionDenied(reason) => {
            reason.as_ref().map(|reason| reason.as_bytes().to_vec())
        }
    }
}

/// Returns the result of which `preview` is the preview and `whole` has the bytes; `None` if they
/// are not those of a result of this variant.
#[must_use]
pub fn restore_output(preview: &ToolResultOutput, whole: Vec<u8>) -> Option<ToolResultOutput> {
    let json = |bytes: &[u8]| JsonText::parse(str::from_utf8(bytes).ok()?).ok();
    let text = |bytes| String::from_utf8(bytes).ok();
    Some(match preview {
        ToolResultOutput::Text(_) => ToolResultOutput::Text(text(whole)?),
        ToolResultOutput::ErrorText(_) => ToolResultOutput::ErrorText(text(whole)?),
        ToolResultOutput::Json(_) => ToolResultOutput::Json(json(&whole)?),
        ToolResultOutput::ErrorJson(_) => ToolResultOutput::ErrorJson(json(&whole)?),
        ToolResultOutput::Content(_) => {
            ToolResultOutput::Content(serde_json::from_slice(&whole).ok()?)
        }
        ToolResultOutput::ExecutionDenied(_) => {
            ToolResultOutput::ExecutionDenied(Some(text(whole)?))
        }
    })
}

/// Returns the readable form of a preview of JSON: its text, without the quotes
/// and escapes of a JSON string. Returns `None` for any other output, which is read as it is.
#[must_use]
pub fn unquoted_preview(
    output: &ToolResultOutput,
    whole: Option<&BlobRef>,
) -> Option<ToolResultOutput> {
    whole?;
    let text = |json: &JsonText| match json.to_value() {
        Value::String(text) => Some(text),
        _ => None,
    };
    match output {
        ToolResultOutput::Json(json) => text(json).map(ToolResultOutput::Text),
        ToolResultOutput::ErrorJson(json) => text(json).map(ToolResultOutput::ErrorText),
        ToolResultOutput::Text(_)
        | ToolResultOutput::ErrorText(_)
        | ToolResultOutput::Content(_)
        | ToolResultOutput::ExecutionDenied(_) => None,
    }
}

/// A user message in the form that the journal stores.
#[derive(Clone, Debug, PartialEq)]
pub struct SpilledMessage {
    /// The message without bytes and long files.
    pub message: Message,
    /// The events that store its long text files as artifacts, before the message.
    pub stored: Vec<Event>,
    /// The blobs to store with them.
    pub blobs: Vec<Blob>,
}

/// Moves bytes of a user message to blobs, and long text files to artifacts, which the model reads
/// in pages. Text parts stay whole, however long.
#[must_use]
pub fn spill_message(mut message: Message) -> SpilledMessage {
    let (mut stored, mut blobs) = (Vec::new(), Vec::new());
    let mut budget = Budget::default();
    let parts = std::mem::take(&mut message.content).into_iter();
    let parts = parts.map(|part| {
        let mut part = store_bytes(as_text_if_long(part), &mut blobs);
        if let ContentPart::File(FilePart {
            data: FileData::Text(text),
            media_type,
            filename,
        }) = &mut part
        {
            let whole = Blob::new(text.as_bytes().to_vec());
            let name = artifact_of_file(filename.as_deref(), whole.digest);
            let note = || format!("the whole text is the artifact `{name}`");
            if let Some(short) = budget.cut(text, note) {
                *text = short;
                stored.push(Event::ArtifactStored {
                    call_id: None,
                    tool: None,
                    name,
                    media_type: media_type.clone(),
                    blob: whole.reference(),
                });
                blobs.push(whole);
            }
        }
        part
    });
    message.content = parts.collect();
    SpilledMessage {
        message,
        stored,
        blobs,
    }
}

/// Returns a long file that is text as text, which can be cut.
fn as_text_if_long(part: ContentPart) -> ContentPart {
    match part {
        ContentPart::File(FilePart {
            media_type,
            data: FileData::Bytes(bytes),
            filename,
        }) => {
            let is_text = media_type.starts_with("text/") && bytes.len() > INLINE_TEXT_BYTES;
            let data = match is_text.then(|| str::from_utf8(&bytes)) {
                Some(Ok(text)) => FileData::Text(text.to_owned()),
                Some(Err(_)) | None => FileData::Bytes(bytes),
            };
            ContentPart::File(FilePart {
                media_type,
                data,
                filename,
            })
        }
        other => other,
    }
}

/// Returns the name of the artifact of a user's file: the file's own, in a directory that no file
/// of another content has.
fn artifact_of_file(filename: Option<&str>, digest: Digest) -> ArtifactName {
    let directory: String = digest.hex().chars().take(8).collect();
    let named = filename.map(|name| format!("{FILES}{directory}/{name}").parse());
    match named {
        Some(Ok(name)) => name,
        _ => ArtifactName::of_file(digest),
    }
}

/// An output of a node in the form that the journal stores, with its blobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpilledNode {
    /// The whole output, without bytes.
    pub(crate) output: NodeOutput,
    /// The preview of a large output, and where the whole is.
    pub(crate) preview: Option<(NodeOutput, BlobRef)>,
    /// The blobs to store with it.
    pub(crate) blobs: Vec<Blob>,
}

/// Moves the bytes of a node's output to blobs, and an output of more than [`INLINE_TEXT_BYTES`] as
/// JSON as a whole. `name` is the name of its artifact.
pub(crate) fn spill_node(mut output: NodeOutput, name: &str) -> SpilledNode {
    let mut blobs = Vec::new();
    if let Some(ToolResultOutput::Content(parts)) = &mut output.output {
        let moved = std::mem::take(parts).into_iter();
        *parts = moved.map(|part| store_bytes(part, &mut blobs)).collect();
    }
    let json = serde_json::to_vec(&output).unwrap_or_default();
    let preview = (json.len() > INLINE_TEXT_BYTES).then(|| {
        let note = || format!("the whole output is the artifact `{name}`");
        let text = Budget {
            left: NODE_TEXT_BYTES,
        }
        .cut(&output.text, note);
        let parts = match &output.output {
            Some(ToolResultOutput::Content(parts)) => parts.iter(),
            _ => [].iter(),
        };
        // Their blobs are kept as long as an event names them.
        let files: Vec<ContentPart> = parts
            .filter(|part| part.file().is_some())
            .cloned()
            .collect();
        let preview = NodeOutput {
            text: text.unwrap_or_else(|| output.text.clone()),
            artifacts: BTreeMap::new(),
            output: (!files.is_empty()).then_some(ToolResultOutput::Content(files)),
            ..output.clone()
        };
        (preview, store(json, &mut blobs))
    });
    SpilledNode {
        output,
        preview,
        blobs,
    }
}

fn store_bytes(mut part: ContentPart, blobs: &mut Vec<Blob>) -> ContentPart {
    if let ContentPart::File(file) = &mut part
        && let FileData::Bytes(bytes) = &mut file.data
    {
        file.data = FileData::Blob(store(std::mem::take(bytes), blobs));
    }
    part
}

fn store(bytes: Vec<u8>, blobs: &mut Vec<Blob>) -> BlobRef {
    let blob = Blob::new(bytes);
    let reference = blob.reference();
    blobs.push(blob);
    reference
}

/// The text that may still stay inline, which the parts of one result or message share.
struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: INLINE_TEXT_BYTES,
        }
    }
}

impl Budget {
    /// Returns the head of a text that does not fit, in three fifths of the budget, and its tail in
    /// one fifth; the last fifth is for the note between them, which ends with `note`. Returns
    /// `None` for a text that fits.
    fn cut(&mut self, text: &str, note: impl FnOnce() -> String) -> Option<String> {
        if text.len() <= self.left.max(NOTE_BYTES) {
            self.left = self.left.saturating_sub(text.len());
            return None;
        }
        let fifth = std::mem::take(&mut self.left) / 5;
        let head_end = text.floor_char_boundary(fifth * 3);
        let tail_start = text.ceil_char_boundary(text.len() - fifth);
        let (head, tail) = (
            text.get(..head_end).unwrap_or_default(),
            text.get(tail_start..).unwrap_or_default(),
        );
        let note = format!(
            "\n\n[{} of {} bytes are left out here; {}]\n\n",
            tail_start - head_end,
            text.len(),
            note()
        );
        Some([head, &note, tail].concat())
    }
}
