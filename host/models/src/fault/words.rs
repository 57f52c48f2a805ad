//! The server's own words in an error: every provider has `{"error": {"message"}}` or `{"error": "text"}`, and what stands before or
//! instead of one answers with FastAPI's `{"detail"}`, plain text or a web page.

use reqwest::StatusCode;
use serde_json::Value;

/// What an error answer's status means. Google's answer to a key that it does not know has the status of a bad request.
pub(crate) fn status_in(status: StatusCode, body: &str) -> StatusCode {
    if status == StatusCode::BAD_REQUEST && body.contains("\"API_KEY_INVALID\"") {
        StatusCode::UNAUTHORIZED
    } else {
        status
    }
}

/// The server's own words in the body of an error answer; none where it has none.
pub(crate) fn words_in(body: &str) -> Option<String> {
    let body = body.trim();
    if let Ok(value) = serde_json::from_str::<Value>(body) {
        // Gemini puts the object into a list where it was asked for a stream.
        let value = value.get(0).unwrap_or(&value);
        return Some(words_of(value.get("error").unwrap_or(value)));
    }
    if body.starts_with('<') {
        let (_, rest) = body.split_once("<title>")?;
        let (title, _) = rest.split_once("</title>")?;
        return Some(format!("{} (a web page)", title.trim()));
    }
    (!body.is_empty()).then(|| body.to_owned())
}

/// The most telling text of an error value.
pub(crate) fn words_of(error: &Value) -> String {
    let text = ["message", "detail"]
        .iter()
        .find_map(|key| error.get(key)?.as_str())
        .or_else(|| error.as_str());
    text.map_or_else(|| error.to_string(), str::to_owned)
}
