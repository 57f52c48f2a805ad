//! JSON Schemas of tool inputs, tool results and final answers. Schemas come from untrusted
//! components and servers, so their size and the cost of each check are bounded.

mod answer;
mod meter;
#[cfg(test)]
mod tests;
mod unfold;

use agent_host_types::failure::{ToolErrorCode, ToolFailure};
pub use answer::{AnswerSchema, ParseAnswerError};

use meter::{CostMeter, OverBudget};
use serde_json::{Map, Value};
use unfold::{MAX_REFERENCES, MAX_VALUES};

/// The most mismatches reported of one value: enough for the model to correct them together.
const MAX_MISMATCHES: usize = 5;

/// The most patterns in one schema.
const MAX_PATTERNS: usize = 32;

/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512 * 1024;

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The root of an input schema is not an object.
    #[error("the root of an input schema must have `\"type\": \"object\"`")]
    RootNotObject,
    /// Draft 4, whose `id` changes what references resolve to.
    #[error(
        "it is written in draft 4, in which the key `id` moves references; write it in a later draft of JSON Schema"
    )]
    Draft4,
    /// This key changes what references resolve to.
    #[error("it has the key `{0}`; name its parts by `$defs` and refer to them by `#/$defs/NAME`")]
    ReferenceBase(String),
    /// A reference to nothing in the schema, such as a remote one: its first 80 characters.
    #[error("the reference `{0}` leads nowhere in it; refer to its own parts, as `#/$defs/NAME`")]
    UnresolvedReference(String),
    /// A reference whose target contains it: its first 80 characters.
    #[error("the reference `{0}` leads back to itself; write the levels out that are needed")]
    RecursiveReference(String),
    /// Too many references in a chain.
    #[error(
        "more than {MAX_REFERENCES} references lead from one to the next; put the parts in place"
    )]
    ReferenceChain,
    /// Too many values once references are unfolded.
    #[error(
        "with its references unfolded it has more than {MAX_VALUES} values; use fewer references to parts with references"
    )]
    TooLarge,
    /// Too many patterns.
    #[error("it has more than {MAX_PATTERNS} patterns")]
    TooManyPatterns,
    /// The validator rejects it.
    #[error(transparent)]
    Invalid(Box<dyn std::error::Error + Send + Sync>),
}

/// A value that does not fit its schema. `root` names the whole value, such as `the arguments`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The check of the value of this name would exceed its cost bound.
    #[error("{0}: too large or too deep to be checked against this schema; send less")]
    TooCostly(&'static str),
    /// The value differs from the schema.
    #[error("{}", .0.join("; "))]
    Mismatch(
        /// At most 5 messages, each beginning with the JSON pointer to the value or the name of the
        /// whole value.
        Vec<String>,
    ),
}

/// A compiled schema. Remote references are never followed, patterns run in linear time, its size
/// with references unfolded is bounded, and the cost of a check is counted before the check runs.
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
    /// If the root is not an object or the schema exceeds a bound.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::RootNotObject);
        }
        Schema::compile(schema).map(Self)
    }

    /// Returns the number of patterns; each keeps its compiled form in memory.
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
        self.0.check(&input, "the arguments").map_err(|error| {
            ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "The arguments do not fit the tool's schema; the tool did not run. {error}"
                ),
            )
        })
    }
}

impl OutputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If the schema is invalid or exceeds a bound.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Schema::compile(schema).map(Self)
    }

    /// Returns the number of patterns; each keeps its compiled form in memory.
    #[must_use]
    pub fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// Checks a result.
    ///
    /// # Errors
    /// `invalid-output`, naming the parts that do not fit.
    pub fn validate(&self, output: &Value) -> Result<(), ToolFailure> {
        self.0.check(output, "the result").map_err(|error| {
            ToolFailure::invalid_output(format!(
                "The tool ran, but its result does not fit the schema that it promises. {error}"
            ))
        })
    }
}

impl Schema {
    fn compile(schema: &Value) -> Result<Self, SchemaError> {
        unfold::check(schema)?;
        let patterns = patterns(schema);
        if patterns > MAX_PATTERNS {
            return Err(SchemaError::TooManyPatterns);
        }
        let engine = jsonschema::PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(engine)
            .build(schema)
            .map_err(|error| SchemaError::Invalid(error.into()))?;
        Ok(Self {
            source: schema.clone(),
            patterns,
            validator,
        })
    }

    /// Checks a value; `root` names the whole value in messages.
    fn check(&self, value: &Value, root: &'static str) -> Result<(), ValueError> {
        let mut meter = CostMeter::new(&self.source);
        meter
            .walk(&self.source, value, 0)
            .map_err(|OverBudget| ValueError::TooCostly(root))?;
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let message = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            if path.is_empty() {
                format!("{root}: {error}")
            } else {
                format!("`{path}`: {error}")
            }
        };
        let mismatches = if meter.is_small() {
            let errors = self.validator.iter_errors(value);
            errors.take(MAX_MISMATCHES).map(message).collect()
        } else {
            // `iter_errors` finds every mismatch before it returns the first.
            let error = self.validator.validate(value).err();
            error.map(message).into_iter().collect()
        };
        Err(ValueError::Mismatch(mismatches))
    }
}

/// Counts the patterns in a schema. The parser bounds the recursion at 128 levels.
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
