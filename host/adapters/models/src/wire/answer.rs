//! The schema of an answer, as providers enforce it while the model writes. Its dialect is the part
//! that all of them have, so what is left out only allows more: the system prompt has the whole
//! schema, and the host checks the answer against it.

#[cfg(test)]
mod tests;

use super::schema::{SchemaDialect, fit_schema};
use serde_json::{Map, Value, json};

/// The most properties that may be absent, and the most unions ("Schema complexity limits" of
/// "Structured outputs" in Anthropic's documentation).
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

/// The schema of an answer in the common dialect.
#[derive(Debug, PartialEq)]
pub(crate) struct AnswerForm {
    pub(super) schema: Value,
    /// True if no property may be absent, which OpenAI's strict mode requires.
    pub(super) is_strict: bool,
}

impl AnswerForm {
    /// Converts a schema; none if it has a part that no provider can enforce, such as objects with
    /// any names of properties, or a root that is no object. The model then follows the prompt.
    pub(super) fn from_schema(schema: &Value, dialect: SchemaDialect) -> Option<Self> {
        // A converted schema has the forms of the dialect; the answer would have to be converted.
        let (fitted, names) = fit_schema(dialect, schema);
        if !names.is_identity() || schema.get("type")?.as_str()? != "object" {
            return None;
        }
        let mut form = Counts::default();
        let schema = form.convert(&fitted)?;
        let is_small = form.optional <= MAX_OPTIONAL && form.unions <= MAX_UNIONS;
        is_small.then_some(Self {
            schema,
            is_strict: form.optional == 0,
        })
    }
}

/// The numbers that providers limit.
#[derive(Default)]
struct Counts {
    optional: usize,
    unions: usize,
}

impl Counts {
    /// Converts a schema. Its depth is limited since it was fitted.
    fn convert(&mut self, schema: &Value) -> Option<Value> {
        let schema = schema.as_object()?;
        let mut form = Map::new();
        for key in ["description", "type", "enum", "const"] {
            form.extend(schema.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        if let Some(cases) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            self.unions += 1;
            let cases = cases.as_array()?.iter().map(|case| self.convert(case));
            let cases: Vec<Value> = cases.collect::<Option<_>>()?;
            // What stands beside a union restricts it further, and not every provider takes both.
            return Some(json!({"anyOf": cases}));
        }
        let has_values = form.contains_key("enum") || form.contains_key("const");
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => {
                self.unions += 1;
                kinds.iter().filter_map(Value::as_str).collect()
            }
            _ if has_values => Vec::new(),
            _ => return None,
        };
        if types.contains(&"array") {
            form.insert("items".to_owned(), self.convert(schema.get("items")?)?);
        }
        if types.contains(&"object") {
            self.object(schema, &mut form)?;
        }
        Some(Value::Object(form))
    }

    /// Converts an object, which has the properties that are named and no others.
    fn object(&mut self, schema: &Map<String, Value>, form: &mut Map<String, Value>) -> Option<()> {
        let is_open = schema.contains_key("patternProperties")
            || schema
                .get("additionalProperties")
                .is_some_and(Value::is_object);
        let properties = schema.get("properties")?.as_object()?;
        if is_open || properties.is_empty() {
            return None;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        // A property that is required and not described cannot be written.
        if required.iter().any(|name| !properties.contains_key(*name)) {
            return None;
        }
        self.optional += properties.len() - required.len().min(properties.len());
        let converted = properties
            .iter()
            .map(|(name, property)| Some((name.clone(), self.convert(property)?)));
        let converted: Map<String, Value> = converted.collect::<Option<_>>()?;
        form.insert("properties".to_owned(), Value::Object(converted));
        form.insert("required".to_owned(), json!(required));
        form.insert("additionalProperties".to_owned(), json!(false));
        Some(())
    }
}
