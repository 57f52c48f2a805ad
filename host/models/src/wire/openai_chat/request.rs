//! Encodes a conversation as the body of `POST /chat/completions`. Nothing is lost silently: what
//! the wire or the model cannot take becomes a note in brackets.

#[cfg(test)]
mod tests;

use crate::wire::{
    Capabilities, Encoded,
    request::{
        FileContent, FileRef, RequestPart, arguments_text, function, set, string_or_parts, texts,
    },
    results::TrailingFiles,
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ContentPart,
    tool::ToolCall,
};
use serde_json::{Value, json};

/// Encodes a request.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        capabilities,
        messages: Vec::new(),
        images: 0,
    };
    if let Some(system) = &request.system {
        encoder.push("system", &json!(system));
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
    // OpenAI's own models want another name for it; Responses serves them.
    let limit = capabilities.max_output_tokens;
    set(&mut body, "max_tokens", limit.map(|limit| json!(limit)));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(function).collect();
        set(&mut body, "tools", Some(tools));
        let single = (!capabilities.parallel_calls).then_some(json!(false));
        set(&mut body, "parallel_tool_calls", single);
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
            Role::System => self.push("system", &json!(texts(&message.content))),
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                self.user(parts.map(|part| convert(part, capabilities)).collect());
            }
            Role::Assistant => self.messages.push(assistant(message)),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    fn push(&mut self, role: &str, content: &Value) {
        self.messages
            .push(json!({"role": role, "content": content}));
    }

    fn user(&mut self, parts: Vec<RequestPart<'_>>) {
        let content = string_or_parts(parts, |part| match part {
            RequestPart::Text(text) => json!({"type": "text", "text": text}),
            RequestPart::Image(image) => {
                self.images += 1;
                json!({"type": "image_url", "image_url": {"url": image.url()}})
            }
            RequestPart::Document(document) => document_part(document),
        });
        self.push("user", &content);
    }

    /// Appends a tool message per result, then one user message with all their files: tool messages
    /// carry only text, and nothing may come between them.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut files = TrailingFiles::default();
        for result in results {
            let content = files.result_text(result, |part| convert(part, capabilities));
            self.messages
                .push(json!({"role": "tool", "tool_call_id": result.call_id, "content": content}));
        }
        let files = files.into_parts();
        if !files.is_empty() {
            self.user(files);
        }
    }
}

/// Encodes a reply of the model. `content` is null beside calls and a string, possibly empty,
/// without.
fn assistant(message: &Message) -> Value {
    let text = texts(&message.content);
    if message.tool_calls.is_empty() {
        return json!({"role": "assistant", "content": text});
    }
    let calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
    let content = (!text.is_empty()).then_some(text);
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    })
}

/// Converts a part. The wire takes no documents by URL.
fn convert(part: &ContentPart, capabilities: Capabilities) -> RequestPart<'_> {
    RequestPart::unless(part, capabilities, |file| {
        let is_url = matches!(file.content, FileContent::Url(_));
        is_url && !file.media_type.starts_with("image/")
    })
}

fn document_part(document: &FileRef<'_>) -> Value {
    let name = document.filename.unwrap_or("document.pdf");
    json!({"type": "file", "file": {"filename": name, "file_data": document.url()}})
}
