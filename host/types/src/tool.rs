//! Tools as values: definitions, calls, and what the operator set up for each.

#[cfg(test)]
mod tests;

use crate::id::{CallId, Digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a call may change. Enforced by the policy, whatever the tool says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Changes nothing: may run beside others, and again.
    ReadOnly,
    /// Changes something; a repetition with the same idempotency key changes nothing more.
    Idempotent,
    /// Changes something and is never repeated.
    Effectful,
}

impl Effect {
    /// The kebab-case name, as in WIT.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Idempotent => "idempotent",
            Self::Effectful => "effectful",
        }
    }
}

/// What a tool tells the model about itself (`tool-definition` in WIT).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name that the model calls; fits [`is_tool_name`].
    pub name: String,
    /// A short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does; the model reads it.
    pub description: String,
    /// The JSON Schema of the input; its root is an object.
    pub input_schema: Value,
    /// The JSON Schema of a `json` result, where the tool promises one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What a call may change.
    pub effect: Effect,
}

/// The longest tool name that every provider accepts.
pub const MAX_TOOL_NAME: usize = 64;

/// Whether every provider accepts the name: `^[a-zA-Z0-9_-]{1,64}$` (OpenAI and Anthropic).
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    (1..=MAX_TOOL_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the result must carry.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments, parsed; absent where the text below is not a JSON object.
    pub input: Option<Map<String, Value>>,
    /// The arguments exactly as the model wrote them.
    pub raw_arguments: String,
}

impl ToolCall {
    /// Parses the model's argument text. Empty text stands for no arguments, as several servers send it.
    #[must_use]
    pub fn parse(id: CallId, name: String, raw_arguments: String) -> Self {
        let input = if raw_arguments.trim().is_empty() {
            Some(Map::new())
        } else {
            match serde_json::from_str(&raw_arguments) {
                Ok(Value::Object(map)) => Some(map),
                Ok(_) | Err(_) => None,
            }
        };
        Self {
            id,
            name,
            input,
            raw_arguments,
        }
    }
}

/// When a person is asked before a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// The policy decides by effect: read-only runs, everything else is asked.
    #[default]
    ByEffect,
    /// Every call is asked.
    Always,
    /// No call is asked; grants and limits still hold.
    Never,
}

/// What a person may decide about a call that waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionKind {
    /// Run it as it is.
    Approve,
    /// Run it with other arguments.
    Edit,
    /// Do not run it.
    Reject,
    /// Do not run it, and answer in its place.
    Respond,
}

impl DecisionKind {
    /// All of them, which is what a tool allows unless it is configured otherwise.
    pub const ALL: [Self; 4] = [Self::Approve, Self::Edit, Self::Reject, Self::Respond];

    /// The kebab-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Edit => "edit",
            Self::Reject => "reject",
            Self::Respond => "respond",
        }
    }
}

/// Where the calls of a tool run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolRuntime {
    /// In this process.
    #[default]
    Host,
    /// Outside: calls are handed to whoever runs the loop, who submits their results.
    External,
}

/// A tool in the registry of a running host.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredTool {
    /// What the model is told.
    pub definition: ToolDefinition,
    /// The effect that the policy goes by. It is never weaker than what the tool declares: an `idempotent` that the operator
    /// has not accepted is `effectful` here.
    pub effect: Effect,
    /// When a person is asked.
    pub approval: Approval,
    /// What they may decide; not empty.
    pub decisions: Vec<DecisionKind>,
    /// Where its calls run.
    pub runtime: ToolRuntime,
    /// The digest of the component that it is in, as the operator set it up: the code, and what it may reach. Absent for tools that
    /// are in none.
    pub component: Option<Digest>,
}
