//! Encodes a conversation as the body of `POST /responses`: one flat list of items. Nothing is lost
//! silently: what the model cannot take becomes a note in brackets.

#[cfg(test)]
mod tests;

use super::reasoning;
use crate::wire::{
    Capabilities, Encoded,
    request::{FileContent, FileRef, RequestPart, arguments_text, set, string_or_parts, texts},
    results::TrailingFiles,
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ToolResultOutput,
    tool::{ToolCall, ToolDefinition},
};
use serde_json::{Value, json};

/// Encodes a request.
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
    let system = request.system.as_ref().map(|system| json!(system));
    set(&mut body, "instructions", system);
    let include = reasons(model).then(|| json!(["reasoning.encrypted_content"]));
    set(&mut body, "include", include);
    let limit = capabilities.max_output_tokens;
    set(
        &mut body,
        "max_output_tokens",
        limit.map(|limit| json!(limit)),
    );
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

/// True if a model reasons, by its name. Models that do not reason refuse a request for encrypted
/// reasoning (400); they are listed because OpenAI makes no new ones.
fn reasons(model: &str) -> bool {
    // Gateways prefix the maker, and OpenAI marks fine-tuned models with `ft:`.
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
            Role::System => self.push("system", &json!(texts(&message.content))),
            Role::User => {
                let capabilities = self.capabilities;
                let parts = message.content.iter();
                let parts = parts.map(|part| RequestPart::of(part, capabilities));
                let content = self.content(parts.collect());
                self.push("user", &content);
            }
            Role::Assistant => self.assistant(message),
            Role::ToolResult => self.results(&message.tool_results),
        }
    }

    fn push(&mut self, role: &str, content: &Value) {
        self.input
            .push(json!({"type": "message", "role": role, "content": content}));
    }

    /// Appends a reply of the model: its stored items if this model wrote them, else its text and
    /// calls.
    fn assistant(&mut self, message: &Message) {
        if let Some(items) = reasoning::items_of(message, self.model) {
            self.input.extend(items);
            return;
        }
        let text = texts(&message.content);
        if !text.is_empty() {
            self.push("assistant", &json!(text));
        }
        self.input.extend(message.tool_calls.iter().map(call));
    }

    /// Appends an item per result. If results cannot carry files, all files follow in one user
    /// message.
    fn results(&mut self, results: &[ToolResult]) {
        let capabilities = self.capabilities;
        let mut files = TrailingFiles::default();
        for result in results {
            let convert = |part| RequestPart::of(part, capabilities);
            let output = match &result.output {
                ToolResultOutput::Content(parts) if capabilities.files_in_results => {
                    self.content(parts.iter().map(convert).collect())
                }
                _ => json!(files.result_text(result, convert)),
            };
            self.input.push(json!({
                "type": "function_call_output",
                "call_id": result.call_id,
                "output": output,
            }));
        }
        let files = files.into_parts();
        if !files.is_empty() {
            let content = self.content(files);
            self.push("user", &content);
        }
    }

    fn content(&mut self, parts: Vec<RequestPart<'_>>) -> Value {
        string_or_parts(parts, |part| match part {
            RequestPart::Text(text) => json!({"type": "input_text", "text": text}),
            RequestPart::Image(image) => {
                self.images += 1;
                json!({"type": "input_image", "detail": "auto", "image_url": image.url()})
            }
            RequestPart::Document(document) => document_part(document),
        })
    }
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
        "call_id": call.id,
        "name": call.name,
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
