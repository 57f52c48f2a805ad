//! JSON Schemas of the values that other programs read, generated from their types.

#[cfg(test)]
mod tests;

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::Value;

/// Returns the JSON Schema (draft 2020-12) of the JSON that a type is written as.
///
/// ```
/// use agent_host_types::{output::ToolResultOutput, schema};
///
/// let schema = schema::of::<ToolResultOutput>();
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Returns the JSON Schema (draft 2020-12) of the JSON that a type is read from.
#[must_use]
pub fn of_input<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings
        .with_transform(plain_descriptions)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Turns the links of doc comments into their texts, since a schema has nothing to link to.
fn plain_descriptions(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = without_links(description);
    }
    transform_subschemas(&mut plain_descriptions, schema);
}

/// Replaces `[text](target)` and `` [`text`] `` by the text.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else {
            break;
        };
        plain.push_str(before);
        plain.push('`');
        plain.push_str(name);
        plain.push('`');
        rest = match after.strip_prefix('(').and_then(|t| t.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}
