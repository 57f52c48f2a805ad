//! A response as the journal has it: what the model wrote and called in a run, and how it ended.
//!
//! A run that waits for the user continues with the answer, as the same response. A message, or the
//! results of the client's functions, begin another one.

use super::{error::ApiError, ids::RunId};
use crate::{Service, once::Began};
use agent_host_engine::text::escape_line;
use agent_host_types::{
    continuation::{Awaiting, Continuation},
    event::{Event, EventRecord},
    id::CallId,
    model::{StopReason, Usage},
    turn::{TurnEnd, TurnError},
};
use serde_json::{Map, Value, json};

/// The key of the fields of a request that its response repeats, in the metadata of the message.
pub(super) const NOTE: &str = "agent-host";

/// A piece of a response, in the order of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ResponseItem {
    /// The reasoning that the model shows.
    Reasoning(String),
    /// The text of one reply, or that of the host in its place.
    Message {
        text: String,
        /// Whether calls follow it.
        is_commentary: bool,
    },
    /// A call that the client runs.
    Call {
        call_id: CallId,
        name: String,
        arguments: String,
    },
}

/// The state of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseState {
    /// It runs, or was interrupted.
    Open,
    /// It has its answer, or calls for the client.
    Completed,
    /// It waits for the user.
    Waiting,
    /// It ended at a bound: a budget, or the length of a reply.
    Length,
    /// The model declined to answer.
    Refused,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

/// A response.
#[derive(Clone, Debug)]
pub(super) struct ResponseOutcome {
    pub(super) run: RunId,
    pub(super) items: Vec<ResponseItem>,
    /// The agent of the session.
    pub(super) agent: Option<String>,
    /// The fields of the request that the response repeats.
    pub(super) note: Map<String, Value>,
    /// The end of its last turn, unless another one runs.
    end: Option<TurnEnd>,
    stop_reason: Option<StopReason>,
    /// The time of its first event, in milliseconds since 1970.
    created_ms: u64,
    /// The tokens of the session before and after it.
    usage: [Usage; 2],
    turns: u64,
    /// Whether nothing more belongs to it.
    is_over: bool,
    /// Whether the session has gone on behind it.
    pub(super) has_successor: bool,
}

impl ResponseOutcome {
    /// Creates the outcome of a run, whose events follow.
    fn new(run: RunId) -> Self {
        Self {
            run,
            items: Vec::new(),
            agent: None,
            note: Map::new(),
            end: None,
            stop_reason: None,
            created_ms: 0,
            usage: [Usage::default(); 2],
            turns: 0,
            is_over: false,
            has_successor: false,
        }
    }

    /// Creates the outcome of a run that has begun, without its events. `before` are the tokens of
    /// its session until then.
    pub(super) async fn begin(
        service: &Service,
        run: RunId,
        agent: Option<String>,
        before: Usage,
    ) -> Result<Self, ApiError> {
        let first = service.store().read(run.session, run.seq).await?;
        Ok(Self {
            agent,
            usage: [before; 2],
            created_ms: first.first().map_or(0, |record| record.at_ms),
            ..Self::new(run)
        })
    }

    /// Reads a response; `None` if the run of a session begins nowhere there. Of the other runs of
    /// its session, only the ends beside it are read.
    pub(super) async fn read(service: &Service, run: RunId) -> Result<Option<Self>, ApiError> {
        let store = service.store();
        let RunId { session, seq } = run;
        let is_of_turn = |event: &Event| !event.is_between_turns();
        let before = store.last_record(session, seq, seq, is_of_turn).await?;
        let mut outcome = Self::new(run);
        let ended = match before {
            // A copy adds its tokens to those of the original.
            Some(before) if matches!(before.event, Event::SessionForked { .. }) => {
                let is_end = |event: &Event| matches!(event, Event::TurnEnded { .. });
                store.last_record(session, seq, seq, is_end).await?
            }
            before => before,
        };
        match ended.map(|ended| ended.event) {
            None => {}
            Some(Event::TurnEnded { outcome: end, .. }) => {
                outcome.usage = [end.summary.total_usage; 2];
            }
            Some(_) => return Ok(None),
        }
        let mut next = seq;
        while !outcome.has_successor {
            let page = store.read(session, next).await?;
            let Some(last) = page.last() else {
                break;
            };
            next = last.seq.saturating_add(1);
            page.iter().for_each(|record| outcome.add(record));
        }
        if next == seq {
            return Ok(None);
        }
        if outcome.agent.is_none() {
            // A session stays with its agent.
            let began = Began::read(store, session).await?;
            outcome.agent = began.and_then(|began| began.arguments.agent);
        }
        Ok(Some(outcome))
    }

    /// Adds the next event of the session.
    pub(super) fn add(&mut self, record: &EventRecord) {
        if self.is_over {
            self.has_successor |= !record.event.is_between_turns();
            return;
        }
        if self.created_ms == 0 {
            self.created_ms = record.at_ms;
        }
        match &record.event {
            Event::RunConfigured { arguments } => self.agent.clone_from(&arguments.agent),
            Event::InputReceived { .. } if self.turns > 0 => {
                (self.is_over, self.has_successor) = (true, true);
            }
            Event::InputReceived { message, .. } => {
                let note = message.metadata.get(NOTE).and_then(Value::as_object);
                self.note = note.cloned().unwrap_or_default();
            }
            Event::ModelRequested { .. }
            | Event::DecisionRecorded { .. }
            | Event::AnswerReceived { .. } => self.end = None,
            Event::ModelReplied { reply, .. } => {
                if !reply.reasoning.trim().is_empty() {
                    self.items
                        .push(ResponseItem::Reasoning(reply.reasoning.clone()));
                }
                self.say(&reply.text, !reply.tool_calls.is_empty());
            }
            Event::RepairRequested { .. } => self.void_answer(),
            Event::TurnEnded { outcome, .. } => {
                self.turns += 1;
                self.usage[1] = outcome.summary.total_usage;
                self.stop_reason = outcome.summary.stop_reason;
                self.end_turn(&outcome.end);
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str, is_commentary: bool) {
        if !text.trim().is_empty() {
            self.items.push(ResponseItem::Message {
                text: text.to_owned(),
                is_commentary,
            });
        }
    }

    /// Removes the answer that was sent back to the model, unless it was empty and added no item.
    fn void_answer(&mut self) {
        let is_answer = |item: &ResponseItem| {
            matches!(
                item,
                ResponseItem::Message {
                    is_commentary: false,
                    ..
                }
            )
        };
        if self.items.last().is_some_and(is_answer) {
            self.items.pop();
        }
    }

    fn end_turn(&mut self, end: &TurnEnd) {
        self.end = Some(end.clone());
        self.is_over = true;
        match end {
            TurnEnd::NeedsMoreTurns => (self.end, self.is_over) = (None, false),
            TurnEnd::AwaitingConfirmation { .. }
            | TurnEnd::AwaitingAnswer { .. }
            | TurnEnd::AwaitingChildren { .. } => self.is_over = false,
            TurnEnd::PendingToolCalls { continuation } => {
                let calls = continuation.calls().iter().map(|call| ResponseItem::Call {
                    call_id: call.call_id.clone(),
                    name: call.tool.clone(),
                    arguments: json!(call.input).to_string(),
                });
                self.items.extend(calls);
            }
            // The value in place of the text that it was read of.
            TurnEnd::Done {
                output: Some(output),
                ..
            } => {
                if let Some(ResponseItem::Message { text, .. }) = self.items.last_mut() {
                    *text = output.to_string();
                }
            }
            TurnEnd::Halted { message } => self.say(message, false),
            TurnEnd::Done { .. }
            | TurnEnd::BudgetExceeded { .. }
            | TurnEnd::Refusal { .. }
            | TurnEnd::Cancelled
            | TurnEnd::Error { .. } => {}
        }
    }

    /// Ends a response whose events cannot be read any further.
    pub(super) fn break_off(&mut self, reason: String) {
        let error = TurnError::Journal { message: reason };
        self.end = Some(TurnEnd::Error { error });
        self.is_over = true;
    }

    /// Whether nothing more belongs to it.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the run has ended, at least until the user answers.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn state(&self) -> ResponseState {
        match &self.end {
            None | Some(TurnEnd::NeedsMoreTurns) => ResponseState::Open,
            Some(TurnEnd::Done { .. }) => match self.stop_reason {
                Some(StopReason::MaxTokens | StopReason::ContextWindow) => ResponseState::Length,
                _ => ResponseState::Completed,
            },
            Some(TurnEnd::Halted { .. } | TurnEnd::PendingToolCalls { .. }) => {
                ResponseState::Completed
            }
            Some(TurnEnd::BudgetExceeded { .. }) => ResponseState::Length,
            Some(TurnEnd::Refusal { .. }) => ResponseState::Refused,
            Some(TurnEnd::Cancelled) => ResponseState::Cancelled,
            Some(TurnEnd::Error { .. }) => ResponseState::Failed,
            Some(
                TurnEnd::AwaitingConfirmation { .. }
                | TurnEnd::AwaitingAnswer { .. }
                | TurnEnd::AwaitingChildren { .. },
            ) => ResponseState::Waiting,
        }
    }

    /// Returns the error of a run that failed.
    pub(super) fn error(&self) -> Option<&TurnError> {
        match &self.end {
            Some(TurnEnd::Error { error }) => Some(error),
            _ => None,
        }
    }

    /// Returns, in words, what the run waits for, with the address of the page where it is
    /// answered.
    pub(super) fn waiting(&self, server: &str) -> Option<String> {
        if self.has_successor {
            return None;
        }
        let (TurnEnd::AwaitingConfirmation { continuation }
        | TurnEnd::AwaitingAnswer { continuation }
        | TurnEnd::AwaitingChildren { continuation }) = self.end.as_ref()?
        else {
            return None;
        };
        Some(format!(
            "This run is waiting: {}. Answer at http://{server}/#/s/{}; the run continues there. A message here \
             instead withdraws the pending requests.",
            waits_for(continuation),
            self.run.session
        ))
    }

    /// Returns what is ours alone: the session, and how the run ended.
    pub(super) fn details(&self) -> Value {
        json!({
            "session": self.run.session,
            "end": self.end.as_ref().map(TurnEnd::kind),
        })
    }

    /// Returns the time of its first event, in seconds since 1970.
    pub(super) fn created_at(&self) -> u64 {
        self.created_ms / 1000
    }

    /// Returns the tokens of the run: those of the model and of its agents.
    pub(super) fn tokens(&self) -> Usage {
        let [before, after] = self.usage;
        Usage {
            input_tokens: after.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: after.output_tokens.saturating_sub(before.output_tokens),
            cached_input_tokens: after
                .cached_input_tokens
                .saturating_sub(before.cached_input_tokens),
            cache_write_tokens: after
                .cache_write_tokens
                .saturating_sub(before.cache_write_tokens),
            ..Usage::default()
        }
    }
}

/// Says what a continuation waits for, as a clause.
fn waits_for(continuation: &Continuation) -> String {
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => {
            let tools: Vec<String> = calls
                .iter()
                .map(|call| format!("`{}`", call.tool))
                .collect();
            format!("a call of {} needs approval", tools.join(", "))
        }
        Awaiting::Answer { question, .. } => {
            format!("it asks \"{}\"", escape_line(&question.prompt))
        }
        Awaiting::External { .. } => "calls run externally".to_owned(),
        Awaiting::Children { children } => {
            let agents = children.iter();
            let agents: Vec<String> = agents
                .map(|child| {
                    format!(
                        "in the agent `{}`, {}",
                        child.agent,
                        waits_for(&child.continuation)
                    )
                })
                .collect();
            agents.join("; ")
        }
    }
}
