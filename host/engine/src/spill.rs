//! What a result becomes before it enters the history: bytes move to blobs, and long text keeps its head and its tail.
//! Nothing is lost: the whole stays in the blob that the text names.

use agent_host_types::{
    message::Message,
    output::{Blob, BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};

#[cfg(test)]
mod tests;

/// How much text of one result stays inline, all parts together, in bytes. The rest is in a blob.
pub const INLINE_TEXT_BYTES: usize = 50 * 1024;

/// A result in the form in which the journal keeps it, and the blobs that it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The result, with no bytes and no long text in it.
    pub output: ToolResultOutput,
    /// What must be stored together with it.
    pub blobs: Vec<Blob>,
}

/// The longest text that is never replaced by a note: the note would be no shorter.
const NOTE_BYTES: usize = 256;

/// Moves bytes and long text out of a result. JSON that is too long becomes text, since JSON with its middle left out is
/// none; success stays success and failure stays failure.
#[must_use]
pub fn settle(output: ToolResultOutput) -> Settled {
    let mut spill = Spill::new();
    let output = match output {
        ToolResultOutput::Text(text) => ToolResultOutput::Text(spill.text(text)),
        ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(spill.text(text)),
        ToolResultOutput::Json(value) => match spill.json(&value) {
            Some(text) => ToolResultOutput::Text(text),
            None => ToolResultOutput::Json(value),
        },
        ToolResultOutput::ErrorJson(value) => match spill.json(&value) {
            Some(text) => ToolResultOutput::ErrorText(text),
            None => ToolResultOutput::ErrorJson(value),
        },
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
    Settled {
        output,
        blobs: spill.blobs,
    }
}

/// Moves bytes and long text files out of a person's message. What the person wrote stays as they wrote it, however long.
#[must_use]
pub fn settle_message(mut message: Message) -> (Message, Vec<Blob>) {
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

/// What is moved out of one result or message. Its parts share one budget of inline text.
struct Spill {
    /// How much more text may stay, in bytes.
    room: usize,
    blobs: Vec<Blob>,
}

impl Spill {
    fn new() -> Self {
        Self {
            room: INLINE_TEXT_BYTES,
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

    fn json(&mut self, value: &serde_json::Value) -> Option<String> {
        let text = value.to_string();
        (text.len() > self.room).then(|| self.text(text))
    }

    /// Keeps a text that fits. Of any other it keeps the beginning, three fifths of the room, and the end, one fifth; the
    /// last fifth is for the note between them.
    fn text(&mut self, text: String) -> String {
        if text.len() <= self.room.max(NOTE_BYTES) {
            self.room = self.room.saturating_sub(text.len());
            return text;
        }
        let fifth = std::mem::take(&mut self.room) / 5;
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
