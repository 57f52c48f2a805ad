//! Error responses to lines that are no messages.

use super::MAX_LINE_BYTES;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize as _;
use serde_json::Value;

/// Returns the response to a line that is no valid message; none if it looks like a notification or
/// a response, which are never answered.
pub(super) fn refusal(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let error = ErrorData::parse_error(format!("the line is not JSON: {error}"), None);
            return Some(ServerJsonRpcMessage::error(error, None));
        }
    };
    let Value::Object(object) = value else {
        return Some(invalid(
            "the line is not a JSON object; send one message per line, without batches",
            None,
        ));
    };
    let is_notification =
        object.get("method").is_some_and(Value::is_string) && !object.contains_key("id");
    let is_response = !object.contains_key("method")
        && (object.contains_key("result") || object.contains_key("error"));
    if is_notification || is_response {
        return None;
    }
    let id = object
        .get("id")
        .and_then(|id| RequestId::deserialize(id).ok());
    Some(invalid(
        "the line is not a JSON-RPC 2.0 message: a request has `jsonrpc` \"2.0\", an `id` that is a whole number or \
         a string, and a `method` that is a string",
        id,
    ))
}

/// Returns the response to an oversized line. Its request id is unknown.
pub(super) fn oversized() -> ServerJsonRpcMessage {
    let message = format!("the message has more than {MAX_LINE_BYTES} bytes; send less at once");
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), None)
}

fn invalid(message: &'static str, id: Option<RequestId>) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), id)
}
