//! The state of a session as a fold over its events. `apply` is the only thing that changes it; it never fails and never
//! looks at anything but the event.

mod apply;
#[cfg(test)]
mod tests;

use super::{Spent, history::History};
use crate::context::{estimate::Measured, summary::Inputs};
use agent_host_types::{
    approval::{ApprovalRule, Decision},
    continuation::Awaiting,
    id::{CallId, Digest},
    message::{Message, Role, ToolResult},
    model::{Provenance, StopReason, Usage},
    output::ContentPart,
    question::{AnsweredBy, AnsweredQuestion},
    tool::{Effect, ToolCall},
    turn::TurnReport,
};
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc};

/// What follows from the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionState {
    system: Option<String>,
    /// The blob of the system prompt of the last request.
    system_blob: Option<Digest>,
    messages: History,
    /// The person's first message, which outlives every summary.
    first_input: Option<Message>,
    /// Their newest, if it is another one, and its place among the messages.
    last_input: Option<(Message, usize)>,
    /// What the provider counted for the last request.
    measured: Option<Measured>,
    turns: u64,
    spent: Spent,
    model_paused: bool,
    turn_stats: TurnStats,
    usage: Usage,
    batch: Vec<BatchCall>,
    open: Option<Open>,
    call_ids: HashSet<CallId>,
    last_report: Option<TurnReport>,
    remembered: Vec<ApprovalRule>,
    shared: Arc<Map<String, Value>>,
}

/// A call of the model's last message, while not all of that message's calls are answered.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCall {
    /// The call.
    pub call: ToolCall,
    /// What a person decided about it.
    pub decision: Option<Decision>,
    /// The effect with which it was about to run. With no result beside it, the run was interrupted.
    pub intended: Option<Effect>,
    /// Its result.
    pub result: Option<ToolResult>,
    /// What it asked in earlier runs, with the answers.
    pub answers: Vec<AnsweredQuestion>,
    /// The shared state when it first ran.
    pub(crate) shared: Option<Arc<Map<String, Value>>>,
    /// How the answer to its open question reaches it.
    pub(crate) asked: Option<AnsweredBy>,
    /// Whether it was handed outside.
    pub dispatched_externally: bool,
}

/// What the model's reply of the current turn told. It lasts while the turn is paused, so that a turn that resumes after a
/// decision sums up the same facts, and is empty between turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnStats {
    /// Who answered, or was asked and has not answered.
    pub(crate) provenance: Option<Provenance>,
    /// The tokens of the reply, and of what the reply took besides.
    pub(crate) usage: Usage,
    /// The tokens of summaries before the request.
    pub(crate) summaries: Usage,
    /// The provider's id of the reply.
    pub(crate) response_id: Option<String>,
    /// Why the model stopped.
    pub(crate) stop_reason: Option<StopReason>,
    /// How many calls it made.
    pub(crate) tool_calls: u64,
}

/// What the session waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Open {
    pub(crate) request: String,
    pub(crate) turn: u64,
    pub(crate) awaiting: Awaiting,
    pub(crate) expires_at_ms: Option<u64>,
}

impl SessionState {
    /// The standing instructions.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// The digest of the system prompt of the last request, which is stored as a blob.
    pub(crate) fn system_blob(&self) -> Option<Digest> {
        self.system_blob
    }

    /// The end of the conversation as the model is shown it: at least its last 1,024 messages, and all of a shorter one. Every call
    /// in it is answered; those of the open batch follow in [`Self::batch`].
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.messages.end()
    }

    /// How many messages the conversation has; a summary is one.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// The conversation as the model is shown it: old results may be references, and the beginning a summary. The older
    /// messages of a long one are kept as text, and read again here.
    ///
    /// # Errors
    /// When one of them cannot be read again, which no message that the loop records is known to do.
    pub fn all_messages(&self) -> Result<Vec<Message>, serde_json::Error> {
        self.messages.all()
    }

    /// How large a request is, in tokens: what the provider counted for the last one, and an estimate of what has changed since;
    /// where it did not count, an estimate of all. `saved` tokens of the conversation are not counted; `fixed` estimates
    /// what is not conversation.
    pub(crate) fn context_tokens(&self, saved: u64, fixed: impl FnOnce() -> u64) -> u64 {
        let messages = self.messages.tokens().saturating_sub(saved);
        match self.measured {
            Some(measured) => measured.now(messages),
            None => messages.saturating_add(fixed()),
        }
    }

    /// The person's messages that a summary leaves as they are.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            first: self.first_input.as_ref(),
            last: self.last_input.as_ref().map(|(last, at)| (last, *at)),
        }
    }

    /// The model calls of the session so far.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The approvals that the person does not want to give again in this session.
    #[must_use]
    pub fn remembered(&self) -> &[ApprovalRule] {
        &self.remembered
    }

    /// What was spent since the person last said something.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// What the calls of the session merged into its shared state so far: a JSON object.
    #[must_use]
    pub fn shared(&self) -> &Arc<Map<String, Value>> {
        &self.shared
    }

    /// Whether the provider paused the model's last reply: asking again continues it.
    #[must_use]
    pub fn model_paused(&self) -> bool {
        self.model_paused
    }

    /// What is known of the current turn.
    pub(crate) fn turn_stats(&self) -> &TurnStats {
        &self.turn_stats
    }

    /// The tokens of the session so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The text of the model's last message, possibly empty.
    #[must_use]
    pub fn last_assistant_text(&self) -> &str {
        let last = self
            .messages()
            .iter()
            .rfind(|message| message.role == Role::Assistant);
        let text = last.and_then(|message| {
            message.content.iter().find_map(|part| match part {
                ContentPart::Text { text } => Some(text.as_str()),
                ContentPart::File(_) => None,
            })
        });
        text.unwrap_or_default()
    }

    /// The calls of the model's last message, in its order; empty when all are answered.
    #[must_use]
    pub fn batch(&self) -> &[BatchCall] {
        &self.batch
    }

    /// How the last turn ended.
    #[must_use]
    pub fn last_report(&self) -> Option<&TurnReport> {
        self.last_report.as_ref()
    }

    /// Whether a call id was ever used in the session.
    #[must_use]
    pub fn knows_call(&self, id: &CallId) -> bool {
        self.call_ids.contains(id)
    }

    /// What the session waits for, if it does.
    pub(crate) fn open(&self) -> Option<&Open> {
        self.open.as_ref()
    }
}

impl BatchCall {
    /// The arguments that it runs with: the model's, or those that a person put in their place.
    #[must_use]
    pub fn effective_input(&self) -> Option<&Map<String, Value>> {
        match &self.decision {
            Some(Decision::Edit { input, .. }) => Some(input),
            None
            | Some(Decision::Approve { .. } | Decision::Reject { .. } | Decision::Respond { .. }) => {
                self.call.input.as_ref()
            }
        }
    }

    pub(crate) fn new(call: &ToolCall) -> Self {
        Self {
            call: call.clone(),
            decision: None,
            intended: None,
            result: None,
            answers: Vec::new(),
            shared: None,
            asked: None,
            dispatched_externally: false,
        }
    }
}
