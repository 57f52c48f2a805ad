//! Tools as the loop sees them: definitions, calls, and the trait that runs them.

#[cfg(test)]
mod tests;

use crate::{
    BoxFuture,
    accounting::{Accounting, AuditEntry},
    id::{CallId, Digest, SessionId},
    limits::Limits,
    output::ToolResultOutput,
    question::{AnsweredQuestion, PendingQuestion},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The effect class of a tool. The policy enforces it, so a wrong declaration gains nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Changes nothing; may run concurrently and again.
    ReadOnly,
    /// Changes something; repeating the call with the same idempotency key changes nothing more.
    Idempotent,
    /// Changes something and is never repeated.
    Effectful,
}

impl Effect {
    /// Returns the kebab-case name, as in WIT.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Idempotent => "idempotent",
            Self::Effectful => "effectful",
        }
    }
}

/// The definition of a tool for the model (`tool-definition` in WIT).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the result must carry.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The parsed arguments; absent if the text below is not a JSON object.
    pub input: Option<Map<String, Value>>,
    /// The arguments exactly as the model wrote them.
    pub raw_arguments: String,
}

impl ToolCall {
    /// Parses the model's argument text. Empty text means no arguments; several servers send that.
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

/// When a call needs the user's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// A decision of the user about a call that waits for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

impl DecisionKind {
    /// All kinds, the default for a tool.
    pub const ALL: [Self; 4] = [Self::Approve, Self::Edit, Self::Reject, Self::Respond];

    /// Returns the kebab-case name.
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
    /// In this process, behind [`ToolRunner`].
    #[default]
    Host,
    /// Outside: the caller of the loop receives the calls and submits their results.
    External,
}

/// A tool in the registry of a running host.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredTool {
    /// The definition for the model.
    pub definition: ToolDefinition,
    /// The effect that the policy enforces. Never weaker than declared: `idempotent` is `effectful`
    /// here unless the operator accepted it.
    pub effect: Effect,
    /// When a call needs approval.
    pub approval: Approval,
    /// The decisions that the user may take; not empty.
    pub decisions: Vec<DecisionKind>,
    /// Where its calls run.
    pub runtime: ToolRuntime,
    /// The digest of the component with its grants; absent for tools outside components.
    pub component: Option<Digest>,
}

/// One run of one call, with everything that the runner needs to know.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The session in which the call happens.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// The tool's name in the registry.
    pub tool: String,
    /// The arguments, already checked to be an object that fits the tool's schema.
    pub input: Map<String, Value>,
    /// The same for every attempt at this call.
    pub idempotency_key: String,
    /// The session's shared state as the call sees it. A call that runs again sees what its first run saw.
    pub shared: Arc<Map<String, Value>>,
    /// The questions of earlier runs of this call with their answers, in order.
    pub answers: Vec<AnsweredQuestion>,
    /// Whether a person can be asked. Where not, a question is answered with `unavailable`.
    pub can_ask: bool,
    /// Tells that the call is to be stopped.
    pub cancel: CancellationToken,
}

/// How a run of a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// With a result.
    Settled(CallReport),
    /// With a question to a person.
    Asked(PendingQuestion),
}

impl RunEnd {
    /// The report of a call that has its result; nothing of one that asks.
    #[must_use]
    pub fn settled(self) -> Option<CallReport> {
        match self {
            Self::Settled(report) => Some(report),
            Self::Asked(_) => None,
        }
    }
}

impl From<CallReport> for RunEnd {
    fn from(report: CallReport) -> Self {
        Self::Settled(report)
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    /// The result; an abnormal end is in here too, as `error-json`.
    pub output: ToolResultOutput,
    /// What the call used.
    pub accounting: Accounting,
    /// What it asked of the gate, and what the gate said.
    pub audit: Vec<AuditEntry>,
    /// What it merges into the session's shared state, in its order. Calls that ended abnormally merge nothing.
    pub merges: Vec<Map<String, Value>>,
}

impl CallReport {
    /// The report of a call of which nothing but the result is to be told.
    #[must_use]
    pub fn of(output: ToolResultOutput) -> Self {
        Self {
            output,
            accounting: Accounting::default(),
            audit: Vec::new(),
            merges: Vec::new(),
        }
    }
}

/// Receives progress reports of a running call: message, and fraction where it is known.
pub type ProgressSink<'a> = &'a (dyn Fn(&str, Option<f64>) + Send + Sync);

/// Runs tools. Implemented by agent-host-app over the sandbox, and by tests and embedders over plain closures.
pub trait ToolRunner: Send + Sync {
    /// The tools that exist, in the order in which the model is told of them.
    fn tools(&self) -> &[RegisteredTool];

    /// The limits that hold for each call of a tool; nothing for a tool that does not run in the sandbox.
    fn limits(&self, _tool: &str) -> Option<&Limits> {
        None
    }

    /// The executable files that the arguments name and a call with them may rewrite, by the tool's paths; for people, before
    /// they approve it.
    fn executables(&self, _tool: &str, _input: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Checks arguments against the tool's schema.
    ///
    /// # Errors
    /// `unknown-tool` or `invalid-input`, with the path of the first argument that does not fit.
    fn validate(
        &self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Result<(), crate::failure::ToolFailure>;

    /// Runs one call to its end. When [`Invocation::cancel`] is cancelled, it stops the call and reports what that used until then,
    /// at once: after half a second the future is dropped, which stops the call as well, but its audit and accounting are lost.
    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd>;
}
