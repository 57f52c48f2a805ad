//! A conversation as the body of `POST /responses`: one flat list of items. It loses nothing silently: what the model cannot take
//! becomes a note in brackets.

#[cfg(test)]
mod tests;

use super::kept;
use crate::{
    media::{self, Content, Placed, Source, texts},
    results::Following,
    wire::{Capabilities, Encoded},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ToolResultOutput,
    tool::{ToolCall, ToolDefinition},
};
use serde_json::{Value, json};

/// Translates a request.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let mut encoder = Encoder {
        model,
        capabilities,
        input: Vec::new(),
        images: 0,
    };
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({
        "model": model,
        "input": encoder.input,
        "store": false,
        "stream": true,
    });
    if let Some(body) = body.as_object_mut() {
        if let Some(system) = &request.system {
            body.insert("instructions".to_owned(), json!(system));
        }
        if reasons(model) {
            let include = json!(["reasoning.encrypted_content"]);
            body.insert("include".to_owned(), include);
        }
        if let Some(most) = capabilities.max_output_tokens {
            body.insert("max_output_tokens".to_owned(), json!(most));
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

/// Whether a model reasons, as far as its name says. Those that do not refuse a request for encrypted reasoning (400), and OpenAI
/// makes no new ones of them, so they are the ones that are named here.
fn reasons(model: &str) -> bool {
    // Gateways put the maker before the name, and OpenAI `ft:` before that of a model that was trained further.
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let old = ["gpt-3", "gpt-4", "chatgpt-"];
    !old.iter().any(|old| name.starts_with(old)) && !name.contains("-chat")
}

struct Encoder<'a> {
    model: &'a str,
    capabilities: Capabilities,
    input: Vec<Value>,
    images: usize,
}

impl Encoder<'_> {
    fn message(&mut self, message: &Message) {
        match message.role {
            Role::System => {
                let content = texts(&message.content);
                self.say("system", &json!(content));
            }
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                let parts = parts.map(|part| media::place(part, capabilities)).collect();
                let content = self.content(parts);
                self.say("user", &content);
            }
            Role::Assistant => self.assistant(message),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    fn say(&mut self, role: &str, content: &Value) {
        self.input
            .push(json!({"type": "message", "role": role, "content": content}));
    }

    /// A reply of the model as it goes back: as it came, where this model wants that, else as its text and its calls.
    fn assistant(&mut self, message: &Message) {
        if let Some(items) = kept::items_of(message, self.model) {
            self.input.extend(items);
            return;
        }
        let text = texts(&message.content);
        if !text.is_empty() {
            self.say("assistant", &json!(text));
        }
        self.input.extend(message.tool_calls.iter().map(call));
    }

    /// One item for each result. Where a result has no room for files, those of all of them follow in one user message.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut following = Following::default();
        for result in results {
            let place = |part| media::place(part, capabilities);
            let output = match &result.output {
                ToolResultOutput::Content(parts) if capabilities.files_in_results => {
                    self.content(parts.iter().map(place).collect())
                }
                _ => json!(following.text_of(result, place)),
            };
            self.input.push(json!({
                "type": "function_call_output",
                "call_id": result.call_id,
                "output": output,
            }));
        }
        if let Some(files) = following.parts() {
            let content = self.content(files);
            self.say("user", &content);
        }
    }

    /// A string where there is only text; else parts.
    fn content(&mut self, parts: Vec<Placed<'_>>) -> Value {
        let mut texts = Vec::new();
        let mut wire = Vec::new();
        for part in parts {
            wire.push(match part {
                Placed::Text(text) => {
                    let part = json!({"type": "input_text", "text": text});
                    texts.push(text);
                    part
                }
                Placed::Image(image) => {
                    self.images += 1;
                    json!({"type": "input_image", "detail": "auto", "image_url": image.url()})
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
}

/// A document. One that the provider fetches has the name that its address gives it.
fn document_part(document: &Source<'_>) -> Value {
    match document.content {
        Content::Url(url) => json!({"type": "input_file", "file_url": url}),
        Content::Bytes(_) => {
            let name = document.filename.unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": name, "file_data": document.url()})
        }
    }
}

/// A call as it goes back. What the model wrote in place of a JSON object goes as a string in one, so that it can see its own fault.
fn call(call: &ToolCall) -> Value {
    let arguments = match &call.input {
        Some(_) if !call.raw_arguments.trim().is_empty() => call.raw_arguments.clone(),
        Some(_) => "{}".to_owned(),
        None => json!({"invalid_arguments": call.raw_arguments}).to_string(),
    };
    json!({
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
    })
}

/// A tool. Strict schemas are a subset of JSON Schema that few tools keep to.
fn function(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": false,
    })
}
