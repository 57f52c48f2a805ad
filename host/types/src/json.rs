//! How deep JSON from outside may nest. Every value that enters the journal is held to it: a parser gives up at 128 levels,
//! and a session whose records cannot be read again is lost. It owns the bound and never looks at what a value means.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// How many levels a value may have. `serde_json` reads at most 127, and a record wraps a value in up to 10 of its own.
pub const MAX_DEPTH: usize = 100;

/// Whether a value has more than [`MAX_DEPTH`] levels of arrays and objects.
#[must_use]
pub fn is_too_deep(value: &Value) -> bool {
    exceeds(value, MAX_DEPTH)
}

/// The same for an object's content.
#[must_use]
pub fn is_object_too_deep(object: &Map<String, Value>) -> bool {
    object.values().any(|value| exceeds(value, MAX_DEPTH - 1))
}

/// Stops at the bound, so that a hostile value cannot exhaust the stack here.
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
