//! Encodes a conversation as the body of `POST /v1/messages`. The wire has two roles that
//! alternate, refuses blocks without text, and caches the prompt up to four marked blocks, so that
//! the next request need not pay for it again.

#[cfg(test)]
mod tests;

use super::reasoning::Reasoning;
use crate::wire::{
    Capabilities, Encoded,
    request::{FileContent, FileRef, RequestPart, arguments, is_insecure_url, set, texts, token},
    results::TrailingFiles,
    turns::{RoleTurns, USER, from_operator},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::num::NonZeroU32;

/// The default for the most tokens of a reply. The wire requires a number, and every model since
/// the fourth generation accepts this one.
const MAX_TOKENS: u32 = 32_000;

/// The content of an error result that has none: the wire refuses it without.
const EMPTY_ERROR: &str = "The tool failed and said nothing.";

pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        model,
        capabilities,
        turns: RoleTurns::default(),
        images: 0,
    };
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({
        "model": model,
        "max_tokens": capabilities.max_output_tokens.map_or(MAX_TOKENS, NonZeroU32::get),
        "messages": messages(encoder.turns),
        "stream": true,
    });
    if let Some(mut system) = request.system.as_deref().and_then(text_block) {
        mark(&mut system);
        set(&mut body, "system", Some([system]));
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
        set(&mut body, "tools", Some(tools));
        let choice = json!({"type": "auto", "disable_parallel_tool_use": true});
        let choice = (!capabilities.parallel_calls).then_some(choice);
        set(&mut body, "tool_choice", choice);
    }
    Encoded {
        body,
        images: encoder.images,
    }
}

struct Encoder<'a> {
    model: &'a str,
    capabilities: Capabilities,
    turns: RoleTurns,
    images: usize,
}

impl Encoder<'_> {
    fn message(&mut self, message: &Message) {
        let content = &message.content;
        let (role, blocks) = match message.role {
            // Not every model takes the system role within a conversation.
            Role::System => {
                let block = text_block(&from_operator(&texts(content)));
                (USER, block.into_iter().collect())
            }
            Role::User => {
                let convert = |part| self.block(convert(part, self.capabilities));
                (USER, content.iter().filter_map(convert).collect())
            }
            Role::Assistant => ("assistant", assistant(message, self.model)),
            Role::ToolResult => (USER, self.results(&message.tool_results)),
        };
        self.turns.push(role, blocks);
    }

    fn block(&mut self, part: RequestPart<'_>) -> Option<Value> {
        match part {
            RequestPart::Text(text) => text_block(&text),
            RequestPart::Image(image) => {
                self.images += 1;
                Some(image_block(&image))
            }
            RequestPart::Document(document) => Some(document_block(&document)),
        }
    }

    /// Encodes all results, before anything else in their turn. Files that cannot be in a result
    /// follow the last one.
    fn results(&mut self, results: &[ToolResult]) -> Vec<Value> {
        let mut blocks = Vec::new();
        let mut files = TrailingFiles::default();
        for result in results {
            let content = match &result.output {
                ToolResultOutput::Text(text) => non_blank(text),
                ToolResultOutput::Json(json) => non_blank(json.as_str()),
                ToolResultOutput::Content(parts) => self.tool_content(result, parts, &mut files),
                ToolResultOutput::ErrorText(text) => {
                    non_blank(text).or_else(|| Some(json!(EMPTY_ERROR)))
                }
                ToolResultOutput::ErrorJson(json) => non_blank(json.as_str()),
                ToolResultOutput::ExecutionDenied(reason) => reason
                    .as_deref()
                    .and_then(non_blank)
                    .or_else(|| Some(json!(DENIED_TEXT))),
            };
            let mut block = json!({"type": "tool_result", "tool_use_id": token(&result.call_id.0)});
            set(&mut block, "content", content);
            let denied = matches!(result.output, ToolResultOutput::ExecutionDenied(_));
            let is_error =
                result.output.is_error() || (denied && self.capabilities.denied_is_error);
            set(&mut block, "is_error", is_error.then_some(true));
            blocks.push(block);
        }
        let files = files.into_parts().into_iter();
        blocks.extend(files.filter_map(|part| self.block(part)));
        blocks
    }

    /// Encodes a multipart result; none if it has no content.
    fn tool_content<'a>(
        &mut self,
        result: &'a ToolResult,
        parts: &'a [ContentPart],
        files: &mut TrailingFiles<'a>,
    ) -> Option<Value> {
        let blocks: Vec<Value> = parts
            .iter()
            .filter_map(|part| match convert(part, self.capabilities) {
                RequestPart::Text(text) => text_block(&text),
                file if self.capabilities.files_in_results => self.block(file),
                file => text_block(&files.push(result, part, file)),
            })
            .collect();
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }
}

/// Encodes the turns. The ends of the user's last two turns are marked: the newest is where this
/// request ends, the other where the last request ended, whose cache is read.
fn messages(turns: RoleTurns) -> Vec<Value> {
    let mut turns = turns.finish(text_block);
    let ends = turns
        .iter_mut()
        .rev()
        .filter(|turn| turn.role == USER)
        .filter_map(|turn| turn.parts.last_mut());
    ends.take(2).for_each(mark);
    turns
        .into_iter()
        .map(|turn| json!({"role": turn.role, "content": turn.parts}))
        .collect()
}

/// Marks the end of a prefix that the provider should cache.
fn mark(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

/// Encodes a reply of the model, with its thoughts if they are this model's.
fn assistant(message: &Message, model: &str) -> Vec<Value> {
    let text = texts(&message.content);
    let calls = message.tool_calls.iter().map(call).collect();
    let reasoning = Reasoning::from_message(message, model).unwrap_or_else(|| Reasoning {
        model: model.to_owned(),
        blocks: Vec::new(),
    });
    reasoning.into_blocks(&text, calls)
}

fn call(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use",
        "id": token(&call.id.0),
        "name": token(&call.name),
        "input": arguments(call),
    })
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    })
}

/// Encodes a text block; none if the text is blank, which the wire refuses.
pub(super) fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// Encodes the text of a result; none if it is blank.
fn non_blank(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!(text))
}

/// Converts a part. The provider fetches nothing without TLS, and takes no sound.
fn convert(part: &ContentPart, capabilities: Capabilities) -> RequestPart<'_> {
    RequestPart::unless(part, capabilities, |file| {
        is_insecure_url(file) || file.audio_format().is_some()
    })
}

fn image_block(image: &FileRef<'_>) -> Value {
    json!({"type": "image", "source": source(image)})
}

fn document_block(document: &FileRef<'_>) -> Value {
    let mut block = json!({"type": "document", "source": source(document)});
    set(&mut block, "title", document.filename);
    block
}

fn source(file: &FileRef<'_>) -> Value {
    match file.content {
        FileContent::Bytes(bytes) => json!({
            "type": "base64",
            "media_type": file.media_type,
            "data": STANDARD.encode(bytes),
        }),
        FileContent::Url(url) => json!({"type": "url", "url": url}),
    }
}
