//! JSON Schema: tool inputs are checked here before a tool is asked for anything.

#[cfg(test)]
mod tests;

use crate::failure::{ToolErrorCode, ToolFailure};
use serde_json::{Map, Value};

/// How many faults of one input are reported: enough for the model to mend them together.
const MAX_FAULTS: usize = 5;

/// A compiled input schema. Remote references are never followed and patterns run in linear time.
#[derive(Debug)]
pub struct InputSchema(jsonschema::Validator);

impl InputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with the schema, as a fragment.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("the root of an input schema must have `\"type\": \"object\"`".to_owned());
        }
        jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Checks an input.
    ///
    /// # Errors
    /// `invalid-input`, naming the arguments that do not fit.
    pub fn validate(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        let value = Value::Object(input.clone());
        if self.0.is_valid(&value) {
            return Ok(());
        }
        let faults: Vec<String> = self
            .0
            .iter_errors(&value)
            .take(MAX_FAULTS)
            .map(|error| {
                let path = error.instance_path().to_string();
                let place = if path.is_empty() {
                    "the arguments".to_owned()
                } else {
                    format!("`{path}`")
                };
                format!("{place}: {error}")
            })
            .collect();
        Err(ToolFailure::new(
            ToolErrorCode::InvalidInput,
            format!(
                "The arguments do not fit the tool's schema; the tool did not run. {}",
                faults.join("; ")
            ),
        ))
    }
}
