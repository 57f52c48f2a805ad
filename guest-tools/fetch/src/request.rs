//! The header fields of `http_post`.

use std::collections::BTreeMap;

use agent_tool::http::{Fields, HttpError, fields};

/// The fields to send with a POST: a content type that fits the body, and the key by which a
/// service that knows it tells a repetition from a second order.
pub(crate) fn post_fields(
    given: BTreeMap<String, String>,
    body: &str,
    idempotency_key: &str,
) -> Result<Fields, HttpError> {
    let mut fields = fields(given)?;
    if !body.is_empty() {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
        let content_type = if is_json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        };
        fields
            .entry("content-type".to_owned())
            .or_insert_with(|| content_type.to_owned());
    }
    fields
        .entry("idempotency-key".to_owned())
        .or_insert_with(|| idempotency_key.to_owned());
    Ok(fields)
}

#[cfg(test)]
mod tests;
