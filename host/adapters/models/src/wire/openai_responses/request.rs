//! Encodes a conversation as the body of `POST /responses`: one flat list of items. Nothing is lost
//! silently: what the model cannot take becomes a note in brackets.

#[cfg(test)]
mod tests;

use super::reasoning;
use crate::wire::{
    Capabilities, Encoded,
    items::{ConversationItem, items},
    request::{
        FileContent, FileRef, RequestPart, arguments_text, list, set, string_or_parts, texts, token,
    },
};
use agent_host_types::{
    message::Message,
    model::ModelRequest,
    tool::{ToolCall, ToolDefinition},
};
use serde_json::{Value, json};

pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    // The wire takes no sound.
    let convert =
        |part| RequestPart::unless(part, capabilities, |file| file.audio_format().is_some());
    let (items, images) = items(&request.messages, capabilities.files_in_results, convert);
    let input = items.into_iter().flat_map(|item| wire_items(model, item));
    let mut body = json!({
        "model": model,
        "input": input.collect::<Vec<_>>(),
        "store": false,
        "stream": true,
    });
    set(&mut body, "instructions", request.system.as_ref());
    let include = reasons(model).then_some(["reasoning.encrypted_content"]);
    set(&mut body, "include", include);
    set(
        &mut body,
        "max_output_tokens",
        capabilities.max_output_tokens,
    );
    if let Some(tools) = list(&request.tools, function) {
        set(&mut body, "tools", Some(tools));
        let single = (!capabilities.parallel_calls).then_some(false);
        set(&mut body, "parallel_tool_calls", single);
    }
    Encoded { body, images }
}

/// True if a model reasons, by its name. Models that do not reason refuse a request for encrypted
/// reasoning (400); they are listed because OpenAI makes no new ones.
pub(super) fn reasons(model: &str) -> bool {
    // Gateways prefix the maker, and OpenAI marks fine-tuned models with `ft:`.
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let old = ["gpt-3", "gpt-4", "chatgpt-"];
    !old.iter().any(|old| name.starts_with(old)) && !name.contains("-chat")
}

/// Encodes an item of the conversation as items of the wire.
fn wire_items(model: &str, item: ConversationItem<'_>) -> Vec<Value> {
    match item {
        ConversationItem::System(text) => vec![message_item("system", &json!(text))],
        ConversationItem::User(parts) => vec![message_item("user", &content(parts))],
        ConversationItem::Assistant(message) => assistant(model, message),
        ConversationItem::Result(result, parts) => vec![json!({
            "type": "function_call_output",
            "call_id": token(&result.call_id.0),
            "output": content(parts),
        })],
    }
}

fn message_item(role: &str, content: &Value) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

/// Encodes a reply of the model: its stored items if this model wrote them, else its text and
/// calls.
fn assistant(model: &str, message: &Message) -> Vec<Value> {
    reasoning::items_of(message, model).unwrap_or_else(|| {
        let text = texts(&message.content);
        let text = (!text.is_empty()).then(|| message_item("assistant", &json!(text)));
        text.into_iter()
            .chain(message.tool_calls.iter().map(call))
            .collect()
    })
}

fn content(parts: Vec<RequestPart<'_>>) -> Value {
    string_or_parts(parts, |part| match part {
        RequestPart::Text(text) => json!({"type": "input_text", "text": text}),
        RequestPart::Image(image) => {
            json!({"type": "input_image", "detail": "auto", "image_url": image.url()})
        }
        RequestPart::Document(document) => document_part(document),
    })
}

/// Encodes a document. The provider names one that it fetches by its URL.
fn document_part(document: &FileRef<'_>) -> Value {
    match document.content {
        FileContent::Url(url) => json!({"type": "input_file", "file_url": url}),
        FileContent::Bytes(_) => {
            let name = document.filename.unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": name, "file_data": document.url()})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": token(&call.id.0),
        "name": token(&call.name),
        "arguments": arguments_text(call),
    })
}

/// Encodes a tool. Strict schemas are a subset of JSON Schema that few tools keep to.
fn function(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": false,
    })
}
