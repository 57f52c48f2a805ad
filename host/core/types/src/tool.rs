//! Tools as the loop sees them: definitions, calls, and the trait that runs them.

#[cfg(test)]
mod tests;

use crate::{
    id::{CallId, Digest},
    words,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{borrow::Cow, sync::Arc};

words! {
    /// The effect class of a tool. The policy enforces it, so a wrong declaration gains nothing.
    pub enum Effect {
        /// Changes nothing; may run concurrently and again.
        ReadOnly,
        /// Changes something; repeating the call with the same idempotency key changes nothing more.
        Idempotent,
        /// Changes something and is never repeated.
        Effectful,
    }
}

impl Effect {
    /// Describes the effect in the words of an approval. It is what the tool declares, or the
    /// operator.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::ReadOnly => "declared read-only; the model sees the result",
            Self::Idempotent => "may change things, safe to repeat",
            Self::Effectful => "may change things",
        }
    }
}

/// The definition of a tool for the model (`tool-definition` in WIT).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name that the model calls; passes [`is_tool_name`].
    pub name: String,
    /// A short name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the input; its root is an object.
    pub input_schema: Value,
    /// The JSON Schema of a `json` result, if the tool declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The declared effect.
    pub effect: Effect,
}

/// The longest tool name that every provider accepts, in bytes.
pub const MAX_TOOL_NAME: usize = 64;

/// Whether every provider accepts the name: `^[a-zA-Z0-9_-]{1,64}$` (OpenAI and Anthropic).
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    (1..=MAX_TOOL_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A call requested by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The id that the result must carry.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The parsed arguments; absent if the text below is not a JSON object.
    pub input: Option<Arc<Map<String, Value>>>,
    /// The arguments exactly as the model wrote them.
    pub raw_arguments: String,
}

impl ToolCall {
    /// Parses the model's argument text. Empty text means no arguments; several servers send that.
    #[must_use]
    pub fn parse(id: CallId, name: String, raw_arguments: String) -> Self {
        let input = if raw_arguments.trim().is_empty() {
            Some(Arc::default())
        } else {
            match serde_json::from_str(&raw_arguments) {
                Ok(Value::Object(map)) => Some(Arc::new(map)),
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

/// When a call needs the user's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// By effect: read-only calls run, others need approval.
    #[default]
    ByEffect,
    /// Every call needs approval.
    Always,
    /// No call needs approval; grants and limits still apply.
    Never,
}

words! {
    /// A decision of the user about a call that waits for approval.
    pub enum DecisionKind {
        /// Run the call unchanged.
        Approve,
        /// Run the call with other arguments.
        Edit,
        /// Do not run the call.
        Reject,
        /// Do not run the call, and return this result in its place.
        Respond,
    }
}

/// The runtime of the calls of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolRuntime {
    /// In this process.
    #[default]
    Host,
    /// Outside: the caller of the loop receives the calls and submits their results.
    External,
    /// As a child session: the loop of another agent, with its own model, tools and journal.
    Agent,
}

/// A tool in the registry of a running host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredTool {
    /// The definition for the model, which all copies of the tool share.
    pub definition: Arc<ToolDefinition>,
    /// The effect that the policy enforces. Never weaker than declared: `idempotent` is `effectful`
    /// here unless the operator accepted it.
    pub effect: Effect,
    /// When a call needs approval.
    pub approval: Approval,
    /// The decisions that the user may take; not empty.
    pub decisions: Vec<DecisionKind>,
    /// The runtime of its calls.
    pub runtime: ToolRuntime,
    /// The digest of the component with its grants; absent for tools outside components.
    pub component: Option<Digest>,
    /// Where all arguments of its calls go, as a source of text is named, such as `mcp:mail`; absent
    /// for a tool that reaches nothing, or whose requests a gate decides on. Not a part of
    /// [`Self::identity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The template of the line that shows a call to the user; absent for the default one. It is
    /// neither sent to models nor a part of [`Self::identity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryTemplate>,
}

impl RegisteredTool {
    /// Returns where all arguments of its calls go: also outside, to the caller of the loop.
    #[must_use]
    pub fn goes_to(&self) -> Option<Cow<'_, str>> {
        match (self.runtime, &self.destination) {
            (ToolRuntime::External, _) => Some(format!("external:{}", self.definition.name).into()),
            (ToolRuntime::Host | ToolRuntime::Agent, destination) => {
                destination.as_deref().map(Cow::from)
            }
        }
    }
}

/// The template of the line that shows a call of a tool to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryTemplate {
    /// The template.
    pub text: String,
    /// True if the host wrote it: only such a line stands without the tool's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

impl SummaryTemplate {
    /// Creates a template of the host for one of its own tools.
    #[must_use]
    pub fn own(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            own: true,
        }
    }

    /// Creates a template that came with a tool.
    #[must_use]
    pub fn of_author(text: String) -> Self {
        Self { text, own: false }
    }
}
