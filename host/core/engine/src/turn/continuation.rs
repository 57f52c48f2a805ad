//! Makes and signs the handle of a paused turn.

use super::Agent;
use crate::session::Session;
use agent_host_types::{
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation},
    id::{CallId, Digest, SessionId},
    turn::TurnEnd,
};
use serde_json::Value;
use std::{collections::HashMap, fmt, sync::Arc};

impl Agent {
    /// Returns the handle of the open request, if there is one.
    #[must_use]
    pub fn continuation(&self, session: &Session) -> Option<Continuation> {
        let open = session.state().open.as_ref()?;
        let batch = session.state().batch().iter();
        let mut continuation = Continuation {
            version: CONTINUATION_VERSION,
            session: session.id(),
            turn: open.turn,
            request: open.request.clone(),
            awaiting: open.awaiting.clone(),
            completed: batch.filter_map(|entry| entry.result.clone()).collect(),
            usage: session.state().turn_stats.usage,
            expires_at_ms: open.expires_at_ms,
            signature: Digest::of(&[]),
        };
        continuation.signature = self.key.sign(&continuation);
        Some(continuation)
    }

    /// Returns the end of a turn whose open request was just recorded.
    pub(super) fn pause(&self, session: &Session) -> Option<TurnEnd> {
        let continuation = self.continuation(session)?;
        Some(match continuation.awaiting {
            Awaiting::Confirm { .. } => TurnEnd::AwaitingConfirmation { continuation },
            Awaiting::Answer { .. } => TurnEnd::AwaitingAnswer { continuation },
            Awaiting::External { .. } => TurnEnd::PendingToolCalls { continuation },
            Awaiting::Children { .. } => TurnEnd::AwaitingChildren { continuation },
        })
    }
}

/// The key that signs continuations. Its holder can forge one, so it stays with the host.
#[derive(Clone)]
pub struct ContinuationKey {
    bytes: [u8; 32],
    /// The values that another key made, for the replay of a recorded session.
    recorded: Option<Arc<RecordedKey>>,
}

/// The values that the key of a recorded session made. A replay has the recorded value for the same
/// input, and that of its own key for any other.
#[derive(Debug, Default)]
pub(crate) struct RecordedKey {
    /// The sessions of agents, by the session and the call that started them.
    pub(crate) children: HashMap<(SessionId, CallId), SessionId>,
    /// The signatures of continuations, by the digest of what is signed.
    pub(crate) signatures: HashMap<Digest, Digest>,
}

impl RecordedKey {
    /// Adds a continuation, with those of its agents.
    pub(crate) fn add(&mut self, continuation: &Continuation) {
        self.signatures
            .insert(signed_form(continuation).1, continuation.signature);
        if let Awaiting::Children { children } = &continuation.awaiting {
            children
                .iter()
                .for_each(|child| self.add(&child.continuation));
        }
    }
}

/// Returns what is signed of a continuation, its JSON form without the signature, with its digest.
fn signed_form(continuation: &Continuation) -> (String, Digest) {
    let mut form = serde_json::json!(continuation);
    if let Value::Object(fields) = &mut form {
        fields.remove("signature");
    }
    let form = form.to_string();
    let digest = Digest::of(form.as_bytes());
    (form, digest)
}

impl ContinuationKey {
    /// Creates a key that is valid until the process ends.
    ///
    /// # Errors
    /// When the system provides no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self::new(bytes))
    }

    /// Wraps a stored key.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self {
            bytes,
            recorded: None,
        }
    }

    /// Makes a key that repeats what another one made.
    pub(crate) fn recorded(recorded: RecordedKey) -> Self {
        Self {
            bytes: [0; 32],
            recorded: Some(Arc::new(recorded)),
        }
    }

    /// Returns the id of the session of a call's agent: the same after a crash, and no one without
    /// the key can choose a call id whose session is another one.
    pub(super) fn child(&self, parent: SessionId, call_id: &CallId) -> SessionId {
        if let Some(recorded) = &self.recorded
            && let Some(child) = recorded.children.get(&(parent, call_id.clone()))
        {
            return *child;
        }
        let form = serde_json::json!([parent, call_id]).to_string();
        let hash = blake3::keyed_hash(&self.bytes, form.as_bytes());
        SessionId::from_hash(*hash.as_bytes())
    }

    /// Signs a continuation: hashes its JSON form without the signature.
    pub(super) fn sign(&self, continuation: &Continuation) -> Digest {
        let (form, digest) = signed_form(continuation);
        if let Some(recorded) = &self.recorded
            && let Some(signature) = recorded.signatures.get(&digest)
        {
            return *signature;
        }
        let hash = blake3::keyed_hash(&self.bytes, form.as_bytes());
        Digest::from_bytes(*hash.as_bytes())
    }
}

impl fmt::Debug for ContinuationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContinuationKey(..)")
    }
}
