//! JSON Schemas from types, in the form that models and providers take best: no references, no titles, no number formats.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of a tool's input. Its root is an object, whatever the type: the host refuses any other tool.
pub fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = plain::<T>(SchemaSettings::draft2020_12().for_deserialize());
    if let Some(root) = schema.as_object_mut() {
        // The tool has a description of its own; that of its input's type is for readers of the code.
        root.remove("description");
        root.entry("type").or_insert_with(|| "object".into());
    }
    schema
}

/// The schema of a tool's JSON result.
pub fn output_schema<T: JsonSchema>() -> Value {
    plain::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn plain<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type tells a model nothing.
    schema.remove("title");
    // `uint32` and its like are in no JSON Schema vocabulary, and some providers refuse a schema for them. The bounds stay.
    RecursiveTransform(|schema: &mut Schema| {
        let numeric = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
        let is_number = schema.get("type").is_some_and(|kind| {
            numeric(kind)
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(numeric))
        });
        if is_number {
            schema.remove("format");
        }
    })
    .transform(&mut schema);
    schema.to_value()
}

#[cfg(test)]
mod tests;
