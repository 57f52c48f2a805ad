//! How many tokens something has, by rule of thumb. Nobody is billed by it: it says when a conversation comes near the end of a
//! window, and how large a request was where the provider does not count.

use agent_host_types::{
    message::{Message, ToolResult},
    model::Usage,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolDefinition,
};
use serde::Serialize;
use std::io::{self, Write};

/// Bytes of text for one token. English prose has a little more, code and JSON a little less.
const BYTES_PER_TOKEN: u64 = 4;

/// What wraps a message, a call or a result on the wires, in tokens.
const FRAME_TOKENS: u64 = 4;

/// An image. Providers scale large ones down: Anthropic counts up to about 1,600 tokens, the others fewer.
const IMAGE_TOKENS: u64 = 1_600;

/// Bytes of a PDF or another file for one token: a page of about 50 KB counts as some 2,000 tokens with the providers that read
/// PDFs.
const FILE_BYTES_PER_TOKEN: u64 = 25;

/// No text has so many bytes for a token as four times the rule. What a provider reports below that leaves something out, such
/// as what it had cached.
const IMPLAUSIBLE: u64 = 4;

/// What a provider counted for a request, and the estimate of its messages then. From there on the estimates of what is added
/// and removed count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    input_tokens: u64,
    messages: u64,
}

impl Measured {
    /// The measure of a request whose messages had this estimate; none where the provider does not count.
    pub(crate) fn of(usage: Usage, messages: u64) -> Option<Self> {
        (usage.input_tokens > 0).then_some(Self {
            input_tokens: usage.input_tokens,
            messages,
        })
    }

    /// The size of a request, whose messages now have this estimate.
    pub(crate) fn now(self, messages: u64) -> u64 {
        let added = messages.saturating_sub(self.messages);
        let removed = self.messages.saturating_sub(messages);
        let size = self.input_tokens.saturating_add(added);
        size.saturating_sub(removed).max(messages / IMPLAUSIBLE)
    }
}

/// The tokens of a text of so many bytes.
pub(crate) fn bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// How many bytes of text so many tokens have.
pub(crate) fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// A text.
pub(crate) fn text(text: &str) -> u64 {
    bytes(text.len() as u64)
}

/// A message, with all that providers are sent of it.
pub(crate) fn message(message: &Message) -> u64 {
    let calls = message
        .tool_calls
        .iter()
        .map(|call| FRAME_TOKENS + bytes((call.name.len() + call.raw_arguments.len()) as u64));
    let metadata = match message.metadata.is_empty() {
        true => 0,
        false => json(&message.metadata),
    };
    FRAME_TOKENS
        + metadata
        + parts(&message.content)
        + calls.sum::<u64>()
        + message.tool_results.iter().map(result).sum::<u64>()
}

/// Several messages.
pub(crate) fn messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(message).sum()
}

/// A result.
pub(crate) fn result(result: &ToolResult) -> u64 {
    FRAME_TOKENS + text(&result.name) + output(&result.output)
}

/// What a call came to.
pub(crate) fn output(output: &ToolResultOutput) -> u64 {
    match output {
        ToolResultOutput::Text(words)
        | ToolResultOutput::ErrorText(words)
        | ToolResultOutput::ExecutionDenied(Some(words)) => text(words),
        ToolResultOutput::Json(value) | ToolResultOutput::ErrorJson(value) => json(value),
        ToolResultOutput::Content(content) => parts(content),
        ToolResultOutput::ExecutionDenied(None) => FRAME_TOKENS,
    }
}

/// Text and files.
pub(crate) fn parts(parts: &[ContentPart]) -> u64 {
    let part = |part: &ContentPart| match part {
        ContentPart::Text { text: words } => text(words),
        ContentPart::File(part) => file(part),
    };
    parts.iter().map(part).sum()
}

/// The tools that a model is offered.
pub(crate) fn tools<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> u64 {
    let one = |tool: &ToolDefinition| {
        FRAME_TOKENS + text(&tool.name) + text(&tool.description) + json(&tool.input_schema)
    };
    definitions.into_iter().map(one).sum()
}

fn file(file: &FilePart) -> u64 {
    let of_size = |size: u64| match file.media_type.starts_with("image/") {
        true => IMAGE_TOKENS,
        false => FRAME_TOKENS + size / FILE_BYTES_PER_TOKEN,
    };
    match &file.data {
        FileData::Text(words) => FRAME_TOKENS + text(words),
        FileData::Bytes(bytes) => of_size(bytes.len() as u64),
        FileData::Blob(blob) => of_size(blob.size),
        // Whatever is there: as much as an image.
        FileData::Url(_) => IMAGE_TOKENS,
    }
}

/// The tokens of a value's JSON text, which is not made for it.
fn json(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    // Counting cannot fail, and what has no JSON form is sent to nobody.
    let _ = serde_json::to_writer(&mut count, value);
    bytes(count.0)
}

/// Counts what is written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
