//! The errors that servers report within an answer. On OpenAI's two wires they come as `{"error": {"message", "type", "code"}}`, as
//! `{"error": "text"}`, as vLLM's `{"object": "error", "message", "code"}` and as Responses' `{"type": "error", "message", "code"}`;
//! on Ollama's as `{"error": "text"}`.

use super::{Fault, words_of};
use crate::http::Server;
use reqwest::StatusCode;
use serde_json::Value;

/// The error that an event of the stream, or an answer with status 200, carries; none where it carries none.
pub(crate) fn error_in(event: &Value) -> Option<&Value> {
    match event.get("error") {
        Some(Value::Null) | None => {}
        Some(error) => return Some(error),
    }
    let is_error = |key: &str| event.get(key).and_then(Value::as_str) == Some("error");
    (is_error("object") || is_error("type")).then_some(event)
}

/// The fault behind such an error. A `code` that is an HTTP status decides; else the words of `type` and `code` do; and an
/// error that says nothing is the server's own and may pass.
pub(crate) fn fault_of(server: &Server, error: &Value) -> Fault {
    let words = words_of(error);
    let code = error.get("code");
    let status = code
        .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()))
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| *code >= 400)
        .and_then(|code| StatusCode::from_u16(code).ok());
    if let Some(status) = status {
        return server.refused(status, Some(&words), None);
    }
    let tag = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("");
    let tags = [tag("type"), tag("code")].join(" ").to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| tags.contains(word));
    let status = if has(&["rate_limit", "quota"]) {
        StatusCode::TOO_MANY_REQUESTS
    } else if has(&["authentication", "api_key", "permission"]) {
        StatusCode::UNAUTHORIZED
    } else if has(&["invalid", "context_length", "image", "policy", "residency"]) {
        StatusCode::BAD_REQUEST
    } else {
        return server.failed(&words);
    };
    server.refused(status, Some(&words), None)
}
