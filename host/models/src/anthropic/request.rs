//! A conversation as the body of `POST /v1/messages`. The wire has two roles that take turns, refuses blocks without text, and
//! keeps what it has read up to four marked places, so that the next request need not pay for it again.

#[cfg(test)]
mod tests;

use super::kept::Kept;
use crate::{
    media::{self, Content, Placed, Source, texts},
    results::Following,
    wire::{Capabilities, Encoded},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The most tokens of a reply where nothing else is configured. The wire wants a number, and every model since the fourth
/// generation takes this one.
const MAX_TOKENS: u32 = 32_000;

/// What a failed call says that says nothing: the wire refuses an error without content.
const SILENT_FAILURE: &str = "The tool failed and said nothing.";

/// Translates a request.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        model,
        capabilities,
        turns: Vec::new(),
        images: 0,
    };
    for message in &request.messages {
        encoder.message(message);
    }
    let most = capabilities.max_output_tokens;
    let mut body = json!({
        "model": model,
        "max_tokens": most.map_or(MAX_TOKENS, std::num::NonZeroU32::get),
        "messages": messages(encoder.turns),
        "stream": true,
    });
    if let Some(body) = body.as_object_mut() {
        if let Some(mut system) = request.system.as_deref().and_then(text_block) {
            mark(&mut system);
            body.insert("system".to_owned(), json!([system]));
        }
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        if let Some(last) = tools.last_mut() {
            mark(last);
            body.insert("tools".to_owned(), Value::Array(tools));
            if !capabilities.parallel_calls {
                let choice = json!({"type": "auto", "disable_parallel_tool_use": true});
                body.insert("tool_choice".to_owned(), choice);
            }
        }
    }
    Encoded {
        body,
        images: encoder.images,
    }
}

/// What one side says before the other does.
struct Turn {
    role: &'static str,
    blocks: Vec<Value>,
}

struct Encoder<'a> {
    model: &'a str,
    capabilities: Capabilities,
    turns: Vec<Turn>,
    images: usize,
}

impl Encoder<'_> {
    fn message(&mut self, message: &Message) {
        match message.role {
            // Not every model takes the role of the system here.
            Role::System => {
                let text = format!("[from the operator]\n{}", texts(&message.content));
                self.push("user", text_block(&text).into_iter().collect());
            }
            Role::User => {
                let blocks = self.blocks(&message.content);
                self.push("user", blocks);
            }
            Role::Assistant => self.push("assistant", assistant(message, self.model)),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    /// Adds to the turn, or begins one.
    fn push(&mut self, role: &'static str, blocks: Vec<Value>) {
        match self.turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            Some(_) | None => self.turns.push(Turn { role, blocks }),
        }
    }

    fn blocks(&mut self, parts: &[ContentPart]) -> Vec<Value> {
        parts
            .iter()
            .filter_map(|part| self.block(place(part, self.capabilities)))
            .collect()
    }

    fn block(&mut self, part: Placed<'_>) -> Option<Value> {
        match part {
            Placed::Text(text) => text_block(&text),
            Placed::Image(image) => {
                self.images += 1;
                Some(image_block(&image))
            }
            Placed::Document(document) => Some(document_block(&document)),
        }
    }

    /// All results in one turn, before anything else in it. Files that cannot be in a result follow the last one.
    fn results(&mut self, results: &[ToolResult]) {
        let mut blocks = Vec::new();
        let mut files = Following::default();
        for result in results {
            let content = match &result.output {
                ToolResultOutput::Text(text) => said(text),
                ToolResultOutput::Json(value) => said(&value.to_string()),
                ToolResultOutput::Content(parts) => self.tool_content(result, parts, &mut files),
                ToolResultOutput::ErrorText(text) => {
                    said(text).or_else(|| Some(json!(SILENT_FAILURE)))
                }
                ToolResultOutput::ErrorJson(value) => said(&value.to_string()),
                ToolResultOutput::ExecutionDenied(reason) => reason
                    .as_deref()
                    .and_then(said)
                    .or_else(|| Some(json!(DENIED_TEXT))),
            };
            let mut block = json!({"type": "tool_result", "tool_use_id": token(&result.call_id.0)});
            if let Some(object) = block.as_object_mut() {
                object.extend(content.map(|content| ("content".to_owned(), content)));
                let denied = matches!(result.output, ToolResultOutput::ExecutionDenied(_));
                if result.output.is_error() || (denied && self.capabilities.denied_is_error) {
                    object.insert("is_error".to_owned(), json!(true));
                }
            }
            blocks.push(block);
        }
        let files = files.parts().unwrap_or_default();
        blocks.extend(files.into_iter().filter_map(|part| self.block(part)));
        self.push("user", blocks);
    }

    /// The blocks of a multipart result; none where it has no content.
    fn tool_content<'a>(
        &mut self,
        result: &'a ToolResult,
        parts: &'a [ContentPart],
        files: &mut Following<'a>,
    ) -> Option<Value> {
        let blocks: Vec<Value> = parts
            .iter()
            .filter_map(|part| match place(part, self.capabilities) {
                Placed::Text(text) => text_block(&text),
                file if self.capabilities.files_in_results => self.block(file),
                file => text_block(&files.marker(result, part, file)),
            })
            .collect();
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }
}

/// The turns as messages. The user has the first one. The ends of the user's last two are marked: the newest is where this
/// request ends, the one before where the last request ended, which is read again.
fn messages(mut turns: Vec<Turn>) -> Vec<Value> {
    if turns.first().is_none_or(|turn| turn.role != "user") {
        let blocks = text_block("[the conversation goes on]");
        let blocks = blocks.into_iter().collect();
        turns.insert(
            0,
            Turn {
                role: "user",
                blocks,
            },
        );
    }
    let ends = turns
        .iter_mut()
        .rev()
        .filter(|turn| turn.role == "user")
        .filter_map(|turn| turn.blocks.last_mut());
    ends.take(2).for_each(mark);
    turns
        .into_iter()
        .map(|turn| json!({"role": turn.role, "content": turn.blocks}))
        .collect()
}

/// Marks the end of what the provider is to keep for the next request.
fn mark(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

/// A reply of the model as it goes back: with its thoughts where they are this model's.
fn assistant(message: &Message, model: &str) -> Vec<Value> {
    let text = texts(&message.content);
    let calls = message.tool_calls.iter().map(call).collect();
    let kept = Kept::of(message, model).unwrap_or_else(|| Kept {
        model: model.to_owned(),
        blocks: Vec::new(),
    });
    kept.into_blocks(&text, calls)
}

/// A call as it goes back. The input is an object; what the model wrote instead of one goes in it as a string, so that it can
/// see its own fault.
fn call(call: &ToolCall) -> Value {
    let input = match &call.input {
        Some(input) => json!(input),
        None => json!({"invalid_arguments": call.raw_arguments}),
    };
    json!({"type": "tool_use", "id": token(&call.id.0), "name": token(&call.name), "input": input})
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    })
}

/// A block of text; none where there is nothing to read, which the wire refuses.
pub(super) fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// The content of a result that is a text; none where there is nothing to read.
fn said(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!(text))
}

/// An id or a name in the letters that the wire allows, `[a-zA-Z0-9_-]`. Those of other providers have more, and each other
/// byte becomes its number, so that what differs still does.
fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => token.push(char::from(byte)),
            _ => token.push_str(&format!("_{byte:02x}")),
        }
    }
    token
}

/// The place of a part. The provider fetches nothing without TLS.
fn place(part: &ContentPart, capabilities: Capabilities) -> Placed<'_> {
    match media::place(part, capabilities) {
        Placed::Image(file) | Placed::Document(file) if matches!(file.content, Content::Url(url) if !url.starts_with("https://")) => {
            Placed::Text(media::unseen(part))
        }
        placed => placed,
    }
}

fn image_block(image: &Source<'_>) -> Value {
    json!({"type": "image", "source": source(image)})
}

fn document_block(document: &Source<'_>) -> Value {
    let mut block = json!({"type": "document", "source": source(document)});
    if let (Some(block), Some(name)) = (block.as_object_mut(), document.filename) {
        block.insert("title".to_owned(), json!(name));
    }
    block
}

fn source(file: &Source<'_>) -> Value {
    match file.content {
        Content::Bytes(bytes) => json!({
            "type": "base64",
            "media_type": file.media_type,
            "data": STANDARD.encode(bytes),
        }),
        Content::Url(url) => json!({"type": "url", "url": url}),
    }
}
