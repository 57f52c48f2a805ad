//! Encodes a conversation as the body of `POST /api/chat`. Nothing is lost silently: what the wire
//! or the model cannot take becomes a note in brackets. Results are matched to calls by their order
//! and the tool's name.

#[cfg(test)]
mod tests;

use super::{THINKING, WIRE};
use crate::wire::{
    Capabilities, Encoded,
    items::{ConversationItem, items},
    request::{FileContent, FileRef, RequestPart, arguments, function, list, set, texts},
};
use agent_host_types::{
    message::Message, model::ModelRequest, output::ContentPart, tool::ToolCall,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Encodes a request. The wire has no option for one call at a time.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let convert = |part| convert(part, capabilities);
    // Models do not see images in tool messages.
    let (items, images) = items(&request.messages, false, convert);
    let system = request.system.clone().map(ConversationItem::System);
    let messages: Vec<Value> = system.into_iter().chain(items).map(message).collect();
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    let mut options = json!({});
    set(&mut options, "num_predict", capabilities.max_output_tokens);
    // By default the server takes a window of a few thousand tokens and silently truncates longer
    // requests.
    set(&mut options, "num_ctx", capabilities.window_tokens);
    let options = (options != json!({})).then_some(options);
    set(&mut body, "options", options);
    set(&mut body, "tools", list(&request.tools, function));
    Encoded { body, images }
}

fn message(item: ConversationItem<'_>) -> Value {
    match item {
        ConversationItem::System(text) => json!({"role": "system", "content": text}),
        ConversationItem::User(parts) => {
            let (text, images) = text_and_images(parts);
            let mut message = json!({"role": "user", "content": text});
            set(
                &mut message,
                "images",
                (!images.is_empty()).then_some(images),
            );
            message
        }
        ConversationItem::Assistant(message) => assistant(message),
        ConversationItem::Result(result, parts) => {
            let (text, _) = text_and_images(parts);
            json!({"role": "tool", "tool_name": result.name, "content": text})
        }
    }
}

/// Encodes the content of a message: its text, and beside it its images.
fn text_and_images(parts: Vec<RequestPart<'_>>) -> (String, Vec<String>) {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for part in parts {
        match part {
            RequestPart::Text(text) => texts.push(text),
            RequestPart::Image(FileRef {
                content: FileContent::Bytes(bytes),
                ..
            }) => images.push(STANDARD.encode(bytes)),
            // `convert` has turned everything else into text.
            RequestPart::Image(_) | RequestPart::Document(_) => {}
        }
    }
    (texts.join("\n"), images)
}

/// Encodes a reply of the model.
fn assistant(message: &Message) -> Value {
    let mut wire = json!({"role": "assistant", "content": texts(&message.content)});
    let stored = message.metadata.get(WIRE.name);
    let thinking = stored.and_then(|stored| stored.get(THINKING));
    let thinking = thinking.filter(|thinking| thinking.is_string());
    set(&mut wire, THINKING, thinking.cloned());
    set(&mut wire, "tool_calls", list(&message.tool_calls, call));
    wire
}

fn call(call: &ToolCall) -> Value {
    json!({"function": {"name": call.name, "arguments": arguments(call)}})
}

/// Converts a part. The wire takes images by their bytes, and no other files.
fn convert(part: &ContentPart, capabilities: Capabilities) -> RequestPart<'_> {
    RequestPart::unless(part, capabilities, |file| {
        let is_image = file.media_type.starts_with("image/");
        !is_image || matches!(file.content, FileContent::Url(_))
    })
}
