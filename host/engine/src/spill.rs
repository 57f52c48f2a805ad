//! Stores large results: moves bytes, and text beyond [`INLINE_TEXT_BYTES`], to blobs before a
//! result enters the history. Long text keeps its head, its tail and the digest of the blob with
//! the whole text.

use agent_host_types::{
    json::JsonText,
    message::Message,
    output::{Blob, BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};

#[cfg(test)]
mod tests;

/// The inline text of one result, all parts together, in bytes. The rest is in a blob.
pub const INLINE_TEXT_BYTES: usize = 50 * 1024;

/// A result in the form that the journal stores, with its blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct SpilledOutput {
    /// The result without bytes and long text.
    pub output: ToolResultOutput,
    /// The blobs to store with it.
    pub blobs: Vec<Blob>,
}

/// The longest text that always stays inline, in bytes: a note in its place would not be shorter.
const NOTE_BYTES: usize = 256;

/// Moves bytes and long text of a result to blobs. Long JSON becomes text, since it is not JSON
/// without its middle; a success stays a success and a failure a failure.
#[must_use]
pub fn spill_output(output: ToolResultOutput) -> SpilledOutput {
    let mut spill = Spill::new();
    let output = match output {
        ToolResultOutput::Text(text) => ToolResultOutput::Text(spill.text(text)),
        ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(spill.text(text)),
        ToolResultOutput::Json(json) if spill.is_long(&json) => {
            ToolResultOutput::Text(spill.text(json.to_string()))
        }
        ToolResultOutput::ErrorJson(json) if spill.is_long(&json) => {
            ToolResultOutput::ErrorText(spill.text(json.to_string()))
        }
        json @ (ToolResultOutput::Json(_) | ToolResultOutput::ErrorJson(_)) => json,
        ToolResultOutput::Content(parts) => ToolResultOutput::Content(
            parts
                .into_iter()
                .map(|part| match part {
                    ContentPart::Text { text } => ContentPart::Text {
                        text: spill.text(text),
                    },
                    ContentPart::File(file) => ContentPart::File(spill.file(file)),
                })
                .collect(),
        ),
        ToolResultOutput::ExecutionDenied(reason) => {
            ToolResultOutput::ExecutionDenied(reason.map(|reason| spill.text(reason)))
        }
    };
    SpilledOutput {
        output,
        blobs: spill.blobs,
    }
}

/// Moves bytes and long text files of a user message to blobs. Text parts stay whole, however long.
#[must_use]
pub fn spill_message(mut message: Message) -> (Message, Vec<Blob>) {
    let mut spill = Spill::new();
    message.content = message
        .content
        .into_iter()
        .map(|part| match part {
            ContentPart::Text { .. } => part,
            ContentPart::File(file) => ContentPart::File(spill.file(file)),
        })
        .collect();
    (message, spill.blobs)
}

/// The blobs of one result or message, whose parts share one budget of inline text.
struct Spill {
    /// The text that may still stay inline, in bytes.
    left: usize,
    blobs: Vec<Blob>,
}

impl Spill {
    fn new() -> Self {
        Self {
            left: INLINE_TEXT_BYTES,
            blobs: Vec::new(),
        }
    }

    fn file(&mut self, mut file: FilePart) -> FilePart {
        file.data = match file.data {
            FileData::Bytes(bytes) => FileData::Blob(self.store(bytes)),
            FileData::Text(text) => FileData::Text(self.text(text)),
            other @ (FileData::Url(_) | FileData::Blob(_)) => other,
        };
        file
    }

    fn is_long(&self, json: &JsonText) -> bool {
        json.as_str().len() > self.left
    }

    /// Keeps a text that fits. Otherwise keeps its head in three fifths of the budget and its tail
    /// in one fifth; the last fifth is for the note between them.
    fn text(&mut self, text: String) -> String {
        if text.len() <= self.left.max(NOTE_BYTES) {
            self.left = self.left.saturating_sub(text.len());
            return text;
        }
        let fifth = std::mem::take(&mut self.left) / 5;
        let head_end = text.floor_char_boundary(fifth * 3);
        let tail_start = text.ceil_char_boundary(text.len() - fifth);
        let (head, tail) = (
            text.get(..head_end).unwrap_or_default(),
            text.get(tail_start..).unwrap_or_default(),
        );
        let whole = self.store(text.as_bytes().to_vec());
        let note = format!(
            "\n\n[{} of {} bytes are left out here; the whole text is kept as blob {}]\n\n",
            tail_start - head_end,
            text.len(),
            whole.digest
        );
        [head, &note, tail].concat()
    }

    fn store(&mut self, bytes: Vec<u8>) -> BlobRef {
        let blob = Blob::new(bytes);
        let reference = blob.reference();
        self.blobs.push(blob);
        reference
    }
}
