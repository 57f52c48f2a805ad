//! A tool as a value, and one call of it. `#[tool]` writes the former; this module runs the latter.
//! It is independent of WIT.

use serde::de::DeserializeOwned;

use crate::{IntoOutput, Output};

/// The effect that a call of a tool may have. The host enforces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing. May run beside others, and again.
    ReadOnly,
    /// Changes something, and a repetition with the same idempotency key changes nothing more.
    Idempotent,
    /// Changes something. Never repeated without being asked.
    Effectful,
}

/// The call that a tool is answering; a tool takes it after its input, or alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The id of the call, unique in its session.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// A key that is equal for every attempt at this call: pass it on to services that support
    /// idempotency keys.
    pub idempotency_key: String,
}

/// A tool: what `#[tool]` makes of a function.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name that the model calls.
    pub name: &'static str,
    /// A short name to show to users.
    pub title: Option<&'static str>,
    /// A description of what the tool does and when to use it: the function's doc comment.
    pub doc: &'static str,
    /// The effect that a call may have.
    pub effect: Effect,
    /// The JSON Schema of the input.
    pub input_schema: fn() -> serde_json::Value,
    /// The JSON Schema of the result, where the tool promises one.
    pub output_schema: Option<fn() -> serde_json::Value>,
    /// Runs a call with its input as JSON text.
    pub run: fn(&Call, &str) -> Output,
}

impl Tool {
    /// The description for the model: the doc comment with the lines of each paragraph joined.
    #[must_use]
    pub fn description(&self) -> String {
        crate::prose::reflow(self.doc)
    }
}

/// Implemented by the type that `#[tool]` writes beside a function.
pub trait Described {
    /// The function as a tool.
    const TOOL: Tool;
}

/// The input of a tool without parameters: an object without fields.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoInput {}

/// Runs a tool's function on JSON text. The host has checked the input against the schema, so a
/// mismatch is rare: a rule of the type that a schema cannot state.
pub fn run<I: DeserializeOwned, T: IntoOutput>(
    call: &Call,
    input: &str,
    function: impl FnOnce(&Call, I) -> T,
) -> Output {
    match serde_json::from_str(input) {
        Ok(input) => function(call, input).into_output(),
        Err(error) => Output::error(format!(
            "the input of `{}` does not fit: {error}; correct it and call again",
            call.name
        )),
    }
}

#[cfg(test)]
mod tests;
