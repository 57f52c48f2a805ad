//! The state of a session as a fold over its events. `apply` is the only thing that changes it; it never fails and never
//! looks at anything but the event.

#[cfg(test)]
mod tests;

use crate::{
    event::Event,
    id::CallId,
    message::{Message, ToolResult},
    model::{ModelReply, Provenance, StopReason, Usage},
    tool::{Effect, ToolCall},
    turn::{CONTINUATION_VERSION, Continuation, ContinuationKind, Decision, Outcome, PendingCall},
};
use std::collections::HashSet;

/// What follows from the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionState {
    system: Option<String>,
    messages: Vec<Message>,
    turns: u64,
    turns_since_input: u64,
    model_paused: bool,
    facts: TurnFacts,
    usage: Usage,
    batch: Vec<BatchCall>,
    open_request: Option<OpenRequest>,
    call_ids: HashSet<CallId>,
    last_outcome: Option<Outcome>,
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
}

/// What the model's reply of the current turn told. It lasts while the turn is paused, so that a turn that resumes after a
/// decision sums up the same facts, and is empty between turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnFacts {
    /// Who was asked.
    pub(crate) provenance: Option<Provenance>,
    /// The tokens of the reply.
    pub(crate) usage: Usage,
    /// The provider's id of the reply.
    pub(crate) response_id: Option<String>,
    /// Why the model stopped.
    pub(crate) stop_reason: Option<StopReason>,
    /// How many calls it made.
    pub(crate) tool_calls: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct OpenRequest {
    request: String,
    turn: u64,
    calls: Vec<PendingCall>,
}

impl SessionState {
    /// The standing instructions.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// The conversation. Every call in it is answered; those of the open batch follow in [`Self::batch`].
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The model calls of the session so far.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The model's replies since the person last said something. A model call that failed is not among them.
    #[must_use]
    pub fn turns_since_input(&self) -> u64 {
        self.turns_since_input
    }

    /// Whether the provider paused the model's last reply: asking again continues it.
    #[must_use]
    pub fn model_paused(&self) -> bool {
        self.model_paused
    }

    /// What is known of the current turn.
    pub(crate) fn facts(&self) -> &TurnFacts {
        &self.facts
    }

    /// The tokens of the session so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The calls of the model's last message, in its order; empty when all are answered.
    #[must_use]
    pub fn batch(&self) -> &[BatchCall] {
        &self.batch
    }

    /// How the last turn ended.
    #[must_use]
    pub fn last_outcome(&self) -> Option<&Outcome> {
        self.last_outcome.as_ref()
    }

    /// Whether a call id was ever used in the session.
    #[must_use]
    pub fn knows_call(&self, id: &CallId) -> bool {
        self.call_ids.contains(id)
    }

    /// The handle of the approval request that is open, if one is.
    #[must_use]
    pub fn continuation(&self, session: crate::id::SessionId) -> Option<Continuation> {
        self.open_request.as_ref().map(|open| Continuation {
            version: CONTINUATION_VERSION,
            kind: ContinuationKind::Confirm,
            session,
            turn: open.turn,
            request: open.request.clone(),
            calls: open.calls.clone(),
        })
    }

    /// Follows one event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { system, .. } => self.system.clone_from(system),
            Event::InputReceived { message } => {
                self.messages.push(message.clone());
                self.turns_since_input = 0;
                self.model_paused = false;
                self.facts = TurnFacts::default();
            }
            Event::ModelRequested { provenance, .. } => {
                self.turns += 1;
                self.facts = TurnFacts {
                    provenance: Some(provenance.clone()),
                    ..TurnFacts::default()
                };
            }
            Event::ModelReplied { reply, .. } => {
                self.turns_since_input += 1;
                self.model_paused = reply.stop_reason == Some(StopReason::PauseTurn);
                self.facts.learn(reply);
                self.usage += reply.usage;
                self.messages.push(reply.to_message());
                self.call_ids
                    .extend(reply.tool_calls.iter().map(|call| call.id.clone()));
                self.batch = reply.tool_calls.iter().map(BatchCall::new).collect();
            }
            Event::CallIntended {
                call_id, effect, ..
            } => {
                if let Some(entry) = self.entry(call_id) {
                    entry.intended = Some(*effect);
                }
            }
            Event::ApprovalRequested {
                request,
                turn,
                calls,
            } => {
                let open = OpenRequest {
                    request: request.clone(),
                    turn: *turn,
                    calls: calls.clone(),
                };
                self.open_request = Some(open);
            }
            Event::DecisionRecorded { decisions, .. } => {
                self.open_request = None;
                for decision in decisions {
                    if let Some(entry) = self.entry(decision.call_id()) {
                        entry.decision = Some(decision.clone());
                    }
                }
            }
            Event::CallSettled {
                call_id,
                tool,
                output,
                ..
            } => {
                if let Some(entry) = self.entry(call_id) {
                    let result = ToolResult {
                        call_id: call_id.clone(),
                        name: tool.clone(),
                        output: output.clone(),
                    };
                    entry.result = Some(result);
                    self.close_batch();
                }
            }
            Event::StateMerged { .. } => {}
            Event::TurnEnded { outcome } => {
                self.last_outcome = Some(outcome.clone());
                if self.batch.is_empty() {
                    self.facts = TurnFacts::default();
                }
            }
        }
    }

    fn entry(&mut self, id: &CallId) -> Option<&mut BatchCall> {
        self.batch.iter_mut().find(|entry| entry.call.id == *id)
    }

    /// When every call is answered, the results enter the conversation in the order of the calls.
    fn close_batch(&mut self) {
        if self.batch.iter().all(|entry| entry.result.is_some()) {
            let results: Vec<ToolResult> = self
                .batch
                .drain(..)
                .filter_map(|entry| entry.result)
                .collect();
            self.messages.push(Message::results(results));
            self.open_request = None;
        }
    }
}

impl TurnFacts {
    fn learn(&mut self, reply: &ModelReply) {
        self.usage = reply.usage;
        self.response_id.clone_from(&reply.response_id);
        self.stop_reason = reply.stop_reason;
        self.tool_calls = reply.tool_calls.len() as u64;
    }
}

impl BatchCall {
    fn new(call: &ToolCall) -> Self {
        Self {
            call: call.clone(),
            decision: None,
            intended: None,
            result: None,
        }
    }
}
