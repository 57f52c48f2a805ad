//! The events of a session: everything that ever happened in it, in order. All other views are readings of this list.

#[cfg(test)]
pub(crate) mod tests;

use crate::{
    accounting::{Accounting, AuditEntry},
    approval::{ApprovalRule, Decision, RememberScope},
    context::{CompactionStats, ReferencedResult},
    continuation::PendingCall,
    id::{CallId, Digest, SessionId},
    message::Message,
    model::{ModelReply, Provenance, Usage},
    output::{BlobRef, ToolResultOutput},
    question::{Answer, AnsweredBy, Question},
    tool::Effect,
    turn::TurnReport,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the JSON form below. It goes up when a field or a kind is added, so that an older program refuses what it
/// would lose.
pub const EVENT_VERSION: u32 = 1;

/// One event with its place in the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The version of the form, [`EVENT_VERSION`].
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// The place in the session, from 0, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The session began.
    SessionStarted {
        /// The version of the program that began it.
        program: String,
        /// The standing instructions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// The working folder, for people who look for a session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// The program whose loop it is, with its version, where that is a client's and not this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
        /// The call that started this session, where it is one of a nested agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentCall>,
    },
    /// The events before this one were copied from another session or another journal. What waited, ran or was allowed there
    /// does not wait, run or hold here; the calls that had no result are answered next.
    SessionForked {
        /// The session that they were copied from.
        from: SessionId,
        /// The place of the last of them.
        at: u64,
    },
    /// The person said something.
    InputReceived {
        /// What they said; files are blobs.
        message: Message,
        /// The sender, as the front end names it; absent for the user of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A model was asked.
    ModelRequested {
        /// The turn, from 1.
        turn: u64,
        /// Which model.
        provenance: Provenance,
        /// How many messages it was shown.
        messages: usize,
        /// How many tools it was offered.
        tools: usize,
        /// The digest of the request ([`crate::model::ModelRequest::digest`]).
        request_digest: Digest,
        /// The blob of the system prompt; absent where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<BlobRef>,
        /// How large the request is by estimate, in tokens. What the provider counted is in the reply; nobody is billed by this.
        estimated_tokens: u64,
    },
    /// Old results are too much for the model's window: it is shown references to them from now on.
    ResultsReferenced {
        /// What stands in their places, in the order of the conversation.
        results: Vec<ReferencedResult>,
        /// How large a request was and is.
        size: CompactionStats,
    },
    /// The older part of the conversation is too much for the model's window: it is shown a summary from now on, which the model
    /// wrote in a request of its own.
    HistorySummarised {
        /// How many messages it stands for, from the beginning of what the model was shown.
        messages: usize,
        /// The message in their place: the person's first message, the summary, and what they said last if that is among those.
        message: Message,
        /// Which model wrote it.
        provenance: Provenance,
        /// The tokens of that request.
        usage: Usage,
        /// From the request to the end of the summary, in milliseconds.
        duration_ms: u64,
        /// How large a request was and is.
        size: CompactionStats,
    },
    /// The model answered.
    ModelReplied {
        /// The turn.
        turn: u64,
        /// What it answered; each call id is unique in the session.
        reply: ModelReply,
        /// The tokens of replies to this request that were thrown away before.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        discarded: Usage,
        /// From the request to the end of the answer, in milliseconds.
        duration_ms: u64,
        /// The entry of a recording that this was written to or replayed from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tape: Option<String>,
    },
    /// A client that has a loop of its own asked for a call which does not run; why not is in what settles it. Of a call that runs
    /// `CallIntended` says the same.
    CallReceived {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments.
        input: Map<String, Value>,
    },
    /// A call is about to run.
    CallIntended {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments that it runs with; they differ from the model's where a person edited them.
        input: Map<String, Value>,
        /// The digest of the arguments' canonical JSON.
        input_digest: Digest,
        /// The effect that the policy went by.
        effect: Effect,
        /// The key that every attempt at this call carries.
        idempotency_key: String,
        /// The policy rule that allowed the call, or asked and was answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The calls that this one is nested in, outermost first; empty for a call of the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<CallId>,
    },
    /// Calls wait for a person. This is the continuation that a later decision consumes.
    ApprovalRequested {
        /// Names this request; a decision carries it.
        request: String,
        /// The turn.
        turn: u64,
        /// The place of the first of the calls in its batch, from 0.
        index: usize,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
        /// When it is too late to decide, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at_ms: Option<u64>,
    },
    /// A call ended a run with a question. Its answer consumes the request.
    QuestionAsked {
        /// Names this request.
        request: String,
        /// The turn.
        turn: u64,
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it asks.
        question: Question,
        /// How the answer reaches it.
        answered_by: AnsweredBy,
        /// What the run used.
        accounting: Accounting,
        /// What it asked of the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
    },
    /// A person does not want to be asked again about calls like one that they approved.
    ApprovalRemembered {
        /// Which calls.
        rule: ApprovalRule,
        /// How long.
        scope: RememberScope,
    },
    /// A remembered approval of this session holds no longer.
    ApprovalRevoked {
        /// Which.
        rule: ApprovalRule,
    },
    /// A person answered a question. Journaled durably before the call goes on.
    AnswerReceived {
        /// The request that it answers.
        request: String,
        /// The call.
        call_id: CallId,
        /// What they answered.
        answer: Answer,
        /// Who answered, as the front end names them; absent for the user of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The model's answer does not fit the schema that was asked for, and is sent back.
    RepairRequested {
        /// What the model reads.
        message: String,
    },
    /// Calls were handed outside. Their results consume the request.
    CallsDelegated {
        /// Names this request.
        request: String,
        /// The turn.
        turn: u64,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
    /// A person decided. Journaled durably before anything that it allows.
    DecisionRecorded {
        /// The request that it answers.
        request: String,
        /// One decision for each pending call, in order.
        decisions: Vec<Decision>,
        /// Who decided, as the front end names them, or [`EXPIRY`]; absent for the user of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call ended; the model hears of it only after this is durable.
    CallSettled {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it came to; bytes are blobs.
        output: ToolResultOutput,
        /// What it used.
        accounting: Accounting,
        /// What it asked of the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
        /// The policy rule that denied the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The calls that this one is nested in, outermost first; empty for a call of the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<CallId>,
        /// The labels of the output for information flow control.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
        /// The entry of a recording that this was written to or replayed from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tape: Option<String>,
    },
    /// A call's change to the session's state was applied.
    StateMerged {
        /// The call.
        call_id: CallId,
        /// The change: a JSON object that is merged deeply.
        delta: Map<String, Value>,
    },
    /// A turn ended.
    TurnEnded {
        /// How.
        outcome: TurnReport,
    },
}

/// The `by` of decisions that the host made because no one decided in time.
pub const EXPIRY: &str = "expiry";

/// A call of another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    /// The other session.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
}

/// An error of reading a stored event. The texts follow "event 3 of the session".
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// Written by another version of the program.
    #[error(
        "has version {0} and this program knows versions up to {EVENT_VERSION}; use the agent-host that wrote it, probably a newer one"
    )]
    Newer(u32),
    /// Not in the form that this version writes.
    #[error("is not in the form that was written ({0})")]
    Form(#[from] serde_json::Error),
}

impl Event {
    /// Reads the JSON form that a program of version `v` wrote.
    ///
    /// # Errors
    /// See [`EventError`].
    pub fn from_stored(v: u32, json: &[u8]) -> Result<Self, EventError> {
        match v {
            0..=EVENT_VERSION => Ok(serde_json::from_slice(json)?),
            _ => Err(EventError::Newer(v)),
        }
    }
}
