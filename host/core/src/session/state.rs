//! The state of a session as a fold over its events. `apply` is the only thing that changes it; it never fails and never
//! looks at anything but the event.

#[cfg(test)]
mod tests;

use super::{Spent, history::History};
use crate::{
    event::Event,
    id::CallId,
    message::{Message, Role, ToolResult},
    model::{ModelReply, Provenance, StopReason, Usage},
    output::ContentPart,
    policy::{ApprovalRule, RememberScope},
    question::{AnsweredBy, Exchange},
    tool::{Effect, ToolCall},
    turn::{Awaiting, Decision, Outcome},
};
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc};

/// What follows from the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionState {
    system: Option<String>,
    messages: History,
    turns: u64,
    spent: Spent,
    model_paused: bool,
    facts: TurnFacts,
    usage: Usage,
    batch: Vec<BatchCall>,
    open: Option<Open>,
    call_ids: HashSet<CallId>,
    last_outcome: Option<Outcome>,
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
    pub answers: Vec<Exchange>,
    /// The shared state when it first ran.
    pub(crate) shared: Option<Arc<Map<String, Value>>>,
    /// How the answer to its open question reaches it.
    pub(crate) asked: Option<AnsweredBy>,
    /// Whether it was handed outside.
    pub delegated: bool,
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

    /// The end of the conversation: at least its last 1,024 messages, and all of a shorter one. Every call in it is answered;
    /// those of the open batch follow in [`Self::batch`].
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.messages.end()
    }

    /// How many messages the conversation has.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// The whole conversation. The older messages of a long one are kept as text, and read again here.
    ///
    /// # Errors
    /// When one of them cannot be read again, which no message that the loop records is known to do.
    pub fn all_messages(&self) -> Result<Vec<Message>, serde_json::Error> {
        self.messages.all()
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
    pub(crate) fn facts(&self) -> &TurnFacts {
        &self.facts
    }

    /// The tokens of the session so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The text of the model's last message, possibly empty.
    #[must_use]
    pub fn last_words(&self) -> &str {
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
    pub fn last_outcome(&self) -> Option<&Outcome> {
        self.last_outcome.as_ref()
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

    /// Follows one event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { system, .. } => self.system.clone_from(system),
            Event::SessionForked { .. } => {
                self.open = None;
                self.remembered.clear();
            }
            Event::InputReceived { message } => {
                self.messages.push(message.clone());
                self.spent = Spent::default();
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
                self.spent.turns += 1;
                self.spent.usage += reply.usage;
                self.model_paused = reply.stop_reason == Some(StopReason::PauseTurn);
                self.facts.learn(reply);
                self.usage += reply.usage;
                self.messages.push(reply.to_message());
                self.call_ids
                    .extend(reply.tool_calls.iter().map(|call| call.id.clone()));
                self.batch = reply.tool_calls.iter().map(BatchCall::new).collect();
            }
            Event::CallIntended {
                call_id,
                tool,
                input_digest,
                effect,
                ..
            } => {
                let shared = Arc::clone(&self.shared);
                if let Some(entry) = self.entry(call_id) {
                    entry.intended = Some(*effect);
                    if entry.shared.is_none() {
                        entry.shared = Some(shared);
                        self.spent.call(tool, *input_digest);
                    }
                }
            }
            Event::ApprovalRequested {
                request,
                turn,
                index,
                calls,
                expires_at_ms,
            } => {
                let calls = calls.clone();
                let awaiting = Awaiting::Confirm {
                    index: *index,
                    calls,
                };
                self.wait(request, *turn, awaiting, *expires_at_ms);
            }
            Event::QuestionAsked {
                request,
                turn,
                call_id,
                tool,
                question,
                answered_by,
                ..
            } => {
                if let Some(entry) = self.entry(call_id) {
                    entry.asked = Some(*answered_by);
                    // The run ended without an effect, so it is no interrupted one.
                    entry.intended = None;
                }
                let awaiting = Awaiting::Answer {
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    question: question.clone(),
                };
                self.wait(request, *turn, awaiting, None);
            }
            Event::AnswerReceived {
                call_id, answer, ..
            } => {
                let open = self.open.take();
                if let Some(Awaiting::Answer { question, .. }) = open.map(|open| open.awaiting)
                    && let Some(entry) = self.entry(call_id)
                {
                    entry.answers.push(Exchange {
                        question,
                        answer: answer.clone(),
                    });
                }
            }
            Event::CallsDelegated {
                request,
                turn,
                calls,
            } => {
                for call in calls {
                    if let Some(entry) = self.entry(&call.call_id) {
                        entry.delegated = true;
                    }
                }
                let calls = calls.clone();
                self.wait(request, *turn, Awaiting::External { calls }, None);
            }
            Event::DecisionRecorded { decisions, .. } => {
                self.open = None;
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
            Event::RepairRequested { message } => {
                self.messages.push(Message::text(Role::User, message));
                self.spent.repairs += 1;
            }
            Event::ApprovalRemembered { rule, scope } => match scope {
                RememberScope::Session if !self.remembered.contains(rule) => {
                    self.remembered.push(rule.clone());
                }
                RememberScope::Session | RememberScope::Project => {}
            },
            Event::ApprovalRevoked { rule } => self.remembered.retain(|kept| kept != rule),
            Event::StateMerged { delta, .. } => merge(Arc::make_mut(&mut self.shared), delta),
            Event::TurnEnded { outcome } => {
                self.last_outcome = Some(outcome.clone());
                let took = outcome.summary().map_or(0, |summary| summary.duration_ms);
                self.spent.wall_ms = self.spent.wall_ms.saturating_add(took);
                if self.batch.is_empty() {
                    self.facts = TurnFacts::default();
                }
            }
        }
    }

    fn wait(&mut self, request: &str, turn: u64, awaiting: Awaiting, expires_at_ms: Option<u64>) {
        self.open = Some(Open {
            request: request.to_owned(),
            turn,
            awaiting,
            expires_at_ms,
        });
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
            self.open = None;
        }
    }
}

/// Merges a change into the shared state: objects deeply, everything else by the new value in the old one's place.
fn merge(state: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (key, new) in delta {
        match (state.get_mut(key), new) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(old), new) => old.clone_from(new),
            (None, new) => {
                state.insert(key.clone(), new.clone());
            }
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

    fn new(call: &ToolCall) -> Self {
        Self {
            call: call.clone(),
            decision: None,
            intended: None,
            result: None,
            answers: Vec::new(),
            shared: None,
            asked: None,
            delegated: false,
        }
    }
}
