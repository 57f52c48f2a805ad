//! What a result becomes before it enters the history: bytes move to blobs, and long text keeps its head and its tail.
//! Nothing is lost: the whole stays in the blob that the text names.

use super::{Blob, ContentPart, FileData, ToolResultOutput};
use crate::message::Message;

/// How much text of one result stays inline, in bytes. The rest is in a blob.
pub const INLINE_TEXT_BYTES: usize = 50 * 1024;

/// A result in the form in which the journal keeps it, and the blobs that it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The result, with no bytes and no long text in it.
    pub output: ToolResultOutput,
    /// What must be stored together with it.
    pub blobs: Vec<Blob>,
}

/// Moves bytes and long text out of a result.
#[must_use]
pub fn settle(output: ToolResultOutput) -> Settled {
    let mut blobs = Vec::new();
    let output = match output {
        ToolResultOutput::Text(text) => ToolResultOutput::Text(shorten(text, &mut blobs)),
        ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(shorten(text, &mut blobs)),
        ToolResultOutput::Json(value) => match shorten_json(&value, &mut blobs) {
            Some(text) => ToolResultOutput::Text(text),
            None => ToolResultOutput::Json(value),
        },
        ToolResultOutput::ErrorJson(value) => match shorten_json(&value, &mut blobs) {
            Some(text) => ToolResultOutput::ErrorText(text),
            None => ToolResultOutput::ErrorJson(value),
        },
        ToolResultOutput::Content(parts) => ToolResultOutput::Content(
            parts
                .into_iter()
                .map(|part| settle_part(part, &mut blobs))
                .collect(),
        ),
        denied @ ToolResultOutput::ExecutionDenied(_) => denied,
    };
    Settled { output, blobs }
}

/// Moves bytes and long text out of a person's message.
#[must_use]
pub fn settle_message(mut message: Message) -> (Message, Vec<Blob>) {
    let mut blobs = Vec::new();
    message.content = message
        .content
        .into_iter()
        .map(|part| settle_file(part, &mut blobs))
        .collect();
    (message, blobs)
}

/// What the person wrote stays as they wrote it, however long; only files move.
fn settle_file(part: ContentPart, blobs: &mut Vec<Blob>) -> ContentPart {
    match part {
        ContentPart::File(_) => settle_part(part, blobs),
        ContentPart::Text { .. } => part,
    }
}

/// Moves the bytes of one part out of it.
fn settle_part(part: ContentPart, blobs: &mut Vec<Blob>) -> ContentPart {
    match part {
        ContentPart::Text { text } => ContentPart::Text {
            text: shorten(text, blobs),
        },
        ContentPart::File(mut file) => {
            file.data = match file.data {
                FileData::Bytes(bytes) => store(bytes, blobs),
                FileData::Text(text) if text.len() > INLINE_TEXT_BYTES => {
                    store(text.into_bytes(), blobs)
                }
                other @ (FileData::Text(_) | FileData::Url(_) | FileData::Blob(_)) => other,
            };
            ContentPart::File(file)
        }
    }
}

fn store(bytes: Vec<u8>, blobs: &mut Vec<Blob>) -> FileData {
    let blob = Blob::new(bytes);
    let reference = blob.reference();
    blobs.push(blob);
    FileData::Blob(reference)
}

fn shorten_json(value: &serde_json::Value, blobs: &mut Vec<Blob>) -> Option<String> {
    let text = value.to_string();
    (text.len() > INLINE_TEXT_BYTES).then(|| shorten(text, blobs))
}

/// Keeps the first three fifths and the last fifth of the budget, which leaves room for the note between them.
fn shorten(text: String, blobs: &mut Vec<Blob>) -> String {
    if text.len() <= INLINE_TEXT_BYTES {
        return text;
    }
    let head_end = text.floor_char_boundary(INLINE_TEXT_BYTES / 5 * 3);
    let tail_start = text.ceil_char_boundary(text.len() - INLINE_TEXT_BYTES / 5);
    let (head, tail) = (
        text.get(..head_end).unwrap_or_default(),
        text.get(tail_start..).unwrap_or_default(),
    );
    let blob = Blob::new(text.as_bytes().to_vec());
    let note = format!(
        "\n\n[{} of {} bytes are left out here; the whole text is kept as blob {}]\n\n",
        tail_start - head_end,
        text.len(),
        blob.digest
    );
    let short = [head, &note, tail].concat();
    blobs.push(blob);
    short
}
