//! Content of a session as JSON in the form of the GenAI conventions, and words of the journal.

use agent_host_types::{
    message::{Message, Role},
    model::{ModelReply, StopReason},
    output::{ContentPart, ToolResultOutput},
    turn::TurnError,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Returns the name of a kind, as in the journal.
pub(super) fn name(kind: &impl Serialize) -> String {
    let name = json!(kind);
    name.as_str().unwrap_or("error").to_owned()
}

/// Returns the name of the cause of a failed turn; of a failed request that of its error.
pub(super) fn cause(error: &TurnError) -> String {
    match error {
        TurnError::Model { error } => name(&error.kind),
        other => name(json!(other).get("cause").unwrap_or(&Value::Null)),
    }
}

/// Returns the conventions' word for why a model stopped, or ours.
pub(super) fn finish_reason(reason: StopReason) -> String {
    let reason = match reason {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::Refusal => "content_filter",
        StopReason::PauseTurn => "pause",
        StopReason::Unknown => "unknown",
    };
    reason.to_owned()
}

/// Returns a reply as `gen_ai.output.messages`.
pub(super) fn reply(reply: &ModelReply) -> String {
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        parts.push(json!({ "type": "text", "content": reply.text }));
    }
    parts.extend(reply.tool_calls.iter().map(|call| {
        json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": call.input })
    }));
    let mut message = json!({ "role": "assistant", "parts": parts });
    if let (Some(reason), Some(fields)) = (reply.stop_reason, message.as_object_mut()) {
        fields.insert("finish_reason".to_owned(), json!(finish_reason(reason)));
    }
    json!([message]).to_string()
}

/// Returns a message of the user as `gen_ai.input.messages`. Files are named by their media types.
pub(super) fn message(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolResult => "tool",
        Role::System => "system",
    };
    let parts = message.content.iter().map(|part| match part {
        ContentPart::Text { text } => json!({ "type": "text", "content": text }),
        ContentPart::File(file) => json!({ "type": "file", "mime_type": file.media_type }),
    });
    let parts: Vec<Value> = parts.collect();
    json!([{ "role": role, "parts": parts }]).to_string()
}

/// Returns a result as `gen_ai.tool.call.result`: our union, whose files are blobs.
pub(super) fn result(output: &ToolResultOutput) -> String {
    json!(output).to_string()
}
