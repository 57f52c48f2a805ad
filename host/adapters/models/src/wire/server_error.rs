//! Errors that servers report: in the body of an error response, or within a reply.

use serde_json::Value;

/// An error that a server reports. Its message is the server's own, may hold the key and must be
/// redacted before display.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server reports: {}", message.as_deref().unwrap_or("nothing"))]
pub(crate) struct ServerError {
    /// The HTTP status, or the one that the error's code stands for; absent for an error of an
    /// unknown kind.
    pub(crate) status: Option<u16>,
    /// The server's own message.
    pub(crate) message: Option<String>,
    /// The error's type and code, with spaces between; empty if it has none.
    pub(crate) tags: String,
}

impl ServerError {
    /// Reads an error response. Google's API answers an unknown key with 400, which becomes 401.
    pub(crate) fn from_response(status: u16, body: &str) -> Self {
        let is_key_error = status == 400 && body.contains("\"API_KEY_INVALID\"");
        Self {
            status: Some(if is_key_error { 401 } else { status }),
            ..message_in_body(body)
        }
    }

    /// An error with this message, of the kind of this status.
    pub(super) fn new(status: Option<u16>, message: String) -> Self {
        Self {
            status,
            message: Some(message),
            tags: String::new(),
        }
    }

    /// Reads an error value whose `code` may be an HTTP status (Gemini, OpenAI, vLLM).
    pub(super) fn with_code(error: &Value) -> Self {
        let code = error.get("code");
        let status = code
            .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()))
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..1000).contains(code));
        Self {
            tags: tags(error),
            ..Self::new(status, server_message(error))
        }
    }

    /// Reads an error value of OpenAI's two wires or Ollama's. If `code` is not an HTTP status,
    /// keywords in `type` and `code` decide.
    pub(super) fn of_openai(error: &Value) -> Self {
        let mut read = Self::with_code(error);
        let tags = read.tags.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| tags.contains(word));
        read.status = read.status.or_else(|| {
            if has(&["rate_limit", "quota"]) {
                Some(429)
            } else if has(&["authentication", "api_key", "permission"]) {
                Some(401)
            } else if has(&["invalid", "context_length", "image", "policy", "residency"]) {
                Some(400)
            } else {
                None
            }
        });
        read
    }
}

/// Returns the error that an event or a response with status 200 carries: `{"error": {...}}` or
/// `{"error": "text"}`, vLLM's `{"object": "error", ...}` or Responses' `{"type": "error", ...}`.
pub(super) fn openai_error_in(event: &Value) -> Option<&Value> {
    match event.get("error") {
        Some(Value::Null) | None => {}
        Some(error) => return Some(error),
    }
    let is_error = |key: &str| event.get(key).and_then(Value::as_str) == Some("error");
    (is_error("object") || is_error("type")).then_some(event)
}

/// Reads the body of an error response: `{"error": {"message"}}` or `{"error": "text"}` of the
/// providers; FastAPI's `{"detail"}`, plain text or a web page of what stands in front of one.
fn message_in_body(body: &str) -> ServerError {
    let body = body.trim();
    let absent = ServerError {
        status: None,
        message: None,
        tags: String::new(),
    };
    if let Ok(value) = serde_json::from_str::<Value>(body) {
        // Gemini wraps the object in a list when asked for a stream.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        return ServerError {
            message: Some(server_message(error)),
            tags: tags(error),
            ..absent
        };
    }
    let message = if body.starts_with('<') {
        let title = body.split_once("<title>");
        let title = title.and_then(|(_, rest)| rest.split_once("</title>"));
        title.map(|(title, _)| format!("{} (a web page)", title.trim()))
    } else {
        (!body.is_empty()).then(|| body.to_owned())
    };
    ServerError { message, ..absent }
}

/// Returns the type and the code of an error value.
fn tags(error: &Value) -> String {
    let tags = ["type", "code"].map(|key| error.get(key).and_then(Value::as_str).unwrap_or(""));
    tags.join(" ").trim().to_owned()
}

/// Returns the message of an error value, or the value as JSON. A gateway that passes on another
/// server's error says no more than that in its own message (`OpenRouter`: `metadata.raw`).
pub(super) fn server_message(error: &Value) -> String {
    let text = ["message", "detail"]
        .iter()
        .find_map(|key| error.get(key)?.as_str())
        .or_else(|| error.as_str());
    let passed_on = error.pointer("/metadata/raw").and_then(Value::as_str);
    match (text, passed_on) {
        (Some(text), Some(passed_on)) => format!("{text}: {passed_on}"),
        (Some(text), None) => text.to_owned(),
        (None, _) => error.to_string(),
    }
}
