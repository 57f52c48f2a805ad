//! JSON Schemas of tool inputs, tool results and final answers. Schemas come from untrusted
//! components and servers, so their size and the cost of each check are bounded.

mod answer;
mod choices;
mod integers;
mod meter;
mod patterns;
mod references;
#[cfg(test)]
mod tests;

use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    reason::Reason,
};
pub use answer::AnswerSchema;
pub use integers::with_integers;

use crate::arguments::Arguments;
use choices::Explainer;
use meter::{CostMeter, MAX_UNFOLDED, OverBudget};
use patterns::MAX_CONTROL_ESCAPES;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most mismatches reported of one value: enough for the model to correct them together.
const MAX_MISMATCHES: usize = 5;

/// The most patterns in one schema.
const MAX_PATTERNS: usize = 32;

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The root of an input schema is not an object.
    #[error("the root of an input schema must have `\"type\": \"object\"`")]
    RootNotObject,
    /// It is written in another dialect of JSON Schema, of this address: its first 80 characters.
    #[error(
        "its `$schema` `{0}` is not draft 4, 6, 7, 2019-09 or 2020-12, or is not the same in all its parts; use one \
         of these drafts"
    )]
    Dialect(String),
    /// A reference to nothing in the schema, such as a remote one: its first 80 characters.
    #[error(
        "the reference `{0}` does not resolve; refer to a part of the schema, as `#/$defs/NAME`"
    )]
    UnresolvedReference(String),
    /// A reference whose target depends on the path to it: its first 80 characters.
    #[error("the reference `{0}` is ambiguous; refer to one part, with `$ref` and `#/$defs/NAME`")]
    DynamicReference(String),
    /// References lead back to themselves without a step into the value, or unfold to too much.
    #[error(
        "its references are circular, or expand to more than {MAX_UNFOLDED} keywords for one value; use fewer nested \
         references"
    )]
    TooLarge,
    /// A pattern that cannot be run, and cannot be left out: its first 80 characters.
    #[error(
        "the pattern `{0}` is not supported: look-around, back-references and very large patterns take unbounded time"
    )]
    Pattern(String),
    /// A pattern that takes long to compile: its first 80 characters.
    #[error(
        "the pattern `{0}` has more than {MAX_CONTROL_ESCAPES} control character escapes (`\\cA`), which are slow to \
         parse; write them as `\\x01`"
    )]
    SlowPattern(String),
    /// Too many patterns.
    #[error("it has more than {MAX_PATTERNS} patterns")]
    TooManyPatterns,
    /// The validator rejects it.
    #[error(transparent)]
    Invalid(Box<dyn std::error::Error + Send + Sync>),
}

/// A compiled schema. Its references lead to its own parts, patterns run in linear time, and the
/// cost of a check is counted before the check runs.
#[derive(Debug)]
struct Schema {
    /// The schema as it is checked: with local references only.
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

    /// Compiles the schema of a tool that checks its input itself, without the patterns that cannot
    /// be run here and those beyond the first `max_patterns`, which are returned.
    ///
    /// # Errors
    /// Those of [`Self::compile`], except for patterns.
    pub fn compile_relaxed(
        schema: &Value,
        max_patterns: usize,
    ) -> Result<(Self, Vec<String>), SchemaError> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::RootNotObject);
        }
        let (schema, removed) = Schema::compile_relaxed(schema, max_patterns)?;
        Ok((Self(schema), removed))
    }

    /// Returns the number of patterns; each keeps its compiled form in memory.
    #[must_use]
    pub fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// Checks an input, and returns it with its integers written as such.
    ///
    /// # Errors
    /// `invalid-input`, naming the arguments that do not fit.
    pub fn accept(self: &Arc<Self>, input: &Map<String, Value>) -> Result<Arguments, ToolFailure> {
        let input = self.checked(input)?;
        Ok(Arguments::accepted(input, self))
    }

    /// Checks an input.
    ///
    /// # Errors
    /// `invalid-input`, naming the arguments that do not fit.
    pub fn validate(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.checked(input).map(drop)
    }

    fn checked(&self, input: &Map<String, Value>) -> Result<Map<String, Value>, ToolFailure> {
        let mut input = Value::Object(input.clone());
        let checked = self.0.check(&input, "the arguments");
        let checked =
            checked.and_then(|()| match integers::normalize(&self.0.source, &mut input) {
                Some(pointer) => Err(inexact(&input, &pointer)),
                None => Ok(()),
            });
        match (checked, input) {
            (Ok(()), Value::Object(input)) => Ok(input),
            (Ok(()), _) => Ok(Map::new()),
            (Err(error), _) => Err(ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "The arguments do not fit the tool's schema; the tool did not run. {error}"
                ),
            )),
        }
    }
}

/// Returns the error of the number at this pointer, which may not be the one that was written.
fn inexact(input: &Value, pointer: &str) -> Reason {
    let number = input.pointer(pointer).unwrap_or(&Value::Null);
    format!(
        "`{pointer}`: {number} may have lost digits, but an integer is expected; send it as an integer of at most 64 \
         bits, without fraction or exponent"
    )
    .into()
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
                "The tool ran, but its result does not match the schema that it declares. {error}"
            ))
        })
    }
}

impl Schema {
    fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let source = references::localize(schema)?;
        if patterns::count(&source)? > MAX_PATTERNS {
            return Err(SchemaError::TooManyPatterns);
        }
        Self::build(source)
    }

    /// Compiles a schema without the patterns that cannot be run and those beyond the first
    /// `max_patterns`, which are returned.
    fn compile_relaxed(
        schema: &Value,
        max_patterns: usize,
    ) -> Result<(Self, Vec<String>), SchemaError> {
        let mut source = references::localize(schema)?;
        let removed = patterns::relax(&mut source, max_patterns.min(MAX_PATTERNS))?;
        Ok((Self::build(source)?, removed))
    }

    /// Compiles a schema whose references are local.
    fn build(source: Value) -> Result<Self, SchemaError> {
        CostMeter::check_unfolded(&source, references::draft(&source)?)
            .map_err(|OverBudget| SchemaError::TooLarge)?;
        let validator = jsonschema::options()
            .with_pattern_options(patterns::engine())
            .build(&source)
            .map_err(|error| SchemaError::Invalid(error.into()))?;
        Ok(Self {
            patterns: patterns::count(&source)?,
            source,
            validator,
        })
    }

    /// Checks a value; `root` names the whole value in messages.
    fn check(&self, value: &Value, root: &'static str) -> Result<(), Reason> {
        let mut meter = CostMeter::new(&self.source);
        meter.walk(&self.source, value, 0).map_err(|OverBudget| {
            format!("{root}: too large or too deep to be checked against this schema; send less")
        })?;
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let explainer = Explainer {
            source: &self.source,
            root,
        };
        let mismatches = if meter.is_small() {
            explainer.messages(self.validator.iter_errors(value))
        } else if !meter.can_name_mismatch() {
            vec![format!(
                "{root}: a part does not match, and there are too many choices to say which; send less"
            )]
        } else {
            // `iter_errors` finds every mismatch before it returns the first.
            explainer.messages(self.validator.validate(value).err().into_iter())
        };
        Err(mismatches.join("; ").into())
    }
}
