//! JSON as text, and the bound for the nesting of JSON from outside. The bound applies to
//! every value that enters the journal: a parser refuses 128 levels, and a session whose records cannot be parsed is lost.

#[cfg(test)]
mod tests;
mod text;

pub use text::{JsonText, TooDeep};

use serde_json::{Map, Value};

/// The most levels of a value. `serde_json` parses at most 127, and a record wraps a value in up to
/// 10 of its own.
pub const MAX_DEPTH: usize = 100;

/// Whether a value has more than [`MAX_DEPTH`] levels of arrays and objects.
#[must_use]
pub fn is_too_deep(value: &Value) -> bool {
    exceeds(value, MAX_DEPTH)
}

/// Whether an object has more than [`MAX_DEPTH`] levels, counting itself.
#[must_use]
pub fn is_object_too_deep(object: &Map<String, Value>) -> bool {
    object.values().any(|value| exceeds(value, MAX_DEPTH - 1))
}

/// Whether a value has more than `levels` levels. Recurses no deeper, so that no value exhausts the
/// stack.
fn exceeds(value: &Value, levels: usize) -> bool {
    let inner = levels.checked_sub(1);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => {
            inner.is_none_or(|left| items.iter().any(|item| exceeds(item, left)))
        }
        Value::Object(map) => inner.is_none_or(|left| map.values().any(|item| exceeds(item, left))),
    }
}
