//! The handle of a paused turn: what it waits for, bound to exactly the session, the turn and the calls, and signed.

use super::{Agent, End};
use crate::{
    id::{CallId, Digest, SessionId},
    message::ToolResult,
    model::Usage,
    question::Question,
    session::Session,
    tool::{DecisionKind, Effect},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The version of [`Continuation`]'s form.
pub const CONTINUATION_VERSION: u32 = 2;

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
    #[serde(default)]
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

impl Agent {
    /// The handle of what a session waits for, if it waits for anything.
    #[must_use]
    pub fn continuation(&self, session: &Session) -> Option<Continuation> {
        let open = session.state().open()?;
        let batch = session.state().batch().iter();
        let mut continuation = Continuation {
            version: CONTINUATION_VERSION,
            session: session.id(),
            turn: open.turn,
            request: open.request.clone(),
            awaiting: open.awaiting.clone(),
            completed: batch.filter_map(|entry| entry.result.clone()).collect(),
            usage: session.state().facts().usage,
            expires_at_ms: open.expires_at_ms,
            signature: Digest::of(&[]),
        };
        continuation.signature = self.key.sign(&continuation);
        Some(continuation)
    }

    /// The end of a turn that waits. What it waits for was recorded just before.
    pub(super) fn pause(&self, session: &Session) -> Option<End> {
        let continuation = self.continuation(session)?;
        Some(match continuation.awaiting {
            Awaiting::Confirm { .. } => End::AwaitingConfirmation { continuation },
            Awaiting::Answer { .. } => End::AwaitingAnswer { continuation },
            Awaiting::External { .. } => End::PendingToolCalls { continuation },
        })
    }
}

/// The key that continuations are signed with. Whoever has it can make one, so it stays with the host.
#[derive(Clone)]
pub struct ContinuationKey([u8; 32]);

impl ContinuationKey {
    /// A key for this process alone: what it signs is good until the process ends.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A key that was kept.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The signature of a continuation, over its JSON form with an empty signature.
    pub(super) fn sign(&self, continuation: &Continuation) -> Digest {
        let mut form = serde_json::json!(continuation);
        if let Value::Object(fields) = &mut form {
            fields.remove("signature");
        }
        let hash = blake3::keyed_hash(&self.0, form.to_string().as_bytes());
        Digest::from_bytes(*hash.as_bytes())
    }
}

impl fmt::Debug for ContinuationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContinuationKey(..)")
    }
}
