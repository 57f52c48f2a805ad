//! A conversation as the body of `POST /chat/completions`. It loses nothing silently: what the wire or the model cannot take
//! becomes a note in brackets. It does not repair a history: the loop hands over one in which every call is answered once.

#[cfg(test)]
mod tests;

use crate::{
    media::{self, Content, Placed, Source, texts},
    results::Following,
    wire::{Capabilities, Encoded},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ContentPart,
    tool::{ToolCall, ToolDefinition},
};
use serde_json::{Value, json};

/// Translates a request.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        capabilities,
        messages: Vec::new(),
        images: 0,
    };
    if let Some(system) = &request.system {
        encoder
            .messages
            .push(json!({"role": "system", "content": system}));
    }
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({
        "model": model,
        "messages": encoder.messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Some(body) = body.as_object_mut() {
        // OpenAI's own models want another name for it; they are spoken to by Responses.
        if let Some(most) = capabilities.max_output_tokens {
            body.insert("max_tokens".to_owned(), json!(most));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(function).collect();
            body.insert("tools".to_owned(), tools);
            if !capabilities.parallel_calls {
                body.insert("parallel_tool_calls".to_owned(), json!(false));
            }
        }
    }
    Encoded {
        body,
        images: encoder.images,
    }
}

struct Encoder {
    capabilities: Capabilities,
    messages: Vec<Value>,
    images: usize,
}

impl Encoder {
    fn message(&mut self, message: &Message) {
        match message.role {
            Role::System => {
                let content = texts(&message.content);
                self.messages
                    .push(json!({"role": "system", "content": content}));
            }
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                let parts = parts.map(|part| place(part, capabilities)).collect();
                let content = self.user_content(parts);
                self.messages
                    .push(json!({"role": "user", "content": content}));
            }
            Role::Assistant => self.messages.push(assistant(message)),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    /// A string where there is only text, which every server takes; else parts.
    fn user_content(&mut self, parts: Vec<Placed<'_>>) -> Value {
        let mut texts = Vec::new();
        let mut wire = Vec::new();
        for part in parts {
            wire.push(match part {
                Placed::Text(text) => {
                    let part = json!({"type": "text", "text": text});
                    texts.push(text);
                    part
                }
                Placed::Image(image) => {
                    self.images += 1;
                    image_part(&image)
                }
                Placed::Document(document) => document_part(&document),
            });
        }
        if texts.len() == wire.len() {
            Value::String(texts.join("\n"))
        } else {
            Value::Array(wire)
        }
    }

    /// One tool message for each result, and after the last of them one user message with every file among them: the wire
    /// has only text in tool messages, and wants all of them before anything else.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut following = Following::default();
        for result in results {
            let content = following.text_of(result, |part| place(part, capabilities));
            self.messages
                .push(json!({"role": "tool", "tool_call_id": result.call_id, "content": content}));
        }
        if let Some(files) = following.parts() {
            let content = self.user_content(files);
            self.messages
                .push(json!({"role": "user", "content": content}));
        }
    }
}

/// A reply of the model as it goes back. `content` is null beside calls, and a string, if an empty one, without.
fn assistant(message: &Message) -> Value {
    let text = texts(&message.content);
    if message.tool_calls.is_empty() {
        return json!({"role": "assistant", "content": text});
    }
    let calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
    let content = (!text.is_empty()).then_some(text);
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

/// A call as it goes back. Several servers parse the arguments and fail on what is no JSON object; what the model wrote then
/// goes as a string in one, so that it can see its own fault.
fn call(call: &ToolCall) -> Value {
    let arguments = match &call.input {
        Some(_) if !call.raw_arguments.trim().is_empty() => call.raw_arguments.clone(),
        Some(_) => "{}".to_owned(),
        None => json!({"invalid_arguments": call.raw_arguments}).to_string(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    })
}

fn function(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        },
    })
}

/// The place of a part. The wire has no documents by their address.
fn place(part: &ContentPart, capabilities: Capabilities) -> Placed<'_> {
    match media::place(part, capabilities) {
        Placed::Document(document) if matches!(document.content, Content::Url(_)) => {
            Placed::Text(media::unseen(part))
        }
        placed => placed,
    }
}

fn image_part(image: &Source<'_>) -> Value {
    json!({"type": "image_url", "image_url": {"url": image.url()}})
}

fn document_part(document: &Source<'_>) -> Value {
    let name = document.filename.unwrap_or("document.pdf");
    json!({"type": "file", "file": {"filename": name, "file_data": document.url()}})
}
