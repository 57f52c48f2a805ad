//! Merges fitted schemas of one value: the parts of an intersection, or a union and what stands
//! beside it.

use super::{
    bounded::quoted,
    finish::finish,
    rules::{ANNOTATIONS, SchemaDialect},
};
use serde_json::{Map, Value, json};

/// Adds the restrictions of `more` to `schema`. Restrictions that one schema cannot have go in its
/// description. `bytes_left` bounds what is copied.
pub(super) fn merge(
    dialect: SchemaDialect,
    schema: &mut Map<String, Value>,
    more: Map<String, Value>,
    bytes_left: &mut usize,
) {
    // Only the properties of its own part are exempt from it, and those are now mixed.
    if schema.get("additionalProperties") != more.get("additionalProperties") {
        schema.remove("additionalProperties");
    }
    let has_same = schema.contains_key("additionalProperties");
    for (keyword, value) in more {
        if keyword == "additionalProperties" && !has_same {
            continue;
        }
        let Some(old) = schema.get_mut(&keyword) else {
            schema.insert(keyword, value);
            continue;
        };
        match (keyword.as_str(), old, value) {
            (_, old, value) if *old == value => {}
            ("description", _, Value::String(text)) => describe(schema, &text),
            ("properties", Value::Object(old), Value::Object(new)) => {
                merge_properties(dialect, old, new, bytes_left);
            }
            ("required", Value::Array(old), Value::Array(new)) => {
                let new: Vec<Value> = new.into_iter().filter(|name| !old.contains(name)).collect();
                old.extend(new);
            }
            ("allOf", Value::Array(old), Value::Array(new)) => old.extend(new),
            ("type", Value::String(old), Value::String(new))
                if old == "number" && new == "integer" =>
            {
                *old = new;
            }
            ("type", Value::String(old), Value::String(new))
                if old == "integer" && new == "number" => {}
            (keyword, _, _) if ANNOTATIONS.contains(&keyword) => {}
            (keyword, _, value) => {
                let also = json!({keyword: value});
                describe(schema, &format!("It must also match: {}.", quoted(&also)));
            }
        }
    }
}

fn merge_properties(
    dialect: SchemaDialect,
    old: &mut Map<String, Value>,
    new: Map<String, Value>,
    bytes_left: &mut usize,
) {
    for (name, schema) in new {
        match (old.get_mut(&name), schema) {
            (Some(Value::Object(old)), Value::Object(schema)) => {
                merge(dialect, old, schema, bytes_left);
                finish(dialect, old, bytes_left);
            }
            (_, schema) => {
                old.insert(name, schema);
            }
        }
    }
}

/// Appends a sentence to the description of a schema.
pub(super) fn describe(schema: &mut Map<String, Value>, sentence: &str) {
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text}\n{sentence}"),
        _ => sentence.to_owned(),
    };
    schema.insert("description".to_owned(), Value::String(description));
}
