//! The tool step: every call of the batch gets exactly one result, in the order of the calls.
//!
//! Calls that must not run are answered first (unknown tools, invalid arguments, refusals,
//! interrupted runs). The rest run: adjacent read-only calls concurrently, every other call alone
//! and only after its intent is durable.

mod allowance;

use super::{
    Agent, Prompts, Step, StepOutput, StepResult, Timing, Transition, TurnContext,
    approval::request_name,
    budget,
    job::{Caller, JobEnd, Unsettled, call_intended, question},
    plan::{CallPlan, CallRun},
};
use crate::{
    policy::Ruling,
    session::{BatchCall, Session},
    tool::{RunEnd, SessionChange},
};
use agent_host_types::{
    budget::Budget,
    continuation::{PendingCall, WaitingChild},
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    output::ToolResultOutput,
    question::PendingQuestion,
    tool::{Effect, ToolRuntime},
    turn::{Durability, TurnEnd, TurnError},
};
use allowance::Allowance;
use futures_util::{StreamExt as _, stream};

/// The result of an agent that waited when another call ended the run.
const STOPPED: &str = "The agent was stopped: another call ended the run.";

impl Agent {
    pub(super) async fn execute_tools(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        let batch: Vec<BatchCall> = session.state().batch().to_vec();
        let mut group: Vec<CallRun> = Vec::new();
        let mut external: Vec<CallRun> = Vec::new();
        let mut allowance = Allowance::new(session);
        for entry in batch.iter().filter(|entry| entry.result.is_none()) {
            if session.state().halt().is_some() {
                self.settle_skipped(session, cx, &entry.call, not_run_after_halt());
                continue;
            }
            self.read_facts(session, entry, cx).await?;
            let ruled = session.rulings.remove(&entry.call.id);
            let plan = self.plan(session, entry, ruled, cx);
            if let CallPlan::Ask(rule) = &plan
                && self.settings.timing == Timing::InOrder
                && self.settings.prompts == Prompts::Ask
            {
                // The calls before it have run now, so its approval is due.
                let ruling = Ruling::Ask { rule: rule.clone() };
                session.rulings.insert(entry.call.id.clone(), ruling);
                let asked = self.run_group(session, group, cx).await?;
                return Ok(asked.unwrap_or_else(|| StepResult::go(Step::CheckApproval)));
            }
            let plan = allowance.admit(&self.settings.budgets, session, entry, plan);
            let next = match plan {
                CallPlan::Run(run) if run.runtime == ToolRuntime::External => {
                    external.push(*run);
                    continue;
                }
                CallPlan::Run(run) if run.is_concurrent() => {
                    let first = group.first().map(|first| first.runtime);
                    if first.is_some_and(|first| first != run.runtime)
                        && let Some(asked) = self
                            .run_group(session, std::mem::take(&mut group), cx)
                            .await?
                    {
                        return Ok(asked);
                    }
                    group.push(*run);
                    continue;
                }
                other => other,
            };
            if let Some(asked) = self
                .run_group(session, std::mem::take(&mut group), cx)
                .await?
            {
                return Ok(asked);
            }
            if let Some(asked) = self.run_alone(session, entry, next, cx).await? {
                return Ok(asked);
            }
        }
        if let Some(asked) = self.run_group(session, group, cx).await? {
            return Ok(asked);
        }
        let (external, open) = self.admit_all(session, external, cx).await?;
        if open.is_some() {
            return Ok(StepResult::go(Step::CheckApproval));
        }
        if let Some(pending) = self.dispatch_externally(session, &external, cx) {
            return Ok(StepResult::end(pending));
        }
        Ok(self.after_batch(session, allowance.used_up, cx))
    }

    /// Runs or answers a call that shares no group, once those before it have ended.
    async fn run_alone(
        &self,
        session: &mut Session,
        entry: &BatchCall,
        plan: CallPlan,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        match plan {
            _ if session.state().halt().is_some() => {
                self.settle_skipped(session, cx, &entry.call, not_run_after_halt());
            }
            CallPlan::Answer(report) => self.settle_skipped(session, cx, &entry.call, *report),
            // The approval step has asked if there is someone to ask.
            CallPlan::Ask(rule) => {
                self.settle_skipped(session, cx, &entry.call, self.unapproved(&rule));
            }
            CallPlan::Run(run) => return self.run_group(session, vec![*run], cx).await,
        }
        Ok(None)
    }

    /// Returns how the turn ends after every call has its result.
    fn after_batch(
        &self,
        session: &Session,
        used_up: Option<Budget>,
        cx: &TurnContext<'_>,
    ) -> StepResult {
        let results = session
            .state()
            .messages()
            .last()
            .map(|message| message.tool_results.clone())
            .unwrap_or_default();
        let until = self.settings.until_tool.as_ref();
        let ended_by = until.and_then(|until| until.ended_by(&results));
        let end = if cx.cancel.is_cancelled() {
            TurnEnd::Cancelled
        } else if let Some(message) = session.state().halt() {
            TurnEnd::Halted {
                message: message.to_owned(),
            }
        } else if let Some(result) = ended_by {
            TurnEnd::Done {
                text: session.state().last_assistant_text().to_owned(),
                output: None,
                result: Some(result.clone()),
            }
        } else if let Some(budget) = used_up {
            TurnEnd::BudgetExceeded { budget }
        } else if self.program.is_some() {
            return StepResult {
                output: StepOutput::Tool { results },
                transition: Transition::to(Step::CheckBudgets),
            };
        } else {
            TurnEnd::NeedsMoreTurns
        };
        StepResult {
            output: StepOutput::Tool { results },
            transition: Transition::end(end),
        }
    }

    /// Dispatches calls externally. Their intents are recorded like any other; the caller of the
    /// loop submits the results.
    fn dispatch_externally(
        &self,
        session: &mut Session,
        external: &[CallRun],
        cx: &TurnContext<'_>,
    ) -> Option<TurnEnd> {
        if cx.cancel.is_cancelled() {
            self.settle_unstarted(session, external, cx);
            return None;
        }
        if session.state().halt().is_some() {
            for run in external {
                self.settle_skipped(session, cx, &run.entry.call, not_run_after_halt());
            }
            return None;
        }
        let calls: Vec<PendingCall> = external
            .iter()
            .filter_map(|run| self.describe(session, &run.entry, run.rule.clone()))
            .collect();
        if calls.is_empty() {
            return None;
        }
        let dispatched = Event::CallsDispatched {
            request: request_name(session),
            turn: session.state().turns(),
            calls,
        };
        let intended = external.iter().map(call_intended);
        let events = intended.chain([dispatched]).collect();
        session.record_all(events, Vec::new());
        self.pause(session)
    }

    /// Runs calls of one runtime concurrently and records their ends in the order of the calls. If
    /// one asks the user a question, or the sessions of agents wait, the turn pauses; of several
    /// questions only the first counts, and the other calls ask again in their next run.
    async fn run_group(
        &self,
        session: &mut Session,
        group: Vec<CallRun>,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        if cx.cancel.is_cancelled() {
            self.abandon_children(session, cx).await?;
            self.settle_unstarted(session, &group, cx);
            return Ok(None);
        }
        let Some(runtime) = group.first().map(|first| first.runtime) else {
            return Ok(None);
        };
        let of_agents = runtime == ToolRuntime::Agent;
        if of_agents && cx.is_drained() {
            return Ok(Some(StepResult::end(TurnEnd::NeedsMoreTurns)));
        }
        let (group, reopened) = self.admit_all(session, group, cx).await?;
        if group.is_empty() {
            return Ok(reopened);
        }
        for run in group.iter().filter(|run| !run.entry.is_spawned) {
            self.intend(session, run);
        }
        let is_strict = self.settings.durability == Durability::Strict;
        let must_be_durable = match of_agents {
            // The journal of an agent must not be ahead.
            true => session.undurable() > 0,
            false => {
                is_strict
                    || session.must_be_durable_to_run()
                    || group.iter().any(|run| run.effect != Effect::ReadOnly)
            }
        };
        if must_be_durable {
            session.barrier(cx.observer).await?;
        }
        let ended = self.run_side_by_side(session, group, of_agents, cx).await;
        let mut open = self.settle_group(session, ended)?;
        if session.state().halt().is_some() {
            self.stop_group(session, std::mem::take(&mut open), cx)
                .await?;
        }
        if is_strict && !of_agents {
            session.barrier(cx.observer).await?;
        }
        let drained = open
            .is_drained
            .then(|| StepResult::end(TurnEnd::NeedsMoreTurns));
        let asked = open.questions.into_iter().next();
        let asked = asked.and_then(|(run, asked)| self.ask_question(session, &run, asked));
        let waiting = self.wait_for_children(session, open.waiting);
        Ok(asked.or(waiting).or(drained).or(reopened))
    }

    /// Does the work of calls concurrently; of agents, one that ends the run stops the others.
    async fn run_side_by_side(
        &self,
        session: &mut Session,
        group: Vec<CallRun>,
        of_agents: bool,
        cx: &TurnContext<'_>,
    ) -> Vec<(CallRun, JobEnd)> {
        let (share, places) = match of_agents {
            true => (
                budget::share(&self.settings.budgets, session.state(), group.len(), &[]),
                self.settings.parallel_agents,
            ),
            false => (budget::Share::default(), self.settings.parallel_calls),
        };
        let caller = Caller::for_session(session, &self.settings);
        let (caller, share) = (&caller, &share);
        let stop = &cx.cancel.child_token();
        let cx = &TurnContext {
            cancel: stop,
            ..*cx
        };
        let resumed = group.into_iter().map(|run| CallRun {
            resumed_with: session.child_input(&run.entry.call.id),
            ..run
        });
        let resumed: Vec<CallRun> = resumed.collect();
        stream::iter(resumed.into_iter().map(|run| async move {
            let end = self.work(caller, &run, share, cx).await;
            if let Ok(RunEnd::Settled(report)) = &end
                && of_agents
                && report.changes.iter().any(SessionChange::is_halt)
            {
                stop.cancel();
            }
            (run, end)
        }))
        .buffered(places.max(1))
        .collect()
        .await
    }

    /// Records the results of calls that ended, and returns the others.
    fn settle_group(
        &self,
        session: &mut Session,
        ended: Vec<(CallRun, JobEnd)>,
    ) -> Result<UnsettledCalls, TurnError> {
        let (mut open, mut failed) = (UnsettledCalls::default(), None);
        for (run, end) in ended {
            match end {
                Ok(RunEnd::Settled(report)) => self.settle(session, &run.entry.call, report),
                Ok(RunEnd::Asked(asked)) => open.questions.push((run, asked)),
                Err(Unsettled::Waiting(child)) => open.waiting.push(*child),
                Err(Unsettled::Drained) => open.is_drained = true,
                Err(Unsettled::Failed(error)) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(open), Err)
    }

    /// Answers the calls that are open when another one ends the run. Agents that wait or were
    /// drained do not continue.
    async fn stop_group(
        &self,
        session: &mut Session,
        open: UnsettledCalls,
        cx: &TurnContext<'_>,
    ) -> Result<(), TurnError> {
        for (run, _) in open.questions {
            self.settle_skipped(session, cx, &run.entry.call, not_run_after_halt());
        }
        self.abandon_children(session, cx).await?;
        for entry in session.state().batch().to_vec() {
            if entry.is_spawned && entry.result.is_none() {
                let stopped = ToolFailure::new(ToolErrorCode::Cancelled, STOPPED);
                self.settle_skipped(session, cx, &entry.call, stopped);
            }
        }
        Ok(())
    }

    /// Pauses the turn for the question of a call.
    fn ask_question(
        &self,
        session: &mut Session,
        run: &CallRun,
        asked: PendingQuestion,
    ) -> Option<StepResult> {
        let output = StepOutput::Human {
            call_id: run.entry.call.id.clone(),
            tool: run.entry.call.name.clone(),
            question: asked.question.clone(),
        };
        session.record(question(session, run, asked), Vec::new());
        let transition = Transition::end(self.pause(session)?);
        Some(StepResult { output, transition })
    }

    /// Answers calls of a cancelled turn.
    fn settle_unstarted(&self, session: &mut Session, runs: &[CallRun], cx: &TurnContext<'_>) {
        for run in runs {
            self.settle_skipped(session, cx, &run.entry.call, ToolFailure::not_started());
        }
    }
}

/// The calls of a group that ran and are not settled.
#[derive(Default)]
struct UnsettledCalls {
    questions: Vec<(CallRun, PendingQuestion)>,
    waiting: Vec<WaitingChild>,
    is_drained: bool,
}

/// Returns the result of a call that has not started when another one ends the run.
pub(crate) fn not_run_after_halt() -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(
        "This call did not run: another call ended the run.".to_owned(),
    ))
}
