//! The errors in a stream: `{"type": "error", "error": {"type", "message"}}`. Its `type` says what a status would.

use crate::{
    fault::{Fault, words_of},
    http::Server,
};
use reqwest::StatusCode;
use serde_json::Value;

/// The fault behind an error in an answer whose status is 200.
pub(super) fn fault_of(server: &Server, error: &Value) -> Fault {
    let words = words_of(error);
    let tag = error.get("type").and_then(Value::as_str).unwrap_or("");
    let status = status_of(tag).and_then(|status| StatusCode::from_u16(status).ok());
    match status {
        Some(status) => server.refused(status, Some(&words), None),
        None => server.failed(&words),
    }
}

/// The status that this error has where it comes instead of an answer.
fn status_of(tag: &str) -> Option<u16> {
    Some(match tag {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "conflict_error" => 409,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}
