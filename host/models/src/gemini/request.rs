//! A conversation as the body of `POST /v1beta/models/NAME:streamGenerateContent`. Results are objects on this wire, and all that
//! answer one turn of the model are in one turn of the user.

#[cfg(test)]
mod tests;

use super::{
    is_third_generation,
    kept::{Kept, signed},
};
use crate::{
    media::{self, Content, Placed, Source, texts},
    results::Following,
    wire::{Capabilities, Encoded},
};
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// What Google documents as the signature of a call that its model did not make, such as one of another model.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The largest whole number that its JSON values, which are doubles, hold exactly: 2^53.
const MAX_WHOLE: u64 = 1 << 53;

/// Translates a request.
pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let third_generation = is_third_generation(model);
    let mut encoder = Encoder {
        model,
        capabilities: Capabilities {
            files_in_results: capabilities.files_in_results && third_generation,
            ..capabilities
        },
        third_generation,
        turns: Vec::new(),
        images: 0,
    };
    for message in &request.messages {
        encoder.message(message);
    }
    let mut body = json!({"contents": contents(encoder.turns)});
    let mut generation = json!({});
    if let (Some(body), Some(generation)) = (body.as_object_mut(), generation.as_object_mut()) {
        if let Some(system) = request.system.as_deref().and_then(text_part) {
            body.insert("systemInstruction".to_owned(), json!({"parts": [system]}));
        }
        if !request.tools.is_empty() {
            let functions: Vec<Value> = request.tools.iter().map(function).collect();
            let tools = json!([{"functionDeclarations": functions}]);
            body.insert("tools".to_owned(), tools);
        }
        if let Some(most) = capabilities.max_output_tokens {
            generation.insert("maxOutputTokens".to_owned(), json!(most));
        }
        if third_generation {
            // Models that do not think refuse this.
            let thinking = json!({"includeThoughts": true});
            generation.insert("thinkingConfig".to_owned(), thinking);
        }
        if !generation.is_empty() {
            body.insert("generationConfig".to_owned(), json!(generation));
        }
    }
    Encoded {
        body,
        images: encoder.images,
    }
}

/// What one side says before the other does, or the results of its calls.
struct Turn {
    role: &'static str,
    results: bool,
    parts: Vec<Value>,
}

struct Encoder<'a> {
    model: &'a str,
    capabilities: Capabilities,
    third_generation: bool,
    turns: Vec<Turn>,
    images: usize,
}

impl Encoder<'_> {
    fn message(&mut self, message: &Message) {
        let (role, parts) = match message.role {
            // The wire has no such role within a conversation.
            Role::System => {
                let text = format!("[from the operator]\n{}", texts(&message.content));
                ("user", text_part(&text).into_iter().collect())
            }
            Role::User => {
                let parts = message.content.iter();
                let parts = parts
                    .filter_map(|part| self.part(place(part, self.capabilities)))
                    .collect();
                ("user", parts)
            }
            Role::Assistant => ("model", self.assistant(message)),
            Role::ToolResult => return self.results(&message.tool_results),
        };
        match self.turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(turn) if turn.role == role && !turn.results => turn.parts.extend(parts),
            Some(_) | None => self.turns.push(Turn {
                role,
                results: false,
                parts,
            }),
        }
    }

    fn part(&mut self, part: Placed<'_>) -> Option<Value> {
        match part {
            Placed::Text(text) => text_part(&text),
            Placed::Image(image) => {
                self.images += 1;
                Some(file_part(&image))
            }
            Placed::Document(document) => Some(file_part(&document)),
        }
    }

    /// A reply of the model as it goes back, with the signatures that are this model's. From the third generation on a turn with
    /// calls must have one.
    fn assistant(&self, message: &Message) -> Vec<Value> {
        let text = texts(&message.content);
        let mut calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
        if let Some(kept) = Kept::of(message, self.model) {
            return kept.into_parts(&text, calls);
        }
        if self.third_generation
            && let Some(first) = calls.first_mut()
        {
            *first = signed(first.take(), Some(UNSIGNED));
        }
        text_part(&text).into_iter().chain(calls).collect()
    }

    /// All results in one turn, and after them the files that cannot be in one.
    fn results(&mut self, results: &[ToolResult]) {
        let mut parts = Vec::new();
        let mut files = Following::default();
        for result in results {
            let mut inside = Vec::new();
            let response = match &result.output {
                ToolResultOutput::Text(text) => json!({"output": text}),
                ToolResultOutput::Json(value) => json!({"output": exact(value)}),
                ToolResultOutput::Content(content) => {
                    let lines = content
                        .iter()
                        .map(|part| self.line(result, part, &mut inside, &mut files));
                    let lines: Vec<String> = lines.collect();
                    json!({"output": lines.join("\n")})
                }
                ToolResultOutput::ErrorText(text) => json!({"error": text}),
                ToolResultOutput::ErrorJson(value) => json!({"error": exact(value)}),
                ToolResultOutput::ExecutionDenied(reason) => {
                    let reason = reason.as_deref().filter(|text| !text.trim().is_empty());
                    json!({"error": reason.unwrap_or(DENIED_TEXT)})
                }
            };
            let mut response =
                json!({"id": result.call_id, "name": result.name, "response": response});
            if let (Some(response), false) = (response.as_object_mut(), inside.is_empty()) {
                response.insert("parts".to_owned(), Value::Array(inside));
            }
            parts.push(json!({"functionResponse": response}));
        }
        let files = files.parts().unwrap_or_default();
        parts.extend(files.into_iter().filter_map(|part| self.part(part)));
        self.turns.push(Turn {
            role: "user",
            results: true,
            parts,
        });
    }

    /// The line of a part in its result's text. A file goes to `inside` the result, or, where it cannot, to those that follow.
    fn line<'a>(
        &mut self,
        result: &'a ToolResult,
        part: &'a ContentPart,
        inside: &mut Vec<Value>,
        files: &mut Following<'a>,
    ) -> String {
        let file = match place(part, self.capabilities) {
            Placed::Text(text) => return text,
            file => file,
        };
        let (Placed::Image(source) | Placed::Document(source)) = &file else {
            return String::new();
        };
        let has_bytes = matches!(source.content, Content::Bytes(_));
        if !(has_bytes && self.capabilities.files_in_results) {
            return files.marker(result, part, file);
        }
        let what = media::describe(part);
        inside.extend(self.part(file));
        format!("[{what}; it is part {} of this result]", inside.len())
    }
}

/// The turns as contents. The user has the first one.
fn contents(mut turns: Vec<Turn>) -> Vec<Value> {
    if turns.first().is_none_or(|turn| turn.role != "user") {
        let parts = text_part("[the conversation goes on]");
        let turn = Turn {
            role: "user",
            results: false,
            parts: parts.into_iter().collect(),
        };
        turns.insert(0, turn);
    }
    turns
        .into_iter()
        .map(|turn| json!({"role": turn.role, "parts": turn.parts}))
        .collect()
}

/// A call as it goes back. What the model wrote instead of an object goes in one as a string, so that it can see its own fault.
fn call(call: &ToolCall) -> Value {
    let args = match &call.input {
        Some(input) => json!(input),
        None => json!({"invalid_arguments": call.raw_arguments}),
    };
    json!({"functionCall": {"id": call.id, "name": call.name, "args": args}})
}

fn function(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.input_schema,
    })
}

/// A part with text; none where there is nothing to read.
fn text_part(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"text": text}))
}

/// A value that the wire carries as it is. In others it would change something, and they go as JSON text: a `$ref` is taken for the
/// name of a file, and a large whole number is rounded.
fn exact(value: &Value) -> Value {
    if is_plain(value) {
        value.clone()
    } else {
        Value::String(value.to_string())
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole <= MAX_WHOLE,
            (None, Some(whole)) => whole.unsigned_abs() <= MAX_WHOLE,
            (None, None) => true,
        },
        Value::Array(list) => list.iter().all(is_plain),
        Value::Object(object) => object
            .iter()
            .all(|(key, value)| key != "$ref" && is_plain(value)),
    }
}

/// The place of a part. The provider's models do not take GIF images, and it fetches nothing without TLS.
fn place(part: &ContentPart, capabilities: Capabilities) -> Placed<'_> {
    let refused = |file: &Source<'_>| {
        let insecure = matches!(file.content, Content::Url(url) if !url.starts_with("https://"));
        insecure || file.media_type == "image/gif"
    };
    match media::place(part, capabilities) {
        Placed::Image(file) | Placed::Document(file) if refused(&file) => {
            Placed::Text(media::unseen(part))
        }
        placed => placed,
    }
}

fn file_part(file: &Source<'_>) -> Value {
    let media_type = file.media_type;
    match file.content {
        Content::Bytes(bytes) => {
            json!({"inlineData": {"mimeType": media_type, "data": STANDARD.encode(bytes)}})
        }
        Content::Url(url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
    }
}
