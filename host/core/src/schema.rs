//! JSON Schema: tool inputs are checked here before a tool is asked for anything.

#[cfg(test)]
mod tests;
mod unfold;

use crate::failure::{ToolErrorCode, ToolFailure};
use serde_json::{Map, Value};

/// How many faults of one input are reported: enough for the model to mend them together.
const MAX_FAULTS: usize = 5;

/// A compiled input schema. Remote references are never followed, patterns run in linear time, and with its references
/// unfolded it is of bounded size, so that checking an input takes no longer than reading it, times that size.
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
        compile(schema).map(Self)
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

/// Checks a schema that promises something of a result. Nothing is held against it here.
///
/// # Errors
/// What is wrong with the schema, as a fragment.
pub fn check_output(schema: &Value) -> Result<(), String> {
    compile(schema).map(drop)
}

/// Compiles a schema that anybody may have written.
fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    unfold::check(schema)?;
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| error.to_string())
}
