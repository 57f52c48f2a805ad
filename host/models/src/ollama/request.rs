//! A conversation as the body of `POST /api/chat`. It loses nothing silently: what the wire or the model cannot take becomes a note in
//! brackets. Results are told apart by their order and the tool's name.

#[cfg(test)]
mod tests;

use super::THINKING;
use crate::{
    media::{self, Content, Placed, Source, texts},
    provider::Provider,
    results::Following,
    wire::{Capabilities, Encoded},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ContentPart,
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

/// Translates a request. The wire has no word for one call at a time.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        capabilities,
        messages: Vec::new(),
        images: 0,
    };
    if let Some(system) = &request.system {
        encoder.say("system", system);
    }
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({"model": model, "messages": encoder.messages, "stream": true});
    if let Some(body) = body.as_object_mut() {
        let bounds = [
            (
                "num_predict",
                capabilities.max_output_tokens.map(|most| json!(most)),
            ),
            // Without it the server takes a window of a few thousand tokens, and cuts what is longer without a word.
            (
                "num_ctx",
                capabilities.window_tokens.map(|size| json!(size)),
            ),
        ];
        let options: Map<String, Value> = bounds
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        if !options.is_empty() {
            body.insert("options".to_owned(), Value::Object(options));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(function).collect();
            body.insert("tools".to_owned(), tools);
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
            Role::System => self.say("system", &texts(&message.content)),
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                self.user(parts.map(|part| place(part, capabilities)).collect());
            }
            Role::Assistant => self.messages.push(assistant(message)),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    fn say(&mut self, role: &str, content: &str) {
        self.messages
            .push(json!({"role": role, "content": content}));
    }

    /// A message of the user's: its text, and beside it its images.
    fn user(&mut self, parts: Vec<Placed<'_>>) {
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for part in parts {
            match part {
                Placed::Text(text) => texts.push(text),
                Placed::Image(Source {
                    content: Content::Bytes(bytes),
                    ..
                }) => images.push(STANDARD.encode(bytes)),
                // `place` has made a text of everything else.
                Placed::Image(_) | Placed::Document(_) => {}
            }
        }
        let mut message = json!({"role": "user", "content": texts.join("\n")});
        if !images.is_empty()
            && let Some(message) = message.as_object_mut()
        {
            self.images += images.len();
            message.insert("images".to_owned(), json!(images));
        }
        self.messages.push(message);
    }

    /// One tool message for each result, and after the last of them one user message with every image among them: models do not
    /// see those of tool messages.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut following = Following::default();
        for result in results {
            let content = following.text_of(result, |part| place(part, capabilities));
            self.messages
                .push(json!({"role": "tool", "tool_name": result.name, "content": content}));
        }
        if let Some(files) = following.parts() {
            self.user(files);
        }
    }
}

/// A reply of the model as it goes back.
fn assistant(message: &Message) -> Value {
    let mut wire = json!({"role": "assistant", "content": texts(&message.content)});
    if let Some(wire) = wire.as_object_mut() {
        let kept = message.metadata.get(Provider::Ollama.name());
        if let Some(Value::String(thinking)) = kept.and_then(|kept| kept.get(THINKING)) {
            wire.insert(THINKING.to_owned(), json!(thinking));
        }
        if !message.tool_calls.is_empty() {
            let calls = message.tool_calls.iter().map(call).collect();
            wire.insert("tool_calls".to_owned(), calls);
        }
    }
    wire
}

/// A call as it goes back. The wire has only objects as arguments; what the model wrote in place of one goes as a string in one,
/// so that it can see its own fault.
fn call(call: &ToolCall) -> Value {
    let arguments = match &call.input {
        Some(input) => json!(input),
        None => json!({"invalid_arguments": call.raw_arguments}),
    };
    json!({"function": {"name": call.name, "arguments": arguments}})
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

/// The place of a part. The wire has images by their bytes, and no other files.
fn place(part: &ContentPart, capabilities: Capabilities) -> Placed<'_> {
    match media::place(part, capabilities) {
        Placed::Image(image) if matches!(image.content, Content::Bytes(_)) => Placed::Image(image),
        Placed::Image(_) | Placed::Document(_) => Placed::Text(media::unseen(part)),
        text @ Placed::Text(_) => text,
    }
}
