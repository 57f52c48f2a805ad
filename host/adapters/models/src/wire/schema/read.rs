//! Reads the keywords of a schema as its author wrote them.

use super::rules::{KeywordForm, TYPES};
use serde_json::{Map, Value};

/// The longest reference that is followed, in bytes.
const MAX_REFERENCE_BYTES: usize = 1024;

/// Returns the value of a keyword; before draft 2020-12, `items` has the list of first items.
pub(super) fn value_of<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let has_list = schema.get("items").is_some_and(Value::is_array);
    match name {
        "prefixItems" if has_list => schema.get("items"),
        "items" if has_list => schema.get("additionalItems"),
        _ => schema.get(name),
    }
}

/// Returns the types that a schema names.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&'static str> {
    let known = |name: &Value| TYPES.into_iter().find(|known| name == known);
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::Array(list)) => list.iter().take(TYPES.len()).filter_map(known).collect(),
        Some(name) => known(name).into_iter().collect(),
        None => Vec::new(),
    };
    let mut seen = Vec::new();
    types.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    types
}

/// True if a value has this form.
pub(super) fn is_valid(form: KeywordForm, value: &Value) -> bool {
    match form {
        KeywordForm::Any => true,
        KeywordForm::Text => value.is_string(),
        KeywordForm::Flag => *value == Value::Bool(true),
        KeywordForm::Count => value.is_u64(),
        KeywordForm::Number => value.is_number(),
        KeywordForm::Values | KeywordForm::Schemas => {
            value.as_array().is_some_and(|list| !list.is_empty())
        }
        KeywordForm::Names => value.is_array(),
        KeywordForm::Schema => value.is_object() || value.is_boolean(),
        KeywordForm::NameLists | KeywordForm::PropertySchemas | KeywordForm::PatternSchemas => {
            value.is_object()
        }
    }
}

/// Returns the list of required properties of a schema that says nothing else.
pub(super) fn required_alone(schema: &Value) -> Option<&Value> {
    let schema = schema.as_object()?;
    let says_no_more = schema
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "required" | "title" | "description" => true,
            "type" => value == "object",
            _ => false,
        });
    schema
        .get("required")
        .filter(|required| says_no_more && required.is_array())
}

/// Finds the target of a reference within the schema.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.len() > MAX_REFERENCE_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let decoded = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() {
            after.get(2..)?
        } else {
            after
        };
    }
    root.pointer(std::str::from_utf8(&bytes).ok()?)
}
