//! The tool step: every call of the batch gets exactly one result, in the order of the calls.
//!
//! Calls that must not run are answered first (unknown tools, invalid arguments, refusals,
//! interrupted runs). The rest run: adjacent read-only calls concurrently, every other call alone
//! and only after its intent is durable.

mod plan;
mod run;

pub(super) use plan::{Plan, Run, answer_of, interrupted};
pub(super) use run::{Caller, call_intended, checked, question, quota_failure};

use super::{
    Agent, Prompts, Step, StepOutput, StepResult, Timing, Transition, TurnContext,
    approval::request_name, hooks::decided,
};
use crate::{
    artifact::result_name,
    policy::Ruling,
    session::{BatchCall, Session},
    spill::spill_output,
    tool::{CallReport, RunEnd},
};
use agent_host_types::{
    budget::Budget,
    continuation::PendingCall,
    event::Event,
    failure::ToolFailure,
    output::ToolResultOutput,
    tool::{Effect, ToolCall, ToolRuntime},
    turn::{ChildSummary, Durability, TurnEnd, TurnError},
};
use futures_util::{StreamExt as _, stream};
use plan::Allowance;

impl Agent {
    pub(super) async fn execute_tools(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        let batch: Vec<BatchCall> = session.state().batch().to_vec();
        let mut group: Vec<Run> = Vec::new();
        let mut external: Vec<Run> = Vec::new();
        let mut allowance = Allowance::new(session);
        for entry in batch.iter().filter(|entry| entry.result.is_none()) {
            if session.state().halt().is_some() {
                self.settle_skipped(session, cx, &entry.call, not_run_after_halt());
                continue;
            }
            let ruled = session.rulings.remove(&entry.call.id);
            let plan = self.plan(session, entry, ruled, cx);
            if let Plan::Ask(rule) = &plan
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
                Plan::Run(run) if run.runtime == ToolRuntime::External => {
                    external.push(*run);
                    continue;
                }
                Plan::Run(run) if run.is_concurrent() => {
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
        plan: Plan,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        match plan {
            _ if session.state().halt().is_some() => {
                self.settle_skipped(session, cx, &entry.call, not_run_after_halt());
            }
            Plan::Answer(output) => self.settle_skipped(session, cx, &entry.call, output),
            Plan::Deny(output, rule) => {
                self.settle_denied(session, cx, &entry.call, output, rule);
            }
            // The approval step has asked if there is someone to ask.
            Plan::Ask(rule) => {
                let output = self.unapproved(&rule);
                self.settle_denied(session, cx, &entry.call, output, rule);
            }
            Plan::Run(run) => return self.run_group(session, vec![*run], cx).await,
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
        external: &[Run],
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
            .filter_map(|run| self.describe(&run.entry, run.rule.clone()))
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

    /// Runs calls concurrently and records their ends in the order of the calls. If one asks the
    /// user a question, the turn pauses; of several questions only the first counts, and the other
    /// calls ask again in their next run.
    async fn run_group(
        &self,
        session: &mut Session,
        group: Vec<Run>,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        if cx.cancel.is_cancelled() {
            self.abandon_children(session, cx).await?;
            self.settle_unstarted(session, &group, cx);
            return Ok(None);
        }
        match group.first().map(|first| first.runtime) {
            None => return Ok(None),
            Some(ToolRuntime::Agent) => return self.run_agents(session, group, cx).await,
            Some(ToolRuntime::Host | ToolRuntime::External) => {}
        }
        for run in &group {
            session.record(call_intended(run), Vec::new());
        }
        let is_strict = self.settings.durability == Durability::Strict;
        if is_strict
            || session.must_be_durable_to_run()
            || group.iter().any(|run| run.effect != Effect::ReadOnly)
        {
            session.barrier(cx.observer).await?;
        }
        let caller = Caller::of(session, &self.settings);
        let caller = &caller;
        let mut ends = stream::iter(group.into_iter().map(|run| async move {
            let end = self.run_call(caller, &run, cx).await;
            (run, end)
        }))
        .buffered(self.settings.parallel_calls.max(1));
        let mut ended = Vec::new();
        while let Some(pair) = ends.next().await {
            ended.push(pair);
        }
        drop(ends);
        let mut questions = Vec::new();
        for (run, end) in ended {
            match end {
                RunEnd::Settled(report) => {
                    let report = self.within_quota(session, report);
                    record_settled(session, &run.entry.call, report);
                }
                RunEnd::Asked(asked) => questions.push((run, asked)),
            }
        }
        if session.state().halt().is_some() {
            for (run, _) in questions.drain(..) {
                self.settle_skipped(session, cx, &run.entry.call, not_run_after_halt());
            }
        }
        let first_question = questions.into_iter().next();
        if is_strict {
            session.barrier(cx.observer).await?;
        }
        Ok(first_question.and_then(|(run, asked)| {
            let output = StepOutput::Human {
                call_id: run.entry.call.id.clone(),
                tool: run.entry.call.name.clone(),
                question: asked.question.clone(),
            };
            session.record(question(session, &run, asked), Vec::new());
            let transition = Transition::end(self.pause(session)?);
            Some(StepResult { output, transition })
        }))
    }

    /// Answers calls of a cancelled turn.
    fn settle_unstarted(&self, session: &mut Session, runs: &[Run], cx: &TurnContext<'_>) {
        for run in runs {
            let output = ToolFailure::not_started().into();
            self.settle_skipped(session, cx, &run.entry.call, output);
        }
    }

    /// Answers a call that does not run.
    pub(super) fn settle_skipped(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
        call: &ToolCall,
        output: ToolResultOutput,
    ) {
        let report = self.skipped_report(call, output, cx);
        record_settled(session, call, report);
    }

    /// Answers a call that a rule of the policy denies.
    pub(super) fn settle_denied(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
        call: &ToolCall,
        output: ToolResultOutput,
        rule: String,
    ) {
        let report = self.skipped_report(call, output, cx);
        let by = EndedBy {
            rule: Some(rule),
            ..EndedBy::default()
        };
        record_end(session, call, report, by);
    }
}

/// The part of a call's end that few calls have.
#[derive(Default)]
pub(super) struct EndedBy {
    /// The rule that denied it.
    pub(super) rule: Option<String>,
    /// The figures of its agent's session.
    pub(super) child: Option<ChildSummary>,
}

pub(super) fn record_settled(session: &mut Session, call: &ToolCall, report: CallReport) {
    record_end(session, call, report, EndedBy::default());
}

/// Records the end of a call.
pub(super) fn record_end(session: &mut Session, call: &ToolCall, report: CallReport, by: EndedBy) {
    let CallReport {
        output,
        mut accounting,
        audit,
        changes,
        verdicts,
    } = report;
    let known = session.state().limits(&call.name);
    if known.is_some() && known == accounting.limits.as_ref() {
        accounting.limits = None;
    }
    let mut settled = spill_output(output, &result_name(&call.id).to_string());
    let (call_id, tool) = (call.id.clone(), call.name.clone());
    let changed: Vec<Event> = changes
        .into_iter()
        .map(|change| change.into_event(&call_id, &tool, &mut settled.blobs))
        .collect();
    let settled_event = Event::CallSettled {
        call_id: call_id.clone(),
        tool,
        output: settled.output,
        whole: settled.whole,
        child: by.child,
        accounting,
        audit,
        rule: by.rule,
        path: Vec::new(),
        labels: Vec::new(),
        tape: None,
    };
    let events = decided(verdicts, Some(&call.id))
        .chain([settled_event])
        .chain(changed)
        .collect();
    session.record_all(events, settled.blobs);
}

/// Returns the result of a call that has not started when another one ends the run.
pub(crate) fn not_run_after_halt() -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(
        "This call did not run: another call ended the run.".to_owned(),
    ))
}
