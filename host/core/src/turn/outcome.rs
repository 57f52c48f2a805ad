//! What goes into a turn and what comes out.

use crate::{
    id::{CallId, Digest, SessionId},
    message::Message,
    model::{ModelError, Provenance, StopReason, Usage},
    tool::Effect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What starts a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentInput {
    /// The person said something.
    Text(String),
    /// The person said something with files in it.
    Message(Message),
    /// Decisions about the calls that wait.
    Resume {
        /// What the earlier turn returned.
        continuation: Continuation,
        /// One decision for each call of the continuation, in order.
        decisions: Vec<Decision>,
    },
    /// Go on where the last turn ended.
    Continue,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Outcome {
    /// Tools ran; the model has yet to hear of it. Run another turn with [`AgentInput::Continue`].
    NeedsMoreTurns {
        /// Facts of the turn.
        summary: TurnSummary,
    },
    /// The model gave its answer.
    Done {
        /// Facts of the turn.
        summary: TurnSummary,
        /// The answer.
        text: String,
    },
    /// A budget is used up. With a larger one the session can go on.
    BudgetExceeded {
        /// Facts of the turn.
        summary: TurnSummary,
        /// Which one.
        budget: Budget,
    },
    /// Calls wait for a person. Nothing of the batch has run.
    AwaitingConfirmation {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What to resume with.
        continuation: Continuation,
    },
    /// The model declined to answer.
    Refusal {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What it said.
        text: String,
    },
    /// The turn was stopped from outside. Every call that had begun is answered.
    Cancelled {
        /// Facts of the turn.
        summary: TurnSummary,
    },
    /// The turn failed. What happened before is kept.
    Error {
        /// Why.
        error: TurnError,
    },
}

impl Outcome {
    /// The facts of the turn; every outcome but `Error` has them.
    #[must_use]
    pub fn summary(&self) -> Option<&TurnSummary> {
        match self {
            Self::NeedsMoreTurns { summary }
            | Self::Done { summary, .. }
            | Self::BudgetExceeded { summary, .. }
            | Self::AwaitingConfirmation { summary, .. }
            | Self::Refusal { summary, .. }
            | Self::Cancelled { summary } => Some(summary),
            Self::Error { .. } => None,
        }
    }
}

/// Facts of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// The session.
    pub session: SessionId,
    /// The turn: the number of its model call, from 1. A turn that ended before its model call has the number of the last
    /// one, which is 0 in a new session.
    pub turn: u64,
    /// The turns of the session so far.
    pub total_turns: u64,
    /// The tokens of this turn.
    pub turn_usage: Usage,
    /// The tokens of the session so far.
    pub total_usage: Usage,
    /// Which model answered.
    pub provenance: Provenance,
    /// The provider's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The calls that the model asked for in this turn.
    pub tool_calls: u64,
    /// From input to outcome, in milliseconds.
    pub duration_ms: u64,
    /// Where the tools run.
    pub tool_runtime: ToolRuntime,
}

/// Where the tools of an agent run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolRuntime {
    /// In this process, behind [`crate::tool::ToolRunner`].
    Host,
}

/// Which budget ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Budget {
    /// The model's replies since the last message of the person.
    Turns {
        /// How many are allowed.
        limit: u64,
    },
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum TurnError {
    /// The model did not answer.
    #[error("{error}")]
    Model {
        /// Why.
        error: ModelError,
    },
    /// The journal could not be written or read; nothing further was done.
    #[error("{message}")]
    Journal {
        /// Why.
        message: String,
    },
    /// The input does not fit the state of the session. Nothing ran, and the session is as it was.
    #[error("{message}")]
    Input {
        /// Why.
        message: String,
    },
}

/// The version of [`Continuation`]'s form.
pub const CONTINUATION_VERSION: u32 = 1;

/// What kind of decision a continuation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContinuationKind {
    /// A person confirms calls.
    Confirm,
}

/// The handle of a paused turn. It carries what a person needs to see in order to decide, and what binds the decision to
/// exactly those calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// The version of the form.
    pub version: u32,
    /// What it waits for.
    pub kind: ContinuationKind,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The turn that it pauses.
    pub turn: u64,
    /// The request in the journal. Each is consumed once.
    pub request: String,
    /// The calls that wait, in the model's order.
    pub calls: Vec<PendingCall>,
}

/// A call that waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingCall {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The tool's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool's effect, as the policy sees it.
    pub effect: Effect,
    /// Exactly what will run.
    pub input: Map<String, Value>,
    /// The digest of `input`: what is approved is what runs.
    pub input_digest: Digest,
    /// The rule that asks.
    pub rule: String,
}

/// What a person decided about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Run it as it is.
    Approve {
        /// The call.
        call_id: CallId,
    },
    /// Run it with other arguments.
    Edit {
        /// The call.
        call_id: CallId,
        /// The arguments to run with.
        input: Map<String, Value>,
    },
    /// Do not run it.
    Reject {
        /// The call.
        call_id: CallId,
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Do not run it; this is its result.
    Respond {
        /// The call.
        call_id: CallId,
        /// The person's own words.
        text: String,
    },
}

impl Decision {
    /// The call that it is about.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Approve { call_id }
            | Self::Edit { call_id, .. }
            | Self::Reject { call_id, .. }
            | Self::Respond { call_id, .. } => call_id,
        }
    }
}
