//! The tool step: every call of the batch gets exactly one result, in the order of the calls.
//!
//! What must not happen is decided first (unknown tools, bad arguments, refusals, interrupted runs). What remains runs:
//! neighbours that are read-only side by side, everything else alone and only after its intention is durable.

use super::{
    Agent, Budget, Budgets, Decision, End, PendingCall, Prompts, Step, StepOutput, StepResult,
    Timing, Transition, TurnError, approval::request_name,
};
use crate::{
    accounting::Accounting,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::{CallId, Digest, SessionId, json_digest},
    observer::Live,
    output::{ToolResultOutput, settle},
    policy::Ruling,
    question::{Asked, MAX_QUESTIONS},
    session::{BatchCall, Session, Spent, identity},
    tool::{CallReport, Effect, Invocation, RunEnd, ToolCall, ToolRuntime},
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// What is to be done with one call.
enum Plan {
    /// It is answered without running.
    Answer(ToolResultOutput),
    /// It runs.
    Run(Box<Run>),
}

/// A call that runs.
struct Run {
    entry: BatchCall,
    input: Map<String, Value>,
    effect: Effect,
    /// For a call that is handed outside: the rule that allows it.
    outside: Option<String>,
}

/// What the budgets still allow in this batch. Calls are counted in the session when they begin, and a group of them is
/// planned before its first begins.
struct Allowance {
    spent: Spent,
    admitted: Vec<(String, Digest)>,
    /// The first budget that kept a call from running.
    used_up: Option<Budget>,
}

impl Allowance {
    fn new(session: &Session) -> Self {
        Self {
            spent: session.state().spent().clone(),
            admitted: Vec::new(),
            used_up: None,
        }
    }

    /// Turns a call that a budget does not allow into an answer. A run that is repeated after a crash was allowed before.
    fn admit(&mut self, budgets: &Budgets, entry: &BatchCall, plan: Plan) -> Plan {
        let Plan::Run(run) = plan else {
            return plan;
        };
        if entry.intended.is_some() {
            return Plan::Run(run);
        }
        let call = identity(&run.entry.call.name, &run.input);
        if let Some(budget) = budgets.refuses(&self.spent, &call, &self.admitted) {
            let refusal = ToolResultOutput::ExecutionDenied(Some(budget.refusal()));
            self.used_up.get_or_insert(budget);
            return Plan::Answer(refusal);
        }
        self.admitted.push(call);
        Plan::Run(run)
    }
}

impl Agent {
    pub(super) async fn execute_tools(
        &self,
        session: &mut Session,
        cancel: &CancellationToken,
    ) -> Result<StepResult, TurnError> {
        let batch: Vec<BatchCall> = session.state().batch().to_vec();
        let mut group: Vec<Run> = Vec::new();
        let mut outside: Vec<Run> = Vec::new();
        let mut allowance = Allowance::new(session);
        for entry in batch.iter().filter(|entry| entry.result.is_none()) {
            if self.settings.timing == Timing::InOrder && self.pending(session, entry).is_some() {
                // Its turn has come when those before it have run.
                let asked = self.run_group(session, group, cancel).await?;
                return Ok(asked.unwrap_or_else(|| StepResult::go(Step::CheckApproval)));
            }
            let plan = allowance.admit(&self.settings.budgets, entry, self.plan(session, entry));
            let next = match plan {
                Plan::Run(run) if run.outside.is_some() => {
                    outside.push(*run);
                    continue;
                }
                Plan::Run(run) if run.effect == Effect::ReadOnly => {
                    group.push(*run);
                    continue;
                }
                other => other,
            };
            if let Some(asked) = self
                .run_group(session, std::mem::take(&mut group), cancel)
                .await?
            {
                return Ok(asked);
            }
            match next {
                Plan::Answer(output) => self.settle_unrun(session, &entry.call, output),
                Plan::Run(run) => {
                    if let Some(asked) = self.run_group(session, vec![*run], cancel).await? {
                        return Ok(asked);
                    }
                }
            }
        }
        if let Some(asked) = self.run_group(session, group, cancel).await? {
            return Ok(asked);
        }
        if let Some(pending) = self.delegate(session, &outside, cancel) {
            return Ok(StepResult::end(pending));
        }
        Ok(self.after_batch(session, allowance.used_up, cancel))
    }

    /// Every call has its result: what that means for the turn.
    fn after_batch(
        &self,
        session: &Session,
        used_up: Option<Budget>,
        cancel: &CancellationToken,
    ) -> StepResult {
        let results = session
            .state()
            .messages()
            .last()
            .map(|message| message.tool_results.clone())
            .unwrap_or_default();
        let until = self.settings.until_tool.as_ref();
        let ended_by = until.and_then(|until| until.ended_by(&results));
        let end = if cancel.is_cancelled() {
            End::Cancelled
        } else if let Some(result) = ended_by {
            End::Done {
                text: session.state().last_words().to_owned(),
                output: None,
                result: Some(result.clone()),
            }
        } else if let Some(budget) = used_up {
            End::BudgetExceeded { budget }
        } else {
            End::NeedsMoreTurns
        };
        StepResult {
            output: StepOutput::Tool { results },
            transition: Transition::end(end),
        }
    }

    /// Hands calls outside: they are intended like any other, and whoever runs the loop answers for them.
    fn delegate(
        &self,
        session: &mut Session,
        outside: &[Run],
        cancel: &CancellationToken,
    ) -> Option<End> {
        if cancel.is_cancelled() {
            for run in outside {
                self.settle_unrun(session, &run.entry.call, not_started().into());
            }
            return None;
        }
        let calls: Vec<PendingCall> = outside
            .iter()
            .filter_map(|run| self.describe(&run.entry, run.outside.clone()?))
            .collect();
        if calls.is_empty() {
            return None;
        }
        let delegated = Event::CallsDelegated {
            request: request_name(session),
            turn: session.state().turns(),
            calls,
        };
        let intended = outside.iter().map(|run| intention(session, run));
        let events = intended.chain([delegated]).collect();
        session.record_all(events, Vec::new());
        self.pause(session)
    }

    /// Decides what is done with a call. The policy is asked here again, whatever it said before the turn paused.
    fn plan(&self, session: &Session, entry: &BatchCall) -> Plan {
        let call = &entry.call;
        if let Some(output) = entry.decision.as_ref().and_then(answer_of) {
            return Plan::Answer(output);
        }
        if self.is_in_doubt(entry) {
            return Plan::Answer(interrupted(&call.name).into());
        }
        let Some(tool) = self.tool(&call.name) else {
            return Plan::Answer(self.unknown(&call.name).into());
        };
        let Some(input) = entry.effective_input().cloned() else {
            return Plan::Answer(not_an_object().into());
        };
        if let Err(failure) = self.tools.validate(&call.name, &input) {
            return Plan::Answer(failure.into());
        }
        // An interrupted run that is repeated needs no less than a first one.
        let confirmed = entry.decision.is_some() || !entry.answers.is_empty();
        match self.decide_call(session, tool, &input) {
            Ruling::Deny { rule, reason, .. } => Plan::Answer(ToolResultOutput::ExecutionDenied(
                Some(format!("{reason} (rule {rule})")),
            )),
            Ruling::Ask { rule } if !confirmed => Plan::Answer(self.nobody_to_ask(&rule)),
            Ruling::Ask { rule } | Ruling::Allow { rule } => Plan::Run(Box::new(Run {
                entry: entry.clone(),
                input,
                effect: tool.effect,
                outside: (tool.runtime == ToolRuntime::External).then_some(rule),
            })),
        }
    }

    /// Runs calls side by side and records how they ended, in the order of the calls. Where one asked a person something, the
    /// turn waits; of several, the first is heard, and the others ask again when they run again.
    async fn run_group(
        &self,
        session: &mut Session,
        group: Vec<Run>,
        cancel: &CancellationToken,
    ) -> Result<Option<StepResult>, TurnError> {
        if cancel.is_cancelled() {
            for run in &group {
                self.settle_unrun(session, &run.entry.call, not_started().into());
            }
            return Ok(None);
        }
        if group.is_empty() {
            return Ok(None);
        }
        for run in &group {
            session.record(intention(session, run), Vec::new());
        }
        if session.decision_is_undurable() || group.iter().any(|run| run.effect != Effect::ReadOnly)
        {
            session.barrier(self.observer.as_ref()).await?;
        }
        let id = session.id();
        let shared = session.state().shared();
        let mut ends = stream::iter(group.into_iter().map(|run| async move {
            let end = self.run_call(id, &run, shared, cancel).await;
            (run, end)
        }))
        .buffered(self.settings.parallel_calls.max(1));
        let mut ended = Vec::new();
        while let Some(pair) = ends.next().await {
            ended.push(pair);
        }
        drop(ends);
        let mut first_question = None;
        for (run, end) in ended {
            match end {
                RunEnd::Settled(report) => record_settled(session, &run.entry.call, report),
                RunEnd::Asked(asked) => {
                    first_question.get_or_insert((run, asked));
                }
            }
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

    async fn run_call(
        &self,
        session: SessionId,
        run: &Run,
        shared: &Arc<Map<String, Value>>,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let call = &run.entry.call;
        let (call_id, tool) = (&call.id, call.name.as_str());
        if cancel.is_cancelled() {
            return self.unrun(call, not_started().into()).into();
        }
        let began = Instant::now();
        self.observer.live(Live::CallStarted {
            call_id,
            tool,
            input: &run.input,
        });
        let invocation = Invocation {
            session,
            call_id: call_id.clone(),
            tool: call.name.clone(),
            input: run.input.clone(),
            idempotency_key: idempotency_key(session, call_id),
            shared: Arc::clone(run.entry.shared.as_ref().unwrap_or(shared)),
            answers: run.entry.answers.clone(),
            can_ask: self.settings.prompts == Prompts::Ask,
        };
        let progress = |message: &str, fraction: Option<f64>| {
            self.observer.live(Live::CallProgress {
                call_id,
                message,
                fraction,
            });
        };
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => stopped(run.effect, began, self.unused(tool)).into(),
            end = self.run_tool(invocation, run.effect, &progress) => end,
        };
        let report = match self.heard(&run.entry, end) {
            RunEnd::Settled(report) => checked(report),
            asked @ RunEnd::Asked(_) => return asked,
        };
        let wall_us = report.accounting.wall_us;
        let input = Some(&run.input);
        self.observer.live(Live::CallEnded {
            call_id,
            tool,
            input,
            output: &report.output,
            wall_us,
        });
        report.into()
    }

    /// A question that nobody can or should answer settles the call.
    fn heard(&self, entry: &BatchCall, end: RunEnd) -> RunEnd {
        let RunEnd::Asked(asked) = end else {
            return end;
        };
        let output = if self.settings.prompts == Prompts::Deny {
            ToolResultOutput::ExecutionDenied(Some(
                "The tool asked a person a question, and nobody can be asked in this run."
                    .to_owned(),
            ))
        } else if entry.answers.len() >= MAX_QUESTIONS {
            ToolFailure::invalid_output(format!(
                "The tool asked more than {MAX_QUESTIONS} questions in one call."
            ))
            .into()
        } else if let Err(failure) = asked.question.validate() {
            failure.into()
        } else {
            return RunEnd::Asked(asked);
        };
        RunEnd::Settled(CallReport {
            accounting: asked.accounting,
            audit: asked.audit,
            ..CallReport::of(output)
        })
    }

    /// Answers a call that does not run.
    pub(super) fn settle_unrun(
        &self,
        session: &mut Session,
        call: &ToolCall,
        output: ToolResultOutput,
    ) {
        let report = self.unrun(call, output);
        record_settled(session, call, report);
    }

    /// The report of a call that did not run.
    fn unrun(&self, call: &ToolCall, output: ToolResultOutput) -> CallReport {
        self.observer.live(Live::CallEnded {
            call_id: &call.id,
            tool: &call.name,
            input: call.input.as_ref(),
            output: &output,
            wall_us: 0,
        });
        CallReport {
            accounting: self.unused(&call.name),
            ..CallReport::of(output)
        }
    }

    /// The account of a call that used nothing: the limits that would have held, or did.
    fn unused(&self, tool: &str) -> Accounting {
        Accounting {
            limits: self.tools.limits(tool).cloned(),
            ..Accounting::default()
        }
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let names: Vec<&str> = self
            .tools
            .tools()
            .iter()
            .map(|tool| tool.definition.name.as_str())
            .collect();
        let name = name.escape_debug();
        let message = if names.is_empty() {
            format!("There is no tool `{name}`; this run has no tools.")
        } else {
            format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            )
        };
        ToolFailure::new(ToolErrorCode::UnknownTool, message)
    }

    fn nobody_to_ask(&self, rule: &str) -> ToolResultOutput {
        let why = match self.settings.prompts {
            Prompts::Deny => "nobody can be asked in this run",
            Prompts::Ask => "nobody has confirmed it",
        };
        ToolResultOutput::ExecutionDenied(Some(format!(
            "This call needs a person's approval (rule {rule}), and {why}."
        )))
    }
}

fn intention(session: &Session, run: &Run) -> Event {
    Event::CallIntended {
        call_id: run.entry.call.id.clone(),
        tool: run.entry.call.name.clone(),
        input: run.input.clone(),
        input_digest: json_digest(&Value::Object(run.input.clone())),
        effect: run.effect,
        idempotency_key: idempotency_key(session.id(), &run.entry.call.id),
    }
}

/// The same for every attempt at a call, and different for every call of every session.
fn idempotency_key(session: SessionId, call: &CallId) -> String {
    json_digest(&json!([session, call])).hex()
}

fn question(session: &Session, run: &Run, asked: Asked) -> Event {
    Event::QuestionAsked {
        request: request_name(session),
        turn: session.state().turns(),
        call_id: run.entry.call.id.clone(),
        tool: run.entry.call.name.clone(),
        question: asked.question,
        answered_by: asked.answered_by,
        accounting: asked.accounting,
        audit: asked.audit,
    }
}

fn record_settled(session: &mut Session, call: &ToolCall, report: CallReport) {
    let CallReport {
        output,
        accounting,
        audit,
        merges,
    } = report;
    let settled = settle(output);
    let (call_id, tool) = (call.id.clone(), call.name.clone());
    let settled_event = Event::CallSettled {
        call_id: call_id.clone(),
        tool,
        output: settled.output,
        accounting,
        audit,
    };
    let merged = merges.into_iter().map(|delta| Event::StateMerged {
        call_id: call_id.clone(),
        delta,
    });
    let events = std::iter::once(settled_event).chain(merged).collect();
    session.record_all(events, settled.blobs);
}

/// The result that a decision itself gives; nothing where the call is to run.
pub(super) fn answer_of(decision: &Decision) -> Option<ToolResultOutput> {
    match decision {
        Decision::Approve { .. } | Decision::Edit { .. } => None,
        Decision::Reject { reason, .. } => Some(ToolResultOutput::ExecutionDenied(reason.clone())),
        Decision::Respond { text, .. } => Some(ToolResultOutput::Text(text.clone())),
    }
}

/// Whoever ran the call: a result that could not be shown to a model, or read again from the journal, goes no further.
fn checked(report: CallReport) -> CallReport {
    match report.output.validate() {
        Ok(()) => report,
        Err(failure) => CallReport {
            output: failure.into(),
            merges: Vec::new(),
            ..report
        },
    }
}

/// The report of a call that was stopped while it ran.
fn stopped(effect: Effect, began: Instant, unused: Accounting) -> CallReport {
    let message = match effect {
        Effect::ReadOnly => "The call was stopped before it ended.",
        Effect::Idempotent | Effect::Effectful => {
            "The call was stopped before it ended. Whether it took effect is not known."
        }
    };
    CallReport {
        accounting: Accounting {
            wall_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            ..unused
        },
        ..CallReport::of(ToolFailure::new(ToolErrorCode::Cancelled, message).into())
    }
}

/// What the model is told about a call that ran when the host died.
pub(super) fn interrupted(tool: &str) -> ToolFailure {
    let message = format!(
        "The host stopped while `{tool}` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again."
    );
    ToolFailure::new(ToolErrorCode::InterruptedUnknown, message)
}

fn not_started() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::Cancelled,
        "The run was stopped before this call began.",
    )
}

fn not_an_object() -> ToolFailure {
    let message = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";
    ToolFailure::new(ToolErrorCode::InvalidInput, message)
}
