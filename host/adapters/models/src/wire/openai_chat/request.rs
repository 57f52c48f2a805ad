//! Encodes a conversation as the body of `POST /chat/completions`. Nothing is lost silently: what
//! the wire or the model cannot take becomes a note in brackets.

#[cfg(test)]
mod tests;

use super::reasoning::Reasoning;
use crate::wire::{
    Capabilities, Encoded,
    items::{ConversationItem, items},
    request::{
        FileContent, FileRef, RequestPart, arguments_text, function, list, set, string_or_parts,
        texts, token,
    },
};
use agent_host_types::{
    message::Message, model::ModelRequest, output::ContentPart, tool::ToolCall,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let convert = |part| convert(part, capabilities);
    // Tool messages carry only text.
    let (items, images) = items(&request.messages, false, convert);
    let system = request.system.clone().map(ConversationItem::System);
    let mut with_calls = false;
    let messages: Vec<Value> = system
        .into_iter()
        .chain(items)
        .map(|item| {
            with_calls = match &item {
                ConversationItem::User(_) => false,
                ConversationItem::Assistant(reply) => with_calls || !reply.tool_calls.is_empty(),
                ConversationItem::System(_) | ConversationItem::Result(..) => with_calls,
            };
            message(model, item, with_calls)
        })
        .collect();
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    // OpenAI's own models want another name for it; Responses serves them.
    set(&mut body, "max_tokens", capabilities.max_output_tokens);
    if let Some(tools) = list(&request.tools, function) {
        set(&mut body, "tools", Some(tools));
        let single = (!capabilities.parallel_calls).then_some(false);
        set(&mut body, "parallel_tool_calls", single);
    }
    Encoded { body, images }
}

/// Encodes an item. `with_calls` says whether the turn has called tools so far.
fn message(model: &str, item: ConversationItem<'_>, with_calls: bool) -> Value {
    match item {
        ConversationItem::System(text) => json!({"role": "system", "content": text}),
        ConversationItem::User(parts) => json!({"role": "user", "content": content(parts)}),
        ConversationItem::Assistant(message) => {
            let mut wire = assistant(message);
            if let Some(reasoning) = Reasoning::from_message(message, model) {
                reasoning.add_to(&mut wire, with_calls);
            }
            wire
        }
        ConversationItem::Result(result, parts) => {
            json!({"role": "tool", "tool_call_id": result.call_id, "content": content(parts)})
        }
    }
}

fn content(parts: Vec<RequestPart<'_>>) -> Value {
    string_or_parts(parts, |part| match part {
        RequestPart::Text(text) => json!({"type": "text", "text": text}),
        RequestPart::Image(image) => {
            json!({"type": "image_url", "image_url": {"url": image.url()}})
        }
        RequestPart::Document(document) => document_part(document),
    })
}

/// Encodes a reply of the model. `content` is null beside calls and a string, possibly empty,
/// without.
fn assistant(message: &Message) -> Value {
    let text = texts(&message.content);
    let Some(calls) = list(&message.tool_calls, call) else {
        return json!({"role": "assistant", "content": text});
    };
    let content = (!text.is_empty()).then_some(text);
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": token(&call.name), "arguments": arguments_text(call)},
    })
}

/// Converts a part. The wire takes no documents and no sound by URL.
fn convert(part: &ContentPart, capabilities: Capabilities) -> RequestPart<'_> {
    RequestPart::unless(part, capabilities, |file| {
        let is_url = matches!(file.content, FileContent::Url(_));
        is_url && !file.media_type.starts_with("image/")
    })
}

fn document_part(document: &FileRef<'_>) -> Value {
    if let (Some(format), FileContent::Bytes(bytes)) = (document.audio_format(), document.content) {
        let data = STANDARD.encode(bytes);
        return json!({"type": "input_audio", "input_audio": {"data": data, "format": format}});
    }
    let name = document.filename.unwrap_or("document.pdf");
    json!({"type": "file", "file": {"filename": name, "file_data": document.url()}})
}
