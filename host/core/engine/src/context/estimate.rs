//! Token estimates by rule of thumb. They decide when to compact, and are the size of a request
//! where the provider reports none; nothing is billed by them.

use agent_host_types::{
    message::{Message, ToolResult},
    model::Usage,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolDefinition,
};
use serde::Serialize;
use std::io::{self, Write};

/// Bytes of text per token. English prose has slightly more, code and JSON slightly less.
const BYTES_PER_TOKEN: u64 = 4;

/// The framing of a message, a call or a result on the wire, in tokens.
const FRAME_TOKENS: u64 = 4;

/// An image. Providers scale large ones down: Anthropic counts up to about 1,600 tokens, the others
/// fewer.
const IMAGE_TOKENS: u64 = 1_600;

/// Bytes of a PDF or another file per token: providers that read PDFs count about 2,000 tokens for
/// a page of about 50 KB.
const FILE_BYTES_PER_TOKEN: u64 = 25;

/// The factor by which no text exceeds the estimated bytes per token. A provider's lower count
/// omits something, such as cached tokens.
const IMPLAUSIBLE: u64 = 4;

/// A provider's count for a request with the estimate of its messages; later sizes add and subtract
/// estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    input_tokens: u64,
    messages: u64,
}

impl Measured {
    /// Returns the measure of a request with this estimate; `None` if the provider does not count.
    pub(crate) fn from_usage(usage: Usage, messages: u64) -> Option<Self> {
        (usage.input_tokens > 0).then_some(Self {
            input_tokens: usage.input_tokens,
            messages,
        })
    }

    /// Returns the size of a request whose messages now have this estimate.
    pub(crate) fn now(self, messages: u64) -> u64 {
        let added = messages.saturating_sub(self.messages);
        let removed = self.messages.saturating_sub(messages);
        let size = self.input_tokens.saturating_add(added);
        size.saturating_sub(removed).max(messages / IMPLAUSIBLE)
    }
}

/// Returns the tokens of a text of this length.
pub(crate) fn bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Returns the bytes of text with this number of tokens.
pub(crate) fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

pub(crate) fn text(text: &str) -> u64 {
    bytes(text.len() as u64)
}

/// Estimates everything of a message that a provider is sent.
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

pub(crate) fn messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(message).sum()
}

pub(crate) fn result(result: &ToolResult) -> u64 {
    FRAME_TOKENS + text(&result.name) + output(&result.output)
}

pub(crate) fn output(output: &ToolResultOutput) -> u64 {
    match output {
        ToolResultOutput::Text(words)
        | ToolResultOutput::ErrorText(words)
        | ToolResultOutput::ExecutionDenied(Some(words)) => text(words),
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => text(json.as_str()),
        ToolResultOutput::Content(content) => parts(content),
        ToolResultOutput::ExecutionDenied(None) => FRAME_TOKENS,
    }
}

pub(crate) fn parts(parts: &[ContentPart]) -> u64 {
    let part = |part: &ContentPart| match part {
        ContentPart::Text { text: words } => text(words),
        ContentPart::File(part) => file(part),
    };
    parts.iter().map(part).sum()
}

/// Estimates the tools of a request.
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
        // The size is unknown: counted like an image.
        FileData::Url(_) => IMAGE_TOKENS,
    }
}

/// Estimates a value by the length of its JSON text, without building the text.
fn json(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    // Counting cannot fail, and a value without a JSON form is never sent.
    let _ = serde_json::to_writer(&mut count, value);
    bytes(count.0)
}

/// A writer that counts bytes.
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
