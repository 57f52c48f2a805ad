//! JSON as text, and the bound for the nesting of JSON from outside. The bound applies to
//! every value that enters the journal: a parser refuses 128 levels, and a session whose records
//! cannot be parsed is lost.

#[cfg(test)]
mod tests;
mod text;

pub use text::{JsonText, TooDeep};

use serde_json::{Map, Number, Value};

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

/// Compares two values, and numbers exactly by value: some languages write 1, others 1.0.
#[must_use]
pub fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|other| is_equal(one, other)))
        }
        _ => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.as_f64() == other.as_f64(),
        (Some(whole), None) => equals_integer(other, whole),
        (None, Some(whole)) => equals_integer(one, whole),
    }
}

/// Returns whether a floating-point number equals an integer exactly.
fn equals_integer(number: &Number, whole: i128) -> bool {
    // In the range of `i128` the cast of an integral float is exact; beyond it the cast saturates
    // to a value that no JSON integer has.
    number
        .as_f64()
        .is_some_and(|number| number.fract() == 0.0 && number as i128 == whole)
}
