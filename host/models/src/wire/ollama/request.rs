//! Encodes a conversation as the body of `POST /api/chat`. Nothing is lost silently: what the wire
//! or the model cannot take becomes a note in brackets. Results are matched to calls by their order
//! and the tool's name.

#[cfg(test)]
mod tests;

use super::{THINKING, WIRE};
use crate::wire::{
    Capabilities, Encoded,
    request::{FileContent, FileRef, RequestPart, arguments, function, set, texts},
    results::TrailingFiles,
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ContentPart,
    tool::ToolCall,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Encodes a request. The wire has no option for one call at a time.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        capabilities,
        messages: Vec::new(),
        images: 0,
    };
    if let Some(system) = &request.system {
        encoder.push("system", system);
    }
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({"model": model, "messages": encoder.messages, "stream": true});
    let mut options = json!({});
    let limit = capabilities.max_output_tokens;
    set(&mut options, "num_predict", limit.map(|limit| json!(limit)));
    // By default the server takes a window of a few thousand tokens and silently truncates longer
    // requests.
    let window = capabilities.window_tokens;
    set(&mut options, "num_ctx", window.map(|window| json!(window)));
    let options = (options != json!({})).then_some(options);
    set(&mut body, "options", options);
    let tools = (!request.tools.is_empty()).then(|| request.tools.iter().map(function).collect());
    set(&mut body, "tools", tools);
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
            Role::System => self.push("system", &texts(&message.content)),
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                self.user(parts.map(|part| convert(part, capabilities)).collect());
            }
            Role::Assistant => self.messages.push(assistant(message)),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    fn push(&mut self, role: &str, content: &str) {
        self.messages
            .push(json!({"role": role, "content": content}));
    }

    /// Appends a user message: its text, and beside it its images.
    fn user(&mut self, parts: Vec<RequestPart<'_>>) {
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
        let mut message = json!({"role": "user", "content": texts.join("\n")});
        self.images += images.len();
        let images = (!images.is_empty()).then(|| json!(images));
        set(&mut message, "images", images);
        self.messages.push(message);
    }

    /// Appends a tool message per result, then one user message with all their images: models do
    /// not see those in tool messages.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut files = TrailingFiles::default();
        for result in results {
            let content = files.result_text(result, |part| convert(part, capabilities));
            self.messages
                .push(json!({"role": "tool", "tool_name": result.name, "content": content}));
        }
        let files = files.into_parts();
        if !files.is_empty() {
            self.user(files);
        }
    }
}

/// Encodes a reply of the model.
fn assistant(message: &Message) -> Value {
    let mut wire = json!({"role": "assistant", "content": texts(&message.content)});
    let stored = message.metadata.get(WIRE.name);
    let thinking = stored.and_then(|stored| stored.get(THINKING));
    let thinking = thinking.filter(|thinking| thinking.is_string());
    set(&mut wire, THINKING, thinking.cloned());
    let calls = &message.tool_calls;
    let calls = (!calls.is_empty()).then(|| calls.iter().map(call).collect());
    set(&mut wire, "tool_calls", calls);
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
