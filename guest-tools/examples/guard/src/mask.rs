//! Masks e-mail addresses. Each function returns whether it found one.

use agent_tool::{Output, Part};
use serde_json::Value;

/// The text in place of an address.
const MASK: &str = "[address]";

/// Masks the addresses in a result.
pub(crate) fn output(output: &mut Output) -> bool {
    match output {
        Output::Text(found) | Output::ErrorText(found) => text(found),
        Output::Json(value) | Output::ErrorJson(value) => json(value),
        Output::Content(parts) => all(parts, |part| match part {
            Part::Text(found) => text(found),
            Part::File { .. } => false,
        }),
        Output::Denied(_) => false,
    }
}

/// Masks the addresses in the strings of a value; keys of objects stay.
pub(crate) fn json(value: &mut Value) -> bool {
    match value {
        Value::String(found) => text(found),
        Value::Array(items) => all(items, json),
        Value::Object(fields) => all(fields.values_mut(), json),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Masks the addresses in a text. Space and punctuation around them stay.
pub(crate) fn text(text: &mut String) -> bool {
    let mut masked = String::with_capacity(text.len());
    let mut found = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        if is_address(core) {
            found = true;
            masked.push_str(&word.replacen(core, MASK, 1));
        } else {
            masked.push_str(word);
        }
    }
    if found {
        *text = masked;
    }
    found
}

/// Masks all items. It stops at none, as `any` would.
pub(crate) fn all<T>(items: impl IntoIterator<Item = T>, mut mask: impl FnMut(T) -> bool) -> bool {
    items
        .into_iter()
        .fold(false, |found, item| mask(item) | found)
}

fn is_address(word: &str) -> bool {
    let Some((user, host)) = word.split_once('@') else {
        return false;
    };
    !user.is_empty() && host.contains('.') && !host.contains('@')
}
