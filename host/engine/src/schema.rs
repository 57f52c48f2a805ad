//! JSON Schema: tool inputs are checked here before a tool is asked for anything, and its JSON results before anybody reads
//! them. A schema is a stranger's word: what it may be is bounded here, and so is what a check against it may cost.

mod answer;
mod meter;
#[cfg(test)]
mod tests;
mod unfold;

use agent_host_types::failure::{ToolErrorCode, ToolFailure};
pub use answer::AnswerSchema;

use meter::{Meter, TooMuch};
use serde_json::{Map, Value};

/// How many faults of one value are reported: enough for the model to mend them together.
const MAX_FAULTS: usize = 5;

/// The patterns in one schema.
const MAX_PATTERNS: usize = 32;

/// A compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512 * 1024;

/// A compiled schema. Remote references are never followed, patterns run in linear time, with its references unfolded it is of
/// bounded size, and what a check against it costs is counted before it is made.
#[derive(Debug)]
struct Schema {
    source: Value,
    patterns: usize,
    validator: jsonschema::Validator,
}

/// The compiled schema of a tool's input.
#[derive(Debug)]
pub struct InputSchema(Schema);

/// The compiled schema of a tool's JSON result.
#[derive(Debug)]
pub struct OutputSchema(Schema);

impl InputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with the schema, as a fragment.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("the root of an input schema must have `\"type\": \"object\"`".to_owned());
        }
        Schema::compile(schema).map(Self)
    }

    /// How many patterns it has; each takes memory for as long as it is there.
    #[must_use]
    pub fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// Checks an input.
    ///
    /// # Errors
    /// `invalid-input`, naming the arguments that do not fit.
    pub fn validate(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        let input = Value::Object(input.clone());
        self.0.check(&input, "the arguments").map_err(|faults| {
            ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "The arguments do not fit the tool's schema; the tool did not run. {faults}"
                ),
            )
        })
    }
}

impl OutputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with the schema, as a fragment.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        Schema::compile(schema).map(Self)
    }

    /// How many patterns it has; each takes memory for as long as it is there.
    #[must_use]
    pub fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// Checks a result.
    ///
    /// # Errors
    /// `invalid-output`, naming the parts that do not fit.
    pub fn validate(&self, output: &Value) -> Result<(), ToolFailure> {
        self.0.check(output, "the result").map_err(|faults| {
            ToolFailure::invalid_output(format!(
                "The tool ran, but its result does not fit the schema that it promises. {faults}"
            ))
        })
    }
}

impl Schema {
    fn compile(schema: &Value) -> Result<Self, String> {
        unfold::check(schema)?;
        let patterns = patterns(schema);
        if patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        let engine = jsonschema::PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(engine)
            .build(schema)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            source: schema.clone(),
            patterns,
            validator,
        })
    }

    /// Checks a value; `whole` is what it is called where the fault is not in a part of it.
    fn check(&self, value: &Value, whole: &str) -> Result<(), String> {
        let mut meter = Meter::new(&self.source);
        meter.walk(&self.source, value, 0).map_err(|TooMuch| {
            format!("{whole}: too large or too deep to be checked against this schema; send less")
        })?;
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let fault = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() {
                whole.to_owned()
            } else {
                format!("`{path}`")
            };
            format!("{place}: {error}")
        };
        if !meter.is_small() {
            return self.validator.validate(value).map_err(fault);
        }
        let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
        let faults: Vec<String> = errors.map(fault).collect();
        Err(faults.join("; "))
    }
}

/// The patterns in a schema. The parser bounds the recursion at 128 levels.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let own = match (name.as_str(), value) {
                    ("pattern", Value::String(_)) => 1,
                    ("patternProperties", Value::Object(all)) => all.len(),
                    _ => 0,
                };
                own + patterns(value)
            })
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
