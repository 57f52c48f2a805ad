//! Fields of JSON objects.

use serde_json::Value;

/// Sets a field of an object.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    object
}

/// Returns the text of a field; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a field; `null` if there is none.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}
