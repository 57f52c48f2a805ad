//! Values of SQLite as JSON, and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde_json::{Value, json};

/// The largest integer up to which every program keeps integers of JSON: 2^53.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// The longest text that is shown, in bytes; the rest is left out.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * 1024;

/// The largest blob that is shown in a row, in bytes.
pub(crate) const MAX_BLOB_BYTES: usize = 2 * 1024;

/// A fact that a value does not show by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remark {
    /// An integer that is shown as text.
    LargeInteger,
    /// A text that is cut.
    CutText,
    /// A text that was no UTF-8.
    NoUtf8,
    /// A blob of which only the size is shown.
    LargeBlob,
}

/// The value as JSON, with a remark about it.
pub(crate) fn to_json(value: ValueRef<'_>) -> (Value, Option<Remark>) {
    match value {
        ValueRef::Null => (Value::Null, None),
        ValueRef::Integer(number) if number.unsigned_abs() > MAX_EXACT_INTEGER => (
            Value::String(number.to_string()),
            Some(Remark::LargeInteger),
        ),
        ValueRef::Integer(number) => (number.into(), None),
        ValueRef::Real(number) => match serde_json::Number::from_f64(number) {
            Some(number) => (Value::Number(number), None),
            None => (Value::String(number.to_string()), None),
        },
        ValueRef::Text(bytes) => text(bytes),
        ValueRef::Blob(bytes) if bytes.len() <= MAX_BLOB_BYTES => (
            json!({ "base64": STANDARD.encode(bytes), "bytes": bytes.len() }),
            None,
        ),
        ValueRef::Blob(bytes) => (json!({ "bytes": bytes.len() }), Some(Remark::LargeBlob)),
    }
}

fn text(bytes: &[u8]) -> (Value, Option<Remark>) {
    let text = String::from_utf8_lossy(bytes);
    let is_utf8 = matches!(text, std::borrow::Cow::Borrowed(_));
    if text.len() > MAX_TEXT_BYTES {
        let kept = text
            .get(..text.floor_char_boundary(MAX_TEXT_BYTES))
            .unwrap_or_default();
        return (Value::String(format!("{kept}…")), Some(Remark::CutText));
    }
    let remark = (!is_utf8).then_some(Remark::NoUtf8);
    (Value::String(text.into_owned()), remark)
}

/// The value of a parameter: a blob is `{"base64": ".."}`.
///
/// # Errors
/// The reason why there is none.
pub(crate) fn from_json(value: &Value) -> Result<SqlValue, &'static str> {
    Ok(match value {
        Value::Null => SqlValue::Null,
        Value::Bool(truth) => SqlValue::Integer((*truth).into()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), _, _) => SqlValue::Integer(integer),
            (None, Some(_), _) => {
                return Err("an integer is larger than SQLite's; give it as text");
            }
            (None, None, Some(real)) => SqlValue::Real(real),
            (None, None, None) => return Err("a number is not one of SQLite"),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Object(fields) => match fields.get("base64") {
            Some(Value::String(text)) if fields.len() == 1 => STANDARD
                .decode(text)
                .map(SqlValue::Blob)
                .map_err(|_| "a blob is not in base64")?,
            _ => return Err("an object is no value but as `{\"base64\": \"..\"}`"),
        },
        Value::Array(_) => return Err("a list is no value; use json_each on its text"),
    })
}

#[cfg(test)]
mod tests;
