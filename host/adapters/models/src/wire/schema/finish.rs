//! The rules of a dialect about the keywords of one schema together.

use super::{
    bounded::{quoted, size},
    merge::{describe, merge},
    rules::{ANNOTATIONS, KEYWORDS, SchemaDialect},
};
use serde_json::{Map, Value, json};

/// Completes a schema whose parts are fitted. `bytes_left` bounds what is copied.
pub(super) fn finish(
    dialect: SchemaDialect,
    schema: &mut Map<String, Value>,
    bytes_left: &mut usize,
) {
    if !dialect.is_full() {
        imply_type(schema);
    }
    if dialect == SchemaDialect::Gemini {
        gemini_enum(schema);
    }
    if has_type(schema, "array") && !schema.contains_key("items") {
        schema.insert("items".to_owned(), json!({}));
    }
    let wants_properties = matches!(dialect, SchemaDialect::Responses | SchemaDialect::Chat);
    if wants_properties && has_type(schema, "object") && !schema.contains_key("properties") {
        schema.insert("properties".to_owned(), json!({}));
    }
    if dialect == SchemaDialect::Gemini {
        declare_required(schema);
        split_types(schema, bytes_left);
    }
    if !dialect.is_full() {
        move_into_union(dialect, schema, bytes_left);
    }
}

fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

/// Adds the type that the keywords of a schema without one are for.
fn imply_type(schema: &mut Map<String, Value>) {
    if schema.contains_key("type") || schema.contains_key("anyOf") {
        return;
    }
    let values = schema.get("enum").and_then(Value::as_array);
    let all = |is: fn(&Value) -> bool| values.is_some_and(|values| values.iter().all(is));
    let implied = if schema.contains_key("properties") || schema.contains_key("required") {
        "object"
    } else if schema.contains_key("items") || schema.contains_key("prefixItems") {
        "array"
    } else if all(Value::is_string) {
        "string"
    } else if all(Value::is_boolean) {
        "boolean"
    } else if all(Value::is_number) {
        "number"
    } else {
        return;
    };
    schema.insert("type".to_owned(), json!(implied));
}

/// Gemini lists values of strings and numbers only.
fn gemini_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = schema.get("enum") else {
        return;
    };
    let is_listed = |values: &[&Value]| {
        let all = |is: fn(&Value) -> bool| values.iter().all(|value| is(value));
        !values.is_empty() && (all(Value::is_string) || all(Value::is_number))
    };
    let whole: Vec<&Value> = values.iter().collect();
    if is_listed(&whole) {
        return;
    }
    let rest: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    if rest.len() < values.len() && is_listed(&rest) && !schema.contains_key("anyOf") {
        let of = if rest.iter().all(|value| value.is_string()) {
            "string"
        } else {
            "number"
        };
        let union = json!([{"type": of, "enum": rest}, {"type": "null"}]);
        schema.remove("type");
        schema.insert("anyOf".to_owned(), union);
    } else {
        let text = format!("One of: {}.", quoted(&json!(values)));
        describe(schema, &text);
    }
    schema.remove("enum");
}

/// Gemini refuses a required property that is not declared.
fn declare_required(schema: &mut Map<String, Value>) {
    let Some(Value::Array(required)) = schema.get("required").cloned() else {
        return;
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for name in required.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
}

/// Gemini takes one type, or one and `null`: a list of others becomes a union.
fn split_types(schema: &mut Map<String, Value>, bytes_left: &mut usize) {
    let Some(Value::Array(types)) = schema.get("type") else {
        return;
    };
    let types = types.clone();
    if types.len() == 2 && types.contains(&json!("null")) {
        return;
    }
    schema.remove("type");
    if schema.contains_key("anyOf") {
        return describe(schema, &format!("Types: {}.", quoted(&json!(types))));
    }
    let shared = take_restrictions(schema, types.len(), bytes_left);
    let branch = |of: &Value| {
        let name = of.as_str().unwrap_or_default();
        let applies = |keyword: &str| {
            let known = KEYWORDS.iter().find(|known| known.name == keyword);
            known.is_none_or(|known| !known.is_idle(&[name]))
        };
        let mut branch: Map<String, Value> = shared.clone();
        branch.retain(|keyword, _| applies(keyword));
        branch.insert("type".to_owned(), of.clone());
        Value::Object(branch)
    };
    let branches = types.iter().map(branch).collect();
    schema.insert("anyOf".to_owned(), Value::Array(branches));
}

/// In Gemini and Ollama a union stands alone: what stands beside it goes in each of its parts.
fn move_into_union(
    dialect: SchemaDialect,
    schema: &mut Map<String, Value>,
    bytes_left: &mut usize,
) {
    let Some(Value::Array(mut union)) = schema.remove("anyOf") else {
        return;
    };
    let shared = take_restrictions(schema, union.len(), bytes_left);
    for part in union.iter_mut().filter_map(Value::as_object_mut) {
        if !shared.is_empty() {
            merge(dialect, part, shared.clone(), bytes_left);
            finish(dialect, part, bytes_left);
        }
    }
    schema.insert("anyOf".to_owned(), Value::Array(union));
}

/// Takes the restrictions out of a schema, to be copied `copies` times. What is too large for that
/// goes in its description.
fn take_restrictions(
    schema: &mut Map<String, Value>,
    copies: usize,
    bytes_left: &mut usize,
) -> Map<String, Value> {
    let (annotations, restrictions): (Map<_, _>, Map<_, _>) = std::mem::take(schema)
        .into_iter()
        .partition(|(keyword, _)| ANNOTATIONS.contains(&keyword.as_str()));
    *schema = annotations;
    let restrictions = Value::Object(restrictions);
    let limit = *bytes_left / copies.max(1);
    if let Some(size) = size(&restrictions, limit) {
        *bytes_left = bytes_left.saturating_sub(size.saturating_mul(copies));
        if let Value::Object(restrictions) = restrictions {
            return restrictions;
        }
        return Map::new();
    }
    *bytes_left /= 2;
    describe(
        schema,
        &format!("It must also match: {}.", quoted(&restrictions)),
    );
    Map::new()
}
