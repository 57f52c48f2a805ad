//! JSON Schemas from types, in the form that models and providers take best: no references, no
//! titles, no number formats.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::prose::reflow;

/// The schema of a tool's input. Its root is an object, whatever the type: the host refuses any
/// other tool.
pub fn input_schema<T: JsonSchema>() -> Value {
    input_of(SchemaGenerator::root_schema_for::<T>)
}

/// The schema of a tool's JSON result.
pub fn output_schema<T: JsonSchema>() -> Value {
    plain(
        SchemaSettings::draft2020_12().for_serialize(),
        SchemaGenerator::root_schema_for::<T>,
    )
}

/// Writes the schema of one type. The callers take it as a function and not as a type, so that it
/// is in the component once and not once for every tool.
type Writer = fn(&mut SchemaGenerator) -> Schema;

fn input_of(write: Writer) -> Value {
    let mut schema = plain(SchemaSettings::draft2020_12().for_deserialize(), write);
    if let Some(root) = schema.as_object_mut() {
        // The tool has a description of its own; that of its input's type is for readers of the
        // code.
        root.remove("description");
        root.entry("type").or_insert_with(|| "object".into());
        // OpenAI refuses an object without them, such as that of a tool without input.
        root.entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn plain(settings: SchemaSettings, write: Writer) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = write(&mut settings.into_generator());
    // The name of a Rust type tells a model nothing.
    schema.remove("title");
    RecursiveTransform(simplify).transform(&mut schema);
    schema.to_value()
}

fn simplify(schema: &mut Schema) {
    let numeric = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    let is_number = |kind: &Value| {
        numeric(kind)
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(numeric))
    };
    // `uint32` and its like are in no JSON Schema vocabulary, and some providers refuse a schema
    // for them. The bounds stay.
    if schema.get("type").is_some_and(is_number) {
        schema.remove("format");
    }
    // `required` already says that a field may be absent.
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get("description") {
        let text = reflow(text);
        schema.insert("description".to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests;
