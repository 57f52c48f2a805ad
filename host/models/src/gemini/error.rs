//! The errors in a stream: `{"error": {"code", "message", "status"}}`, of which `code` is an HTTP status.

use crate::{
    fault::{Fault, words_of},
    http::Server,
};
use reqwest::StatusCode;
use serde_json::Value;

/// The fault behind an error in an answer whose status is 200.
pub(super) fn fault_of(server: &Server, error: &Value) -> Fault {
    let words = words_of(error);
    let status = error
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| *code >= 400)
        .and_then(|code| StatusCode::from_u16(code).ok());
    match status {
        Some(status) => server.refused(status, Some(&words), None),
        None => server.failed(&words),
    }
}
