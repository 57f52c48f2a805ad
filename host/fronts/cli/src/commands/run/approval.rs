//! Approvals and questions at the terminal: asks the user and returns the answers to the session.

use super::{
    RunParts,
    waiting::{listing, waiting_name},
};
use crate::terminal::{BatchList, BatchReply, Review, Reviewed, ask_question};
use agent_host_app::{FileChange, project, tool_reach};
use agent_host_engine::{BoxFuture, turn::Prompts};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation, PendingCall},
    tool::DecisionKind,
    turn::{AgentInput, ChildInput},
};
use std::sync::PoisonError;

/// The note before a call is shown again.
const CHANGED: &str = "A file changed while you were reading, so here is the call again, compared with the current file.";

/// Returns whether an input has decisions about some of the calls that wait: the others wait on,
/// and nothing runs.
pub(super) fn is_partial(input: &AgentInput) -> bool {
    match input {
        AgentInput::Resume {
            continuation,
            decisions,
        } => decisions.len() < continuation.calls().len(),
        _ => false,
    }
}

/// Whether all calls may be approved and rejected, so that one answer can decide on all of them.
fn may_list(calls: &[PendingCall]) -> bool {
    let needed = [DecisionKind::Approve, DecisionKind::Reject];
    let may_decide = |call: &PendingCall| needed.iter().all(|kind| call.decisions.contains(kind));
    calls.iter().all(may_decide)
}

impl RunParts<'_> {
    /// Asks about the waiting calls in order, until the user decides later or the run is stopped.
    /// The decisions until then are kept, and the rest waits; `None` if nothing was decided.
    pub(super) async fn decide(&self, continuation: &Continuation) -> Option<AgentInput> {
        let calls = continuation.calls();
        if !self.can_ask() || self.is_postponed(calls) {
            return None;
        }
        let decisions = match self.terminal.shows_lists() && calls.len() > 1 && may_list(calls) {
            true => self.decide_in_list(calls).await.unwrap_or_default(),
            false => self.decide_one_by_one(calls).await,
        };
        let rest = calls.get(decisions.len()..).unwrap_or_default();
        let mut postponed = self
            .postponed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        postponed.extend(rest.iter().map(|call| call.input_digest));
        (!decisions.is_empty()).then(|| AgentInput::Resume {
            continuation: continuation.clone(),
            decisions,
        })
    }

    /// Asks about all calls in one list with a cursor; `None` if the user decides later.
    async fn decide_in_list(&self, calls: &[PendingCall]) -> Option<Vec<Decision>> {
        let mut list = BatchList::new(calls);
        loop {
            let changes = self.changes(calls).await;
            let shown = changes.clone();
            let look = move |reviews: &[Review<'_>]| {
                let reply = list.ask(reviews);
                (list, reply)
            };
            let (looked_at, reply) = self.reviewing(calls, 0, look, changes).await?;
            list = looked_at;
            match reply {
                BatchReply::Open(index) => {
                    if let Reviewed::Decided(decision) = self.review(calls, index, false).await? {
                        list.mark(index, decision);
                    }
                }
                BatchReply::Decided(_) if self.changes(calls).await != shown => {
                    self.terminal.note(CHANGED);
                }
                BatchReply::Decided(decisions) => return Some(decisions),
                BatchReply::Later => return None,
            }
        }
    }

    /// Asks about one call after the other, until the user decides later.
    async fn decide_one_by_one(&self, calls: &[PendingCall]) -> Vec<Decision> {
        let mut decisions = Vec::with_capacity(calls.len());
        while decisions.len() < calls.len() {
            match self.review(calls, decisions.len(), may_list(calls)).await {
                Some(Reviewed::Decided(decision)) => decisions.push(decision),
                Some(Reviewed::Rest) => {
                    let rest = calls.get(decisions.len()..).unwrap_or_default();
                    if self.approves_all(calls, rest).await {
                        let approved = rest.iter().map(|call| call.call_id.clone());
                        decisions.extend(approved.map(Decision::approve));
                    }
                }
                Some(Reviewed::RejectRest(reason)) => {
                    let rest = calls.get(decisions.len()..).unwrap_or_default();
                    let rejected = rest.iter().map(|call| Decision::Reject {
                        call_id: call.call_id.clone(),
                        reason: reason.clone(),
                    });
                    decisions.extend(rejected);
                }
                Some(Reviewed::Later) | None => break,
            }
        }
        decisions
    }

    /// Whether the user left one of these calls for later in this run.
    fn is_postponed(&self, calls: &[PendingCall]) -> bool {
        let postponed = self
            .postponed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls
            .iter()
            .any(|call| postponed.contains(&call.input_digest))
    }

    /// Asks about the call at an index; `None` if the run is stopped. A comparison with a file
    /// holds for the file as it is when the user answers.
    async fn review(
        &self,
        calls: &[PendingCall],
        index: usize,
        may_decide_rest: bool,
    ) -> Option<Reviewed> {
        let call = calls.get(index)?;
        loop {
            let change = self.change(call).await;
            let shown = change.clone();
            let ask = move |reviews: &[Review<'_>]| {
                let review = reviews.first();
                review.map_or(Reviewed::Later, |review| review.ask(may_decide_rest))
            };
            let reviewed = self.reviewing(calls, index, ask, vec![change]);
            let reviewed = reviewed.await?;
            let is_approved = matches!(reviewed, Reviewed::Decided(Decision::Approve { .. }));
            if !is_approved || self.change(call).await == shown {
                return Some(reviewed);
            }
            self.terminal.note(CHANGED);
        }
    }

    /// Shows calls in full, and asks whether all of them run.
    async fn approves_all(&self, calls: &[PendingCall], rest: &[PendingCall]) -> bool {
        let first = calls.len() - rest.len();
        loop {
            let changes = self.changes(rest).await;
            let shown = changes.clone();
            let asked = self.reviewing(calls, first, Review::ask_all, changes);
            match asked.await {
                Some(true) if self.changes(rest).await != shown => self.terminal.note(CHANGED),
                answer => return answer.unwrap_or_default(),
            }
        }
    }

    async fn changes(&self, calls: &[PendingCall]) -> Vec<Option<FileChange>> {
        let mut changes = Vec::with_capacity(calls.len());
        for call in calls {
            changes.push(self.change(call).await);
        }
        changes
    }

    async fn change(&self, call: &PendingCall) -> Option<FileChange> {
        let registry = self.host.agents().registry();
        registry.file_change(&call.tool, &call.input).await
    }

    /// Runs a question about the calls from an index on, each with its change, off the runtime's
    /// threads.
    async fn reviewing<T: Send + 'static>(
        &self,
        calls: &[PendingCall],
        first: usize,
        ask: impl FnOnce(&[Review<'_>]) -> T + Send + 'static,
        changes: Vec<Option<FileChange>>,
    ) -> Option<T> {
        let (terminal, count) = (self.terminal.for_prompt(), calls.len());
        let left = calls.get(first..).unwrap_or_default();
        let asked = left.iter().zip(changes).map(|(call, change)| {
            let reach = tool_reach(self.host.agents().registry(), &call.tool);
            (call.clone(), reach, change)
        });
        let asked: Vec<_> = asked.collect();
        let tools = self.agent.tools.clone();
        let project = project(self.host.config());
        self.unless_stopped(move || {
            let reviews = asked.iter().enumerate();
            let reviews = reviews.map(|(index, (call, reach, change))| Review {
                terminal: &terminal,
                call,
                tools: tools.as_ref(),
                reach,
                project: &project,
                change: change.as_ref(),
                position: (first + index + 1, count),
            });
            ask(&reviews.collect::<Vec<_>>())
        })
        .await
    }

    /// Asks the user what a turn waits for; `None` if nothing of it can be answered now.
    pub(super) fn respond<'a>(
        &'a self,
        continuation: &'a Continuation,
    ) -> BoxFuture<'a, Option<AgentInput>> {
        Box::pin(async move {
            match &continuation.awaiting {
                Awaiting::Confirm { .. } => self.decide(continuation).await,
                Awaiting::Answer { .. } => self.answer_question(continuation).await,
                Awaiting::External { .. } => None,
                Awaiting::Children { children } => {
                    let mut inputs = Vec::new();
                    for child in children {
                        if self.can_ask() {
                            let name = waiting_name(child);
                            self.terminal.note(&format!("{name} waits:"));
                            if let Some(source) = &child.program {
                                self.terminal.note(&listing(source));
                            }
                        }
                        let call_id = child.call_id.clone();
                        if let Some(input) = self.respond(&child.continuation).await {
                            inputs.push(ChildInput { call_id, input });
                        }
                    }
                    (!inputs.is_empty()).then(|| AgentInput::Children {
                        continuation: continuation.clone(),
                        inputs,
                    })
                }
            }
        })
    }

    /// Asks a call's question; `None` if the user answers later or cannot be asked.
    pub(super) async fn answer_question(&self, continuation: &Continuation) -> Option<AgentInput> {
        let Awaiting::Answer { tool, question, .. } = &continuation.awaiting else {
            return None;
        };
        if !self.can_ask() {
            return None;
        }
        let (terminal, tool, question) =
            (self.terminal.for_prompt(), tool.clone(), question.clone());
        let ask = move || ask_question(&terminal, &tool, &question);
        Some(AgentInput::Answer {
            answer: self.unless_stopped(ask).await??,
            continuation: continuation.clone(),
        })
    }

    fn can_ask(&self) -> bool {
        !self.stop.is_requested()
            && self.terminal.can_ask()
            && self.agent.settings.prompts == Prompts::Ask
    }
}
