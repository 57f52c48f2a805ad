//! The state change of each event.

use super::{BatchCall, OpenTurn, SessionState, TurnProgress, TurnStats};
use crate::{
    artifact::{Artifacts, READ_ARTIFACT},
    context::estimate::Measured,
    session::{Spent, restored},
    tool_search::{SEARCH_TOOL, found_in},
};
use agent_host_types::{
    approval::{ApprovalRule, Decision, RememberScope},
    continuation::{Awaiting, PendingCall},
    event::Event,
    hook::CallReview,
    id::{CallId, Digest},
    message::{Message, Role, ToolResult},
    model::{ModelReply, StopReason, Usage},
    output::ContentPart,
    question::{Answer, AnsweredBy, AnsweredQuestion},
    tool::{Effect, ToolCall},
    turn::{TurnEnd, TurnReport},
};
use serde_json::{Map, Value};
use std::{mem, sync::Arc};

impl SessionState {
    /// Applies one event.
    #[expect(
        clippy::too_many_lines,
        reason = "one short arm for each kind of event"
    )]
    pub fn apply(&mut self, event: &Event) {
        if let Some(open) = OpenTurn::of(event) {
            self.open = Some(open);
        }
        self.flow.apply(event);
        match event {
            Event::SessionStarted {
                system,
                parent,
                directory,
                ..
            } => {
                self.system.clone_from(system);
                self.parent.clone_from(parent);
                self.directory.clone_from(directory);
            }
            Event::RunConfigured { arguments } => {
                self.run.clone_from(arguments);
                self.is_fresh_copy = false;
            }
            Event::RunPlaced {
                machine,
                configuration,
            } => self.placed = Some((machine.clone(), configuration.clone())),
            Event::LoopConfigured { setup, approvals } => {
                self.loop_setup = Some((setup.digest, approvals.clone()));
            }
            Event::SessionForked { .. } => {
                self.is_fresh_copy = true;
                self.placed = None;
                self.loop_setup = None;
                self.open = None;
                self.context = Arc::default();
                self.progress = TurnProgress::default();
                self.remembered.clear();
                self.end_workflow();
            }
            Event::ContextSet { context } => self.context = Arc::new(context.clone()),
            Event::InputReceived { message, by, .. } => {
                self.last_sender.clone_from(by);
                self.received(message);
            }
            Event::ModelRequested {
                provenance,
                system,
                estimated_tokens,
                ..
            } => {
                self.turns += 1;
                self.model = Some(provenance.clone());
                self.progress.is_open = true;
                self.progress.asked_tokens = *estimated_tokens;
                self.system_blob = system.as_ref().map(|blob| blob.digest);
                self.turn_stats = TurnStats {
                    provenance: Some(provenance.clone()),
                    usage: self.turn_stats.summaries,
                    summaries: self.turn_stats.summaries,
                    ..TurnStats::default()
                };
            }
            Event::FilesRestored { paths, .. } => self.restored.extend_from_slice(paths),
            Event::TurnInterrupted { lost_tokens } => self.interrupted(*lost_tokens),
            Event::ArtifactStored { .. } | Event::ArtifactDeleted { .. } => {
                self.keep_artifacts(|artifacts| artifacts.add(event));
            }
            Event::ResultsReferenced { results, .. } => {
                self.messages.evict_results(results);
                self.keep_artifacts(|artifacts| artifacts.add(event));
            }
            Event::HistorySummarised {
                messages,
                message,
                usage,
                ..
            } => self.summarised(*messages, message, *usage),
            Event::ModelReplied {
                reply, discarded, ..
            } => self.replied(reply, *discarded),
            Event::ProgramCalled { calls } => self.called(calls),
            Event::RepairRequested { message } => {
                self.messages.push(Message::text(Role::User, message));
                self.spent.repairs += 1;
            }
            Event::ApprovalRequested { .. }
            | Event::ChildrenWaiting { .. }
            | Event::CallReceived { .. }
            | Event::ProgramEnded { .. }
            | Event::HookDecided { .. }
            | Event::FilesLabelled { .. }
            | Event::NodeSkipped { .. }
            | Event::SenderNamed { .. }
            | Event::FactsRead { .. }
            | Event::KeyTaken { .. } => {}
            Event::CallReviewed {
                call_id, review, ..
            } => self.reviewed(call_id, review),
            Event::NodeSettled { .. } => {
                self.keep_artifacts(|artifacts| artifacts.add(event));
                self.apply_to_workflow(event);
            }
            Event::WorkflowStarted { .. }
            | Event::NodeIntended { .. }
            | Event::NodeRetried { .. }
            | Event::WorkflowEnded { .. } => self.apply_to_workflow(event),
            Event::AgentSpawned { call_id, agent, .. } => {
                if !self.node_spawned(call_id, agent)
                    && let Some(entry) = self.entry(call_id)
                {
                    entry.is_spawned = true;
                }
            }
            Event::DecisionRecorded { decisions, .. } => self.decided(decisions),
            Event::ApprovalRemembered { rule, scope } => self.remember(rule, *scope),
            Event::ApprovalRevoked { rule } => self.remembered.retain(|kept| kept != rule),
            Event::CallIntended {
                call_id,
                tool,
                input_digest,
                effect,
                ..
            } => self.intended(call_id, tool, *input_digest, *effect),
            Event::QuestionAsked {
                call_id,
                answered_by,
                ..
            } => self.asked(call_id, *answered_by),
            Event::AnswerReceived {
                call_id, answer, ..
            } => self.answered(call_id, answer),
            Event::CallsDispatched { calls, .. } => self.dispatched_externally(calls),
            Event::CallSettled {
                call_id,
                tool,
                output,
                whole,
                child,
                accounting,
                ..
            } => {
                if let Some(child) = child {
                    self.spent.child(child);
                    self.usage += child.usage;
                    self.turn_stats.usage += child.usage;
                    self.turn_stats.children.push(child.clone());
                }
                if let Some(limits) = &accounting.limits {
                    self.limits.insert(tool.clone(), limits.clone());
                }
                if tool == SEARCH_TOOL {
                    self.found_tools.extend(found_in(output));
                }
                if self.entry(call_id).is_some() {
                    self.keep_artifacts(|artifacts| artifacts.add(event));
                }
                self.settled(ToolResult {
                    call_id: call_id.clone(),
                    name: tool.clone(),
                    output: output.clone(),
                    whole: whole.clone(),
                });
            }
            Event::StateMerged { delta, .. } => merge(Arc::make_mut(&mut self.shared), delta),
            Event::RunHalted { message, .. } => self.halt = Some(message.clone()),
            Event::TurnEnded { outcome, .. } => self.ended(outcome),
        }
    }

    fn received(&mut self, message: &Message) {
        let told = restored::note(&mem::take(&mut self.restored)).map(|text| {
            let mut told = message.clone();
            told.content.insert(0, ContentPart::Text { text });
            told
        });
        let message = told.as_ref().unwrap_or(message);
        match self.first_input {
            None => self.first_input = Some(message.clone()),
            Some(_) => self.last_input = Some((message.clone(), self.messages.len())),
        }
        self.messages.push(message.clone());
        self.workflow = None;
        self.halt = None;
        self.spent = Spent::default();
        self.progress = TurnProgress {
            is_open: true,
            ..TurnProgress::default()
        };
        self.model_paused = false;
        self.turn_stats = TurnStats::default();
    }

    fn interrupted(&mut self, lost_tokens: u64) {
        self.progress = TurnProgress {
            asked_tokens: 0,
            interruptions: self.progress.interruptions + 1,
            ..self.progress
        };
        if lost_tokens > 0 {
            self.spent.turns += 1;
            self.spend(Usage {
                input_tokens: lost_tokens,
                ..Usage::default()
            });
        }
    }

    /// The values were checked when the event was made or copied; a count beyond the end means all
    /// messages.
    fn summarised(&mut self, count: usize, message: &Message, usage: Usage) {
        self.messages.summarise(count, message);
        if let Some((_, at)) = &mut self.last_input {
            // A summarised message is quoted in the first message, position 0.
            *at = (*at + 1).saturating_sub(count);
        }
        self.turn_stats.summaries += usage;
        self.turn_stats.usage += usage;
        self.spend(usage);
    }

    fn replied(&mut self, reply: &ModelReply, discarded: Usage) {
        self.spent.turns += 1;
        self.progress.asked_tokens = 0;
        self.progress.interruptions = 0;
        self.model_paused = reply.stop_reason == Some(StopReason::PauseTurn);
        self.turn_stats.learn(reply, discarded);
        self.spend(reply.usage);
        self.spend(discarded);
        let measured = Measured::from_usage(reply.usage, self.messages.tokens());
        self.measured = measured.or(self.measured);
        self.requested(reply.to_message());
    }

    fn called(&mut self, calls: &[ToolCall]) {
        self.progress.is_open = true;
        self.requested(Message {
            tool_calls: calls.to_vec(),
            ..Message::parts(Role::Assistant, Vec::new())
        });
    }

    /// Adds a message that requests calls.
    fn requested(&mut self, message: Message) {
        let calls = &message.tool_calls;
        self.call_ids
            .extend(calls.iter().map(|call| call.id.clone()));
        self.batch = calls.iter().map(BatchCall::new).collect();
        self.messages.push(message);
    }

    fn spend(&mut self, usage: Usage) {
        self.spent.usage += usage;
        self.usage += usage;
    }

    fn decided(&mut self, decisions: &[Decision]) {
        self.open = None;
        self.progress.is_open = true;
        for decision in decisions {
            if let Some(entry) = self.entry(decision.call_id()) {
                entry.decide(decision.clone());
            }
        }
    }

    fn reviewed(&mut self, call_id: &CallId, review: &CallReview) {
        if let Some(entry) = self.entry(call_id) {
            entry.review = Some(review.clone());
        } else if let Some(run) = self.workflow.as_mut().filter(|run| !run.has_ended) {
            run.reviews.insert(call_id.clone(), review.clone());
        }
    }

    fn remember(&mut self, rule: &ApprovalRule, scope: RememberScope) {
        match scope {
            RememberScope::Session if !self.remembered.contains(rule) => {
                self.remembered.push(rule.clone());
            }
            RememberScope::Session | RememberScope::Project => {}
        }
    }

    fn intended(&mut self, call_id: &CallId, tool: &str, input_digest: Digest, effect: Effect) {
        let snapshot = self.snapshot();
        if let Some(entry) = self.entry(call_id) {
            entry.intended = Some(effect);
            if entry.snapshot.is_none() {
                entry.snapshot = Some(snapshot);
                self.spent.call(tool, input_digest);
            }
        }
    }

    fn asked(&mut self, call_id: &CallId, answered_by: AnsweredBy) {
        if let Some(entry) = self.entry(call_id) {
            entry.asked = Some(answered_by);
            // The run ended without an effect, so it was not interrupted.
            entry.intended = None;
        }
    }

    fn answered(&mut self, call_id: &CallId, answer: &Answer) {
        let open = self.open.take();
        self.progress.is_open = true;
        if let Some(Awaiting::Answer { question, .. }) = open.map(|open| open.awaiting)
            && let Some(entry) = self.entry(call_id)
        {
            entry.answers.push(AnsweredQuestion {
                question,
                answer: answer.clone(),
            });
        }
    }

    fn dispatched_externally(&mut self, calls: &[PendingCall]) {
        for call in calls {
            if let Some(entry) = self.entry(&call.call_id) {
                entry.dispatched_externally = true;
            }
        }
    }

    /// Records a result. After the last one, all enter the conversation in the order of the calls.
    fn settled(&mut self, result: ToolResult) {
        let Some(entry) = self.entry(&result.call_id) else {
            return;
        };
        entry.result = Some(result);
        self.progress.is_open = true;
        self.progress.interruptions = 0;
        if self.batch.iter().all(|entry| entry.result.is_some()) {
            let answered = self.batch.drain(..);
            let results = answered.filter_map(|entry| entry.result).collect();
            self.messages.push(Message::results(results));
            self.open = None;
        }
    }

    /// Adds artifacts. With the first one, the model is offered their reader.
    fn keep_artifacts(&mut self, add: impl FnOnce(&mut Artifacts)) {
        add(Arc::make_mut(&mut self.artifacts));
        if !self.artifacts.kept.is_empty() && !self.found_tools.contains(READ_ARTIFACT) {
            self.found_tools.insert(READ_ARTIFACT.to_owned());
        }
    }

    fn ended(&mut self, report: &TurnReport) {
        self.last_report = Some(report.clone());
        self.progress = TurnProgress::default();
        if report.end == TurnEnd::NeedsMoreTurns {
            // A request whose decisions were taken before the turn was drained.
            self.open = None;
        }
        let took = report.summary.duration_ms;
        self.spent.wall_ms = self.spent.wall_ms.saturating_add(took);
        if self.batch.is_empty() && self.open_workflow().is_none() {
            self.turn_stats = TurnStats::default();
        }
    }

    fn entry(&mut self, id: &CallId) -> Option<&mut BatchCall> {
        self.batch.iter_mut().find(|entry| entry.call.id == *id)
    }
}

impl OpenTurn {
    /// Returns the request that the event opens, if any.
    fn of(event: &Event) -> Option<Self> {
        let (request, turn, awaiting, expires_at_ms) = match event {
            Event::ApprovalRequested {
                request,
                turn,
                index,
                calls,
                expires_at_ms,
            } => {
                let (index, calls) = (*index, calls.clone());
                let awaiting = Awaiting::Confirm { index, calls };
                (request, turn, awaiting, *expires_at_ms)
            }
            Event::QuestionAsked {
                request,
                turn,
                call_id,
                tool,
                question,
                ..
            } => {
                let awaiting = Awaiting::Answer {
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    question: question.clone(),
                };
                (request, turn, awaiting, None)
            }
            Event::CallsDispatched {
                request,
                turn,
                calls,
            } => {
                let calls = calls.clone();
                (request, turn, Awaiting::External { calls }, None)
            }
            Event::ChildrenWaiting {
                request,
                turn,
                children,
            } => {
                let children = children.clone();
                (request, turn, Awaiting::Children { children }, None)
            }
            _ => return None,
        };
        Some(Self {
            request: request.clone(),
            turn: *turn,
            awaiting,
            expires_at_ms,
        })
    }
}

impl TurnStats {
    fn learn(&mut self, reply: &ModelReply, discarded: Usage) {
        if reply.provenance.is_some() {
            self.provenance.clone_from(&reply.provenance);
        }
        self.usage += reply.usage;
        self.usage += discarded;
        self.response_id.clone_from(&reply.response_id);
        self.stop_reason = reply.stop_reason;
        self.tool_calls = reply.tool_calls.len() as u64;
    }
}

/// Merges a change into the shared state: objects deeply; other values replace the old ones.
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
