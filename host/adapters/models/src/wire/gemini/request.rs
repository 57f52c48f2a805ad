//! Encodes a conversation as the body of `POST /v1beta/models/NAME:streamGenerateContent`. Results
//! are objects on this wire, and the results of one model turn are in one user turn.

#[cfg(test)]
mod tests;

use super::{
    is_third_generation,
    reasoning::{Reasoning, signed},
};
use crate::wire::{
    Capabilities, Encoded,
    request::{
        FileContent, FileRef, RequestPart, arguments, describe, is_insecure_url, list, set, texts,
        token,
    },
    results::TrailingFiles,
    turns::{RoleTurns, USER, from_operator},
};
use agent_host_types::{
    json::JsonText,
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The documented signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The largest integer that its JSON numbers, which are doubles, represent exactly: 2^53.
const MAX_WHOLE: u64 = 1 << 53;

pub(super) fn encode(model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    let third_generation = is_third_generation(model);
    let mut encoder = Encoder {
        model,
        capabilities: Capabilities {
            files_in_results: capabilities.files_in_results && third_generation,
            ..capabilities
        },
        third_generation,
        turns: RoleTurns::default(),
        images: 0,
    };
    for message in &request.messages {
        encoder.message(message);
    }
    let turns = encoder.turns.finish(text_part).into_iter();
    let contents = turns.map(|turn| json!({"role": turn.role, "parts": turn.parts}));
    let mut body = json!({"contents": contents.collect::<Vec<_>>()});
    let system = request.system.as_deref().and_then(text_part);
    let system = system.map(|system| json!({"parts": [system]}));
    set(&mut body, "systemInstruction", system);
    let functions = list(&request.tools, function);
    let tools = functions.map(|functions| json!([{"functionDeclarations": functions}]));
    set(&mut body, "tools", tools);
    let mut generation = json!({});
    let limit = capabilities.max_output_tokens;
    set(&mut generation, "maxOutputTokens", limit);
    // Models that do not reason refuse this.
    let thinking = third_generation.then(|| json!({"includeThoughts": true}));
    set(&mut generation, "thinkingConfig", thinking);
    let generation = (generation != json!({})).then_some(generation);
    set(&mut body, "generationConfig", generation);
    Encoded {
        body,
        images: encoder.images,
    }
}

struct Encoder<'a> {
    model: &'a str,
    capabilities: Capabilities,
    third_generation: bool,
    turns: RoleTurns,
    images: usize,
}

impl Encoder<'_> {
    fn message(&mut self, message: &Message) {
        let content = &message.content;
        let (role, parts) = match message.role {
            // The wire has no system role within a conversation.
            Role::System => {
                let part = text_part(&from_operator(&texts(content)));
                (USER, part.into_iter().collect())
            }
            Role::User => {
                let convert = |part| self.part(convert(part, self.capabilities));
                (USER, content.iter().filter_map(convert).collect())
            }
            Role::Assistant => ("model", self.assistant(message)),
            Role::ToolResult => {
                let results = self.results(&message.tool_results);
                return self.turns.push_closed(results);
            }
        };
        self.turns.push(role, parts);
    }

    fn part(&mut self, part: RequestPart<'_>) -> Option<Value> {
        match part {
            RequestPart::Text(text) => text_part(&text),
            RequestPart::Image(image) => {
                self.images += 1;
                Some(file_part(&image))
            }
            RequestPart::Document(document) => Some(file_part(&document)),
        }
    }

    /// Encodes a reply of the model, with the signatures that are this model's. From the third
    /// generation on, a turn with calls must have one.
    fn assistant(&self, message: &Message) -> Vec<Value> {
        let text = texts(&message.content);
        let mut calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
        if let Some(reasoning) = Reasoning::from_message(message, self.model) {
            return reasoning.into_parts(&text, calls);
        }
        if self.third_generation
            && let Some(first) = calls.first_mut()
        {
            *first = signed(first.take(), Some(UNSIGNED));
        }
        text_part(&text).into_iter().chain(calls).collect()
    }

    /// Encodes all results, then the files that cannot be in one.
    fn results(&mut self, results: &[ToolResult]) -> Vec<Value> {
        let mut parts = Vec::new();
        let mut files = TrailingFiles::default();
        for result in results {
            let mut inside = Vec::new();
            let response = match &result.output {
                ToolResultOutput::Text(text) => json!({"output": text}),
                ToolResultOutput::Json(json) => json!({"output": exact(json)}),
                ToolResultOutput::Content(content) => {
                    let lines = content
                        .iter()
                        .map(|part| self.line(result, part, &mut inside, &mut files));
                    let lines: Vec<String> = lines.collect();
                    json!({"output": lines.join("\n")})
                }
                ToolResultOutput::ErrorText(text) => json!({"error": text}),
                ToolResultOutput::ErrorJson(json) => json!({"error": exact(json)}),
                ToolResultOutput::ExecutionDenied(reason) => {
                    let reason = reason.as_deref().filter(|text| !text.trim().is_empty());
                    json!({"error": reason.unwrap_or(DENIED_TEXT)})
                }
            };
            let mut response =
                json!({"id": result.call_id, "name": token(&result.name), "response": response});
            let inside = (!inside.is_empty()).then_some(inside);
            set(&mut response, "parts", inside);
            parts.push(json!({"functionResponse": response}));
        }
        let files = files.into_parts().into_iter();
        parts.extend(files.filter_map(|part| self.part(part)));
        parts
    }

    /// Returns the line for a part in its result's text. A file goes `inside` the result or, if it
    /// cannot, to `files`.
    fn line<'a>(
        &mut self,
        result: &'a ToolResult,
        part: &'a ContentPart,
        inside: &mut Vec<Value>,
        files: &mut TrailingFiles<'a>,
    ) -> String {
        let file = convert(part, self.capabilities);
        let has_bytes = match &file {
            RequestPart::Text(text) => return text.clone(),
            RequestPart::Image(file) | RequestPart::Document(file) => {
                matches!(file.content, FileContent::Bytes(_))
            }
        };
        if !(has_bytes && self.capabilities.files_in_results) {
            return files.push(result, part, file);
        }
        let what = describe(part);
        inside.extend(self.part(file));
        format!("[{what}; it is part {} of this result]", inside.len())
    }
}

fn call(call: &ToolCall) -> Value {
    json!({"functionCall": {"id": call.id, "name": token(&call.name), "args": arguments(call)}})
}

/// Encodes a tool. Google documents that the parameters of one without any are left out.
fn function(tool: &ToolDefinition) -> Value {
    let mut function = json!({"name": tool.name, "description": tool.description});
    let schema = &tool.input_schema;
    let mut empty = json!({"type": "object", "properties": {}});
    let is_closed = schema.get("additionalProperties") == Some(&json!(false));
    set(
        &mut empty,
        "additionalProperties",
        is_closed.then_some(false),
    );
    set(
        &mut function,
        "parametersJsonSchema",
        (*schema != empty).then_some(schema),
    );
    function
}

/// Encodes text; none if it is blank.
fn text_part(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"text": text}))
}

/// Encodes a value, as JSON text if the wire would change it: it takes a `$ref` for the name of a
/// file and rounds large integers.
fn exact(json: &JsonText) -> Value {
    let value = json.to_value();
    if is_plain(&value) {
        value
    } else {
        Value::String(json.to_string())
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

/// Converts a part. The provider's models take no GIF images, and it fetches nothing without TLS.
fn convert(part: &ContentPart, capabilities: Capabilities) -> RequestPart<'_> {
    RequestPart::unless(part, capabilities, |file| {
        is_insecure_url(file) || file.media_type == "image/gif"
    })
}

fn file_part(file: &FileRef<'_>) -> Value {
    let media_type = file.media_type;
    match file.content {
        FileContent::Bytes(bytes) => {
            json!({"inlineData": {"mimeType": media_type, "data": STANDARD.encode(bytes)}})
        }
        FileContent::Url(url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
    }
}
