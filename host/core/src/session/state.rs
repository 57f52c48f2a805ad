//! The state of a session as a fold over its events. `apply` is the only thing that changes it.

use crate::{
    event::Event,
    id::CallId,
    message::{Message, ToolResult},
    model::Usage,
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

    /// The model calls since the person last said something.
    #[must_use]
    pub fn turns_since_input(&self) -> u64 {
        self.turns_since_input
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
            }
            Event::ModelRequested { .. } => {
                self.turns += 1;
                self.turns_since_input += 1;
            }
            Event::ModelReplied { reply, .. } => {
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
                }
                self.close_batch();
            }
            Event::StateMerged { .. } => {}
            Event::TurnEnded { outcome } => self.last_outcome = Some(outcome.clone()),
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
