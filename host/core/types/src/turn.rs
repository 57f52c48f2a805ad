//! The input and the report of a turn.

use crate::{
    approval::Decision,
    budget::Budget,
    continuation::Continuation,
    id::{CallId, SessionId},
    message::{Message, ToolResult},
    model::{ModelError, Provenance, StopReason, Usage},
    output::ToolResultOutput,
    question::Answer,
    tool::ToolRuntime,
    workflow::{NodeFailure, WorkflowEnd, WorkflowSummary},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The input of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentInput {
    /// A message of the user.
    Text(String),
    /// A message of the user with files.
    Message(Message),
    /// Decisions about the waiting calls.
    Resume {
        /// The continuation of the paused turn.
        continuation: Continuation,
        /// One decision for each call of the continuation, in order.
        decisions: Vec<Decision>,
    },
    /// The answer to a call's question.
    Answer {
        /// The continuation of the paused turn.
        continuation: Continuation,
        /// The answer.
        answer: Answer,
    },
    /// Inputs of agents that wait. The others wait on.
    Children {
        /// The continuation of the paused turn.
        continuation: Continuation,
        /// At most one input for each call of the continuation, in any order.
        inputs: Vec<ChildInput>,
    },
    /// The results of external calls.
    SubmitToolResults {
        /// The continuation of the paused turn.
        continuation: Continuation,
        /// One result for each call of the continuation, in any order.
        results: Vec<SubmittedResult>,
    },
    /// Resume where the last turn ended.
    Continue,
}

/// The input of an agent that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildInput {
    /// The call of the agent.
    pub call_id: CallId,
    /// Decisions, an answer, results, or inputs of its own agents.
    pub input: AgentInput,
}

/// The result of an external call. Its JSON form has either the result union as `output`, or any
/// other value as `value`, which becomes text or JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Submitted")]
pub struct SubmittedResult {
    /// The call.
    pub call_id: CallId,
    /// The result.
    pub output: ToolResultOutput,
}

/// The JSON form of [`SubmittedResult`].
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Submitted {
    call_id: CallId,
    output: Option<ToolResultOutput>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

/// Deserializes a present value, including `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A submitted result with both or none of `output` and `value`.
#[derive(Debug, thiserror::Error)]
#[error("the result of call {call_id} needs exactly one of `output` and `value`")]
struct AmbiguousResult {
    call_id: CallId,
}

impl TryFrom<Submitted> for SubmittedResult {
    type Error = AmbiguousResult;

    fn try_from(form: Submitted) -> Result<Self, Self::Error> {
        let call_id = form.call_id;
        let output = match (form.output, form.value) {
            (Some(output), None) => output,
            (None, Some(value)) => ToolResultOutput::from_value(value),
            (Some(_), Some(_)) | (None, None) => {
                return Err(AmbiguousResult { call_id });
            }
        };
        Ok(Self { call_id, output })
    }
}

/// The report of a turn. In JSON the fields of `end` stand beside `summary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnReport {
    /// The end.
    #[serde(flatten)]
    pub end: TurnEnd,
    /// The figures of the turn and the session.
    pub summary: TurnSummary,
}

impl TurnReport {
    /// Returns the failed nodes of a workflow that ran to its end all the same, by id; `None` if no
    /// node failed, or the failure ended the run.
    #[must_use]
    pub fn failed_nodes(&self) -> Option<&BTreeMap<String, NodeFailure>> {
        let workflow = self.summary.workflow.as_ref()?;
        let is_done = matches!(self.end, TurnEnd::Done { .. });
        let has_failed = workflow.end == WorkflowEnd::Completed && !workflow.failed.is_empty();
        (is_done && has_failed).then_some(&workflow.failed)
    }
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TurnEnd {
    /// The turn left something to do: the model has not seen the results of its calls, or, if the
    /// turn was drained, calls have not run. Run the next turn with [`AgentInput::Continue`].
    NeedsMoreTurns,
    /// The model gave its answer.
    Done {
        /// The answer as text.
        text: String,
        /// The answer as a value, if `output_schema` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// The result that ended the run, if `until_tool` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
    },
    /// A tool ended the run (`agent:tool/control`), here or in an agent or a node.
    Halted {
        /// The message for the user.
        message: String,
    },
    /// A budget is used up. The session resumes with a larger one.
    BudgetExceeded {
        /// The budget.
        budget: Budget,
    },
    /// Calls need approval. Nothing of the batch has run.
    AwaitingConfirmation {
        /// Resumed with one decision per call.
        continuation: Continuation,
    },
    /// A call asks the user a question.
    AwaitingAnswer {
        /// Resumed with the answer.
        continuation: Continuation,
    },
    /// Calls are to run externally.
    PendingToolCalls {
        /// Resumed with the results.
        continuation: Continuation,
    },
    /// Agents wait for the user or for results from outside.
    AwaitingChildren {
        /// Resumed with inputs of the agents.
        continuation: Continuation,
    },
    /// The model declined to answer.
    Refusal {
        /// The model's text.
        text: String,
    },
    /// The turn was cancelled. Every started call has a result.
    Cancelled,
    /// The turn failed. Everything recorded before it is kept.
    Error {
        /// The reason.
        #[serde(serialize_with = "serialize_error")]
        #[schemars(with = "ErrorForm<'_>")]
        error: TurnError,
    },
}

/// The meaning of the end of a turn for its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunOutcome<'a> {
    /// Another turn follows with [`AgentInput::Continue`].
    Unfinished,
    /// The run waits for an input that names this continuation.
    Paused(&'a Continuation),
    /// Nothing follows by itself.
    Ended,
    /// The input was refused or the journal failed, so the decisions of the input do not count.
    Unrecorded(&'a TurnError),
}

/// The JSON form of the error of a turn.
#[derive(Serialize, JsonSchema)]
struct ErrorForm<'a> {
    #[serde(flatten)]
    error: &'a TurnError,
    /// Whether the run can succeed if it is continued as it is; see [`TurnError::is_recoverable`].
    recoverable: bool,
}

fn serialize_error<S: Serializer>(error: &TurnError, serializer: S) -> Result<S::Ok, S::Error> {
    let recoverable = error.is_recoverable();
    ErrorForm { error, recoverable }.serialize(serializer)
}

impl TurnError {
    /// Returns whether the run can succeed if it is continued as it is ([`AgentInput::Continue`]):
    /// the failure was one of the moment, and nothing needs to change first. A message that was
    /// refused, a full disk or a missing key is not recoverable.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        match self {
            Self::Model { error } => error.kind.is_transient(),
            // The reply was discarded; the model is asked again.
            Self::Hook { .. } => true,
            Self::ContextWindow { .. }
            | Self::Journal { .. }
            | Self::UntilToolNotCalled { .. }
            | Self::InvalidAnswer { .. }
            | Self::NoProgress { .. }
            | Self::Workflow { .. }
            | Self::Input { .. } => false,
        }
    }
}

impl TurnEnd {
    /// Returns what the end of the turn means for its run.
    #[must_use]
    pub fn run_outcome(&self) -> RunOutcome<'_> {
        match self {
            Self::NeedsMoreTurns => RunOutcome::Unfinished,
            Self::AwaitingConfirmation { continuation }
            | Self::AwaitingAnswer { continuation }
            | Self::PendingToolCalls { continuation }
            | Self::AwaitingChildren { continuation } => RunOutcome::Paused(continuation),
            Self::Error {
                error: error @ (TurnError::Input { .. } | TurnError::Journal { .. }),
            } => RunOutcome::Unrecorded(error),
            Self::Done { .. }
            | Self::Halted { .. }
            | Self::BudgetExceeded { .. }
            | Self::Refusal { .. }
            | Self::Cancelled
            | Self::Error { .. } => RunOutcome::Ended,
        }
    }

    /// Returns the handle of what the turn waits for; `None` if it does not wait.
    #[must_use]
    pub fn continuation(&self) -> Option<&Continuation> {
        match self.run_outcome() {
            RunOutcome::Paused(continuation) => Some(continuation),
            RunOutcome::Unfinished | RunOutcome::Ended | RunOutcome::Unrecorded(_) => None,
        }
    }

    /// Returns the `type` of the JSON form.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

/// The figures of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnSummary {
    /// The session.
    pub session: SessionId,
    /// The number of the turn's model call, from 1. A turn that ended before its model call has the
    /// number of the previous one, which is 0 in a new session.
    pub turn: u64,
    /// The model calls of the session so far.
    pub total_turns: u64,
    /// The tokens of this turn.
    pub turn_usage: Usage,
    /// The tokens of the session so far.
    pub total_usage: Usage,
    /// The model that replied.
    pub provenance: Provenance,
    /// The provider's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The calls that the model asked for in this turn.
    pub tool_calls: u64,
    /// The time from input to end, in milliseconds.
    pub duration_ms: u64,
    /// The runtime of the calls of this turn: external if any of them is.
    pub tool_runtime: ToolRuntime,
    /// How much of the turn a crash of the program can lose.
    #[serde(default)]
    pub durability: Durability,
    /// The agents that ended in this turn. Their tokens are part of the turn's and the session's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildSummary>,
    /// The run of a workflow that ended in this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowSummary>,
}

/// The figures of an agent's session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildSummary {
    /// The name of the agent.
    pub agent: String,
    /// The session.
    pub session: SessionId,
    /// The model calls.
    pub turns: u64,
    /// The tool calls that ran, those of its own agents included.
    pub tool_calls: u64,
    /// The tokens, those of its own agents included.
    pub usage: Usage,
}

/// How much of a turn a crash of the program can lose. Neither loses the user's message, nor what
/// an effectful call did.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The model's reply and the results of read-only calls, until the turn ends.
    #[default]
    Turn,
    /// Only what is running: a reply and each group of results are durable before anything follows.
    Strict,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum TurnError {
    /// The model call failed.
    #[error(transparent)]
    Model {
        /// The model's error.
        #[from]
        error: ModelError,
    },
    /// The conversation does not fit into the model's window, even after compaction.
    #[error(
        "context-window: {}; the largest part is {largest}, and the conversation cannot be shortened any further. \
         Use a model with a larger window and set `window-tokens` under [context] accordingly, or start a new \
         session and ask for less at once",
        misfit(*needed_tokens, *window_tokens, said.as_deref())
    )]
    ContextWindow {
        /// The size of the request, in estimated tokens.
        needed_tokens: u64,
        /// The model's window as configured, in tokens.
        window_tokens: u64,
        /// The largest part of the request, in words.
        largest: String,
        /// The provider's message, if it refused the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// The journal could not be written or read; the turn stopped there.
    #[error("{message}")]
    Journal {
        /// The journal's error.
        message: String,
    },
    /// The model stopped without calling a required tool.
    #[error(
        "until-tool-not-called: the model stopped without {}; send another message, or run without `until-tool`",
        list(tools)
    )]
    UntilToolNotCalled {
        /// The tools, one of which had to be called.
        tools: Vec<String>,
    },
    /// The model's answer does not fit the schema, even after one repair request.
    #[error(
        "the model's answer does not match the output schema: {message}; try another model, or a simpler schema"
    )]
    InvalidAnswer {
        /// The mismatch.
        message: String,
    },
    /// The program ended again and again during this turn, without a reply or a result in between.
    #[error(
        "no-progress: the program ended {resumes} times during this turn without a reply or a result in between; \
         find out why it ended, then send another message"
    )]
    NoProgress {
        /// The times that the turn was resumed.
        resumes: u64,
    },
    /// A node of a workflow failed, and the workflow with it.
    #[error("workflow-failed: the node `{node}` failed with {code}: {message}")]
    Workflow {
        /// The id of the node.
        node: String,
        /// The code of its failure.
        code: String,
        /// The text of its failure.
        message: String,
    },
    /// A hook could not judge a reply, which no one is shown therefore.
    #[error(
        "hook-failed: the hook `{hook}` gave no verdict about the model's reply, which is discarded: {message}"
    )]
    Hook {
        /// The hook.
        hook: String,
        /// Its failure.
        message: String,
    },
    /// The input does not fit the state of the session. Nothing ran or was recorded.
    #[error("{message}")]
    Input {
        /// The reason.
        message: String,
    },
}

/// Returns the message for a request that does not fit.
fn misfit(needed: u64, window: u64, said: Option<&str>) -> String {
    match said {
        None => {
            format!("the request needs about {needed} tokens, and the model's window has {window}")
        }
        Some(said) => format!(
            "the model rejected the request of about {needed} tokens as too long, although its window was assumed to \
             be {window} ({said})"
        ),
    }
}

/// Joins names for a sentence.
fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" or ")
}
