//! Calls of other tools, for the component that runs the programs of an agent with `code = true`.
//! Everywhere else there are no tools, and every call is denied.
//!
//! A call may wait for the user. The instance then ends, and the program runs again from its start,
//! with the results of earlier calls; so it must make the same calls in the same order.

use crate::Part;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub input: String,
}

/// The result of a call, with JSON as text: a program keeps numbers that this SDK's would round.
#[derive(Clone, Debug, PartialEq)]
pub enum NestedOutput {
    /// Success, as text.
    Text(String),
    /// Success, as JSON text.
    Json(String),
    /// Success, as several parts. A file is a URL that stands for it: it counts in a result of the
    /// same program.
    Content(Vec<Part>),
    /// Failure, as text.
    ErrorText(String),
    /// Failure, as JSON text.
    ErrorJson(String),
    /// The call did not run.
    Denied(Option<String>),
}

/// The names of the tools that can be called.
#[must_use]
pub fn list() -> Vec<String> {
    host::list()
}

/// Runs calls, and returns their results in the order of the calls.
#[must_use]
pub fn call_many(calls: Vec<NestedCall>) -> Vec<NestedOutput> {
    host::call_many(calls)
}

#[cfg(target_family = "wasm")]
mod host {
    use super::{NestedCall, NestedOutput};
    use crate::bindings::{tools, types};
    use crate::component::lift_part;

    pub(super) fn list() -> Vec<String> {
        tools::list()
    }

    pub(super) fn call_many(calls: Vec<NestedCall>) -> Vec<NestedOutput> {
        let calls = calls.into_iter().map(|call| tools::NestedCall {
            name: call.name,
            input: call.input,
        });
        let calls: Vec<tools::NestedCall> = calls.collect();
        let lift = |output| match output {
            types::ToolResultOutput::Text(text) => NestedOutput::Text(text),
            types::ToolResultOutput::Json(text) => NestedOutput::Json(text),
            types::ToolResultOutput::Content(parts) => {
                NestedOutput::Content(parts.into_iter().map(lift_part).collect())
            }
            types::ToolResultOutput::ErrorText(text) => NestedOutput::ErrorText(text),
            types::ToolResultOutput::ErrorJson(text) => NestedOutput::ErrorJson(text),
            types::ToolResultOutput::ExecutionDenied(reason) => NestedOutput::Denied(reason),
        };
        tools::call_many(&calls).into_iter().map(lift).collect()
    }
}

#[cfg(not(target_family = "wasm"))]
use crate::testing::tools as host;
