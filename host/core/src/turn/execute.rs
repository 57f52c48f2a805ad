//! The tool step: every call of the batch gets exactly one result, in the order of the calls.
//!
//! What must not happen is decided first (unknown tools, bad arguments, refusals, interrupted runs). What remains runs:
//! neighbours that are read-only side by side, everything else alone and only after its intention is durable.

use super::{Agent, Decision, End, Prompts, StepOutput, StepResult, Transition, TurnError};
use crate::{
    accounting::Accounting,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::json_digest,
    observer::Live,
    output::{ToolResultOutput, settle},
    policy::{Ruling, decide_call},
    session::{BatchCall, Session},
    tool::{CallReport, Effect, Invocation, ToolCall},
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What is to be done with one call.
enum Plan {
    /// It is answered without running.
    Answer(ToolResultOutput),
    /// It runs.
    Run(Run),
}

/// A call that runs.
struct Run {
    call: ToolCall,
    input: Map<String, Value>,
    effect: Effect,
}

impl Agent {
    pub(super) async fn execute_tools(
        &self,
        session: &mut Session,
        cancel: &CancellationToken,
    ) -> Result<StepResult, TurnError> {
        let batch: Vec<BatchCall> = session.state().batch().to_vec();
        let mut group: Vec<Run> = Vec::new();
        for entry in batch.iter().filter(|entry| entry.result.is_none()) {
            match self.plan(entry) {
                Plan::Run(run) if run.effect == Effect::ReadOnly => group.push(run),
                Plan::Run(run) => {
                    self.run_group(session, std::mem::take(&mut group), cancel)
                        .await?;
                    self.run_group(session, vec![run], cancel).await?;
                }
                Plan::Answer(output) => {
                    self.run_group(session, std::mem::take(&mut group), cancel)
                        .await?;
                    self.settle_unrun(session, &entry.call, output);
                }
            }
        }
        self.run_group(session, group, cancel).await?;
        let results = session
            .state()
            .messages()
            .last()
            .map(|message| message.tool_results.clone())
            .unwrap_or_default();
        let end = if cancel.is_cancelled() {
            End::Cancelled
        } else {
            End::NeedsMoreTurns
        };
        Ok(StepResult {
            output: StepOutput::Tool(results),
            transition: Transition::End(end),
        })
    }

    /// Decides what is done with a call. The policy is asked here again, whatever it said before the turn paused.
    fn plan(&self, entry: &BatchCall) -> Plan {
        let call = &entry.call;
        if let Some(output) = entry.decision.as_ref().and_then(answer_of) {
            return Plan::Answer(output);
        }
        if entry.intended == Some(Effect::Effectful) {
            return Plan::Answer(interrupted(&call.name).into());
        }
        let Some(tool) = self.tool(&call.name) else {
            return Plan::Answer(self.unknown(&call.name).into());
        };
        let Some(input) = call.input.clone() else {
            return Plan::Answer(not_an_object().into());
        };
        let input = match &entry.decision {
            Some(Decision::Edit { input, .. }) => input.clone(),
            None
            | Some(Decision::Approve { .. } | Decision::Reject { .. } | Decision::Respond { .. }) => {
                input
            }
        };
        if let Err(failure) = self.tools.validate(&call.name, &input) {
            return Plan::Answer(failure.into());
        }
        // An interrupted run that is repeated needs no less than a first one.
        let confirmed = entry.decision.is_some();
        match decide_call(tool.effect, tool.approval) {
            Ruling::Deny { rule, reason, .. } => Plan::Answer(ToolResultOutput::ExecutionDenied(
                Some(format!("{reason} (rule {rule})")),
            )),
            Ruling::Ask { rule } if !confirmed => Plan::Answer(self.nobody_to_ask(&rule)),
            Ruling::Ask { .. } | Ruling::Allow { .. } => Plan::Run(Run {
                call: call.clone(),
                input,
                effect: tool.effect,
            }),
        }
    }

    /// Runs calls side by side and records their results in the order of the calls.
    async fn run_group(
        &self,
        session: &mut Session,
        group: Vec<Run>,
        cancel: &CancellationToken,
    ) -> Result<(), TurnError> {
        if cancel.is_cancelled() {
            for run in &group {
                self.settle_unrun(session, &run.call, not_started().into());
            }
            return Ok(());
        }
        if group.is_empty() {
            return Ok(());
        }
        for run in &group {
            session.record(intention(session, run), Vec::new());
        }
        if session.decision_is_undurable() || group.iter().any(|run| run.effect != Effect::ReadOnly)
        {
            session.barrier(self.observer.as_ref()).await?;
        }
        let id = session.id();
        let mut reports = stream::iter(group.into_iter().map(|run| async move {
            let report = self.run_call(id, &run, cancel).await;
            (run, report)
        }))
        .buffered(self.settings.parallel_calls.max(1));
        let mut settled = Vec::new();
        while let Some(pair) = reports.next().await {
            settled.push(pair);
        }
        drop(reports);
        for (run, report) in settled {
            record_settled(session, &run.call, report);
        }
        Ok(())
    }

    async fn run_call(
        &self,
        session: crate::id::SessionId,
        run: &Run,
        cancel: &CancellationToken,
    ) -> CallReport {
        let (call_id, tool) = (&run.call.id, run.call.name.as_str());
        if cancel.is_cancelled() {
            return self.unrun(&run.call, not_started().into());
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
            tool: run.call.name.clone(),
            input: run.input.clone(),
            idempotency_key: idempotency_key(session, call_id),
        };
        let progress = |message: &str, fraction: Option<f64>| {
            self.observer.live(Live::CallProgress {
                call_id,
                message,
                fraction,
            });
        };
        let report = tokio::select! {
            biased;
            () = cancel.cancelled() => stopped(run.effect, began, self.unused(tool)),
            report = self.tools.run(invocation, &progress) => checked(report),
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
        report
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
            output,
            accounting: self.unused(&call.name),
            audit: Vec::new(),
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
        call_id: run.call.id.clone(),
        tool: run.call.name.clone(),
        input: run.input.clone(),
        input_digest: json_digest(&Value::Object(run.input.clone())),
        effect: run.effect,
        idempotency_key: idempotency_key(session.id(), &run.call.id),
    }
}

/// The same for every attempt at a call, and different for every call of every session.
fn idempotency_key(session: crate::id::SessionId, call: &crate::id::CallId) -> String {
    json_digest(&json!([session, call])).hex()
}

fn record_settled(session: &mut Session, call: &ToolCall, report: CallReport) {
    let CallReport {
        output,
        accounting,
        audit,
    } = report;
    let settled = settle(output);
    let (call_id, tool) = (call.id.clone(), call.name.clone());
    session.record(
        Event::CallSettled {
            call_id,
            tool,
            output: settled.output,
            accounting,
            audit,
        },
        settled.blobs,
    );
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
        output: ToolFailure::new(ToolErrorCode::Cancelled, message).into(),
        accounting: Accounting {
            wall_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            ..unused
        },
        audit: Vec::new(),
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
