//! The handle of a paused turn, bound by a signature to the session, the turn and the calls.

#[cfg(test)]
mod tests;

use crate::{
    flow::ArgumentSources,
    id::{CallId, Digest, SessionId},
    message::ToolResult,
    model::Usage,
    question::Question,
    tool::{DecisionKind, Effect},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The version of [`Continuation`]'s form.
pub const CONTINUATION_VERSION: u32 = 1;

/// The handle of a paused turn: the waiting request, for display, and a signature that binds the
/// response to exactly that request. Valid once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// The version of the form.
    pub version: u32,
    /// The session.
    pub session: SessionId,
    /// The paused turn.
    pub turn: u64,
    /// The name of the request in the journal.
    pub request: String,
    /// The input that the turn waits for.
    pub awaiting: Awaiting,
    /// The results of the batch so far, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<ToolResult>,
    /// The tokens of the turn; resuming it calls no model.
    pub usage: Usage,
    /// The expiry, in milliseconds since 1970; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// The keyed hash over all other fields.
    pub signature: Digest,
}

/// The input that a paused turn waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum Awaiting {
    /// Decisions about calls.
    Confirm {
        /// The position of the first of them in its batch, from 0.
        index: usize,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
    /// The answer to a call's question.
    Answer {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The question.
        question: Question,
    },
    /// The results of external calls.
    External {
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
    /// Inputs of the agents of these calls.
    Children {
        /// The calls, in the model's order.
        children: Vec<WaitingChild>,
    },
}

/// A call whose agent waits for the user or for results from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingChild {
    /// The call.
    pub call_id: CallId,
    /// The name of the agent.
    pub agent: String,
    /// The source, if a program waits and not an agent, for display before an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The handle of the paused turn of its session.
    pub continuation: Continuation,
}

/// A waiting call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingCall {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The tool's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool's description of itself, in one line of at most 300 bytes; empty in requests of
    /// version 5 and older.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The tool's effect, as the policy sees it.
    pub effect: Effect,
    /// The exact arguments of the run.
    pub input: Arc<Map<String, Value>>,
    /// The model's arguments, if the user replaced them by `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_input: Option<Arc<Map<String, Value>>>,
    /// The digest of `input`, which binds the approval to it.
    pub input_digest: Digest,
    /// The files that run, now or later, which `input` names and the call may rewrite, by the tool's
    /// paths. Other writes are known only when the call runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executables: Vec<String>,
    /// The tool as it was at the request ([`RegisteredTool::identity`]); absent in requests of
    /// version 2 and older.
    ///
    /// [`RegisteredTool::identity`]: crate::tool::RegisteredTool::identity
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Digest>,
    /// The untrusted sources of its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ArgumentSources>,
    /// The rule that requires approval; for an external call, the rule that allows it.
    pub rule: String,
    /// The allowed decisions.
    pub decisions: Vec<DecisionKind>,
}

impl PendingCall {
    /// Returns whether a remembered approval would answer this question the next time. That of a
    /// hook, and that about the sources of a call's arguments, is asked anew for each call.
    #[must_use]
    pub fn is_rememberable(&self) -> bool {
        !["hook.", "flow."]
            .iter()
            .any(|asks| self.rule.starts_with(asks))
    }
}

impl Awaiting {
    /// Returns the kind's name, as in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

impl Continuation {
    /// Returns the waiting calls; none if a question is open.
    #[must_use]
    pub fn calls(&self) -> &[PendingCall] {
        match &self.awaiting {
            Awaiting::Confirm { calls, .. } | Awaiting::External { calls } => calls,
            Awaiting::Answer { .. } | Awaiting::Children { .. } => &[],
        }
    }

    /// Returns the requests that an input from outside answers, those of agents in place of their
    /// calls, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<&Self> {
        match &self.awaiting {
            Awaiting::Confirm { .. } | Awaiting::Answer { .. } | Awaiting::External { .. } => {
                vec![self]
            }
            Awaiting::Children { children } => {
                let requests = children.iter().map(|child| child.continuation.requests());
                requests.flatten().collect()
            }
        }
    }

    /// Returns the time at which the first of its requests expires, in milliseconds since 1970;
    /// `None` if none does.
    #[must_use]
    pub fn first_expiry_ms(&self) -> Option<u64> {
        let requests = self.requests().into_iter();
        requests.filter_map(|request| request.expires_at_ms).min()
    }
}
