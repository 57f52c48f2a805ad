//! The requests that a tool call makes. A server may answer one with requests of its own, and wants
//! it again with the answers.

#[cfg(test)]
mod tests;

use crate::result::EMPTY_RESOURCE;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputResponses, JsonObject, ReadResourceRequest,
    ReadResourceRequestParams,
};
use serde_json::{Value, json};

/// The key in a call's `_meta` for the depth of the agent that calls, which agent-host's own server
/// counts on from.
pub const AGENT_DEPTH_META: &str = "agent-host/agent-depth";

/// The key in a call's `_meta` for the W3C trace context, which the protocol reserves
/// (<https://modelcontextprotocol.io/specification/draft/basic#meta>).
const TRACEPARENT_META: &str = "traceparent";

/// A request that a tool call makes.
#[derive(Clone, Debug)]
pub(crate) enum ToolRequest {
    Call(CallToolRequestParams),
    Read(ReadResourceRequestParams),
    Prompt(GetPromptRequestParams),
}

impl ToolRequest {
    /// Returns the call of a tool by the server's own name, for an agent at this depth.
    pub(crate) fn call(
        tool: &str,
        input: JsonObject,
        agent_depth: u8,
        traceparent: Option<String>,
    ) -> Self {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
        let mut meta = JsonObject::new();
        if agent_depth > 0 {
            meta.insert(AGENT_DEPTH_META.to_owned(), agent_depth.into());
        }
        if let Some(traceparent) = traceparent {
            meta.insert(TRACEPARENT_META.to_owned(), traceparent.into());
        }
        if !meta.is_empty() {
            params.meta = Some(meta.into());
        }
        Self::Call(params)
    }

    /// Returns the request for the resource that a validated input names.
    pub(crate) fn read(input: &JsonObject) -> Self {
        Self::Read(ReadResourceRequestParams::new(text(input, "uri")))
    }

    /// Returns the request for the prompt that a validated input names.
    pub(crate) fn prompt(mut input: JsonObject) -> Self {
        let mut params = GetPromptRequestParams::new(text(&input, "name"));
        if let Some(Value::Object(arguments)) = input.remove("arguments") {
            params.arguments = Some(arguments);
        }
        Self::Prompt(params)
    }

    pub(crate) fn to_client_request(&self) -> ClientRequest {
        match self.clone() {
            Self::Call(params) => ClientRequest::CallToolRequest(CallToolRequest::new(params)),
            Self::Read(params) => {
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Self::Prompt(params) => ClientRequest::GetPromptRequest(GetPromptRequest::new(params)),
        }
    }

    /// Adds the answers that the server wanted, and its state.
    pub(crate) fn set_input(&mut self, responses: InputResponses, state: Option<String>) {
        let (to_responses, to_state) = match self {
            Self::Call(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Read(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Prompt(params) => (&mut params.input_responses, &mut params.request_state),
        };
        *to_responses = (!responses.is_empty()).then_some(responses);
        *to_state = state;
    }

    /// Returns the answer in the form of the result of a tool. One without the fields of its kind
    /// stays as it is, and is no result.
    pub(crate) fn tool_result(&self, answer: Value) -> Value {
        let blocks = match self {
            Self::Call(_) => return answer,
            Self::Read(_) => answer.get("contents").and_then(resource_blocks),
            Self::Prompt(_) => answer.get("messages").and_then(message_blocks),
        };
        match blocks {
            Some(blocks) => json!({ "content": blocks }),
            None => answer,
        }
    }
}

fn text(input: &JsonObject, key: &str) -> String {
    let text = input.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Returns embedded resources; a single text is a text.
fn resource_blocks(contents: &Value) -> Option<Vec<Value>> {
    let text_block = |text: &str| json!({"type": "text", "text": text});
    Some(match contents.as_array()?.as_slice() {
        [] => vec![text_block(EMPTY_RESOURCE)],
        [only] if let Some(text) = only.get("text").and_then(Value::as_str) => {
            vec![text_block(text)]
        }
        contents => {
            let blocks = contents.iter();
            let block = |content| json!({"type": "resource", "resource": content});
            blocks.map(block).collect()
        }
    })
}

/// Returns the content of messages, each after its role.
fn message_blocks(messages: &Value) -> Option<Vec<Value>> {
    let messages = messages.as_array()?.iter();
    let blocks = messages.flat_map(|message| {
        let role = message.get("role").and_then(Value::as_str);
        let role = match role {
            Some("assistant") => "assistant",
            _ => "user",
        };
        let content = message.get("content").unwrap_or(&Value::Null);
        let text = content.get("text").and_then(Value::as_str);
        match text {
            Some(text) => vec![json!({"type": "text", "text": format!("{role}: {text}")})],
            None => vec![
                json!({"type": "text", "text": format!("{role}:")}),
                content.clone(),
            ],
        }
    });
    Some(blocks.collect())
}
