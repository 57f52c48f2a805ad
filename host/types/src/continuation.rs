//! The handle of a paused turn: what it waits for, bound to exactly the session, the turn and the calls, and signed.

#[cfg(test)]
mod tests;

use crate::{
    id::{CallId, Digest, SessionId},
    message::ToolResult,
    model::Usage,
    question::Question,
    tool::{DecisionKind, Effect},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of [`Continuation`]'s form.
pub const CONTINUATION_VERSION: u32 = 1;

/// The handle of a paused turn. It carries what somebody needs to see in order to go on, and what binds the answer to exactly
/// that. Each is used once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// The version of the form.
    pub version: u32,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The turn that it pauses.
    pub turn: u64,
    /// The request in the journal.
    pub request: String,
    /// What it waits for.
    pub awaiting: Awaiting,
    /// The results that calls of the same batch already have, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<ToolResult>,
    /// The tokens of the turn; going on asks no model.
    pub usage: Usage,
    /// When it is too late, in milliseconds since 1970; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// The keyed hash over all of the above.
    pub signature: Digest,
}

/// What a paused turn waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Awaiting {
    /// A person confirms calls.
    Confirm {
        /// The place of the first of them in its batch, from 0.
        index: usize,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
    /// A person answers a call's question.
    Answer {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it asks.
        question: Question,
    },
    /// Somebody outside runs calls and submits their results.
    External {
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
}

/// A call that waits.
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
    /// What the model asked for, where a person put `input` in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_input: Option<Map<String, Value>>,
    /// The digest of `input`: what is approved is what runs.
    pub input_digest: Digest,
    /// The executable files that `input` names and the call may rewrite, by the tool's paths. What it writes otherwise is known
    /// only when it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executables: Vec<String>,
    /// The rule that asks; of a call that runs outside, the one that allows it.
    pub rule: String,
    /// What a person may decide about it.
    pub decisions: Vec<DecisionKind>,
}

impl Awaiting {
    /// The kind's name, as in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Confirm { .. } => "confirm",
            Self::Answer { .. } => "answer",
            Self::External { .. } => "external",
        }
    }
}

impl Continuation {
    /// The calls that wait; none where a question does.
    #[must_use]
    pub fn calls(&self) -> &[PendingCall] {
        match &self.awaiting {
            Awaiting::Confirm { calls, .. } | Awaiting::External { calls } => calls,
            Awaiting::Answer { .. } => &[],
        }
    }
}
