//! The work of one call of a batch, of a client or of a node: its intent, its run, and its end. It is
//! planned before ([`super::plan`]).

use super::{
    Agent, Prompts, Settings, TurnContext, approval::request_name, budget::Share, hooks::decided,
    plan::CallRun,
};
use crate::{
    artifact::{MAX_STORED, SessionArtifacts, Stored, result_name},
    flow::RunFiles,
    observer::{Live, Traced},
    session::{BatchCall, Session, Snapshot},
    spill::spill_output,
    tool::{CallReport, CallUpdate, Invocation, RunEnd, SessionChange},
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    approval::ApprovalRule,
    audit::AuditRequest,
    continuation::WaitingChild,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    flow::LabelledFile,
    id::{CallId, SessionId},
    output::ToolResultOutput,
    question::{MAX_QUESTIONS, PendingQuestion},
    tool::{ToolCall, ToolRuntime},
    turn::TurnError,
};
use std::{
    borrow::Cow,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// The time for a runner to stop a call and report its usage. After that the run is dropped, and
/// its usage is unknown.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// The part of an invocation that all calls of a session share.
pub(super) struct Caller {
    pub(super) session: SessionId,
    pub(super) snapshot: Snapshot,
    artifacts: SessionArtifacts,
    /// The depth of the agent that calls.
    pub(super) agent_depth: u8,
    /// The approvals remembered in the session, which hold for the calls of its programs.
    pub(super) remembered: Vec<ApprovalRule>,
    /// The files of its run.
    pub(super) files: RunFiles,
    /// The sources of its shared state.
    pub(super) shared_sources: Vec<String>,
}

impl Caller {
    pub(super) fn for_session(session: &Session, settings: &Settings) -> Self {
        Self {
            session: session.id(),
            snapshot: session.state().snapshot(),
            artifacts: session.artifacts().with_quota(settings.artifact_bytes),
            agent_depth: settings.agent_depth,
            remembered: session.state().remembered().to_vec(),
            files: session.state().flow.files.run(),
            shared_sources: session.state().flow.sources_of_shared().cloned().collect(),
        }
    }
}

/// Returns the event that the agent of a call wrote files with text of sources that count, if it did.
pub(super) fn files_labelled(call_id: &CallId, files: Vec<LabelledFile>) -> Option<Event> {
    (!files.is_empty()).then(|| Event::FilesLabelled {
        call_id: call_id.clone(),
        files,
    })
}

/// How the work of a call ended.
pub(super) type JobEnd = Result<RunEnd, Unsettled>;

/// Why the work of a call has no end yet.
pub(super) enum Unsettled {
    /// Its session waits for the user.
    Waiting(Box<WaitingChild>),
    /// The turn was drained. The call stays open, and its session continues with the next turn.
    Drained,
    Failed(TurnError),
}

impl From<TurnError> for Unsettled {
    fn from(error: TurnError) -> Self {
        Self::Failed(error)
    }
}

impl Agent {
    /// Does the work of a call: of a tool, of an agent, or in a session for it alone.
    pub(super) async fn work(
        &self,
        caller: &Caller,
        run: &CallRun,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> JobEnd {
        match (&run.in_session, run.runtime) {
            (Some(child), _) => self.run_in_session(child, caller, run, share, cx).await,
            (None, ToolRuntime::Agent) => self.run_agent(caller, run, share, cx).await,
            (None, ToolRuntime::Host | ToolRuntime::External) => {
                Ok(self.run_call(caller, run, cx).await)
            }
        }
    }

    /// Records that a call is about to run, and that its agent gets a session.
    pub(super) fn intend(&self, session: &mut Session, run: &CallRun) {
        let events = std::iter::once(call_intended(run)).chain(self.spawned(session, run));
        session.record_all(events.collect(), Vec::new());
    }

    /// Returns the event that the agent of a call gets a session.
    pub(super) fn spawned(&self, session: &Session, run: &CallRun) -> Option<Event> {
        let call = &run.entry.call;
        let child = match run.runtime {
            ToolRuntime::Agent => match run.in_session.as_deref() {
                Some(child) => Cow::Borrowed(child),
                None => self.sub_agent(&call.name, &run.input)?,
            },
            ToolRuntime::Host | ToolRuntime::External => return None,
        };
        Some(Event::AgentSpawned {
            call_id: call.id.clone(),
            session: self.key.child(session.id(), &call.id),
            agent: child.name.clone(),
            definition: child.definition,
        })
    }

    /// Records the end of a call that ran.
    pub(super) fn settle(&self, session: &mut Session, call: &ToolCall, report: CallReport) {
        let labels = self.labels(session, call, &report);
        self.settle_labelled(session, call, report, labels);
    }

    /// Records the end of a call whose result has these untrusted sources.
    fn settle_labelled(
        &self,
        session: &mut Session,
        call: &ToolCall,
        report: CallReport,
        labels: Vec<String>,
    ) {
        let report = self.within_quota(session, report, ToolResultOutput::from);
        let (call_id, tool) = (call.id.clone(), call.name.clone());
        let (mut spilled, reference) = match self.quarantine(session, &report.output, &labels) {
            Some((spilled, reference)) => (spilled, Some(reference)),
            None => {
                let name = result_name(&call.id).to_string();
                (spill_output(report.output, &name), None)
            }
        };
        let changes = report.changes.into_iter();
        let changed: Vec<Event> = changes
            .map(|change| change.into_event(&call_id, &tool, &mut spilled.blobs))
            .collect();
        let labelled = files_labelled(&call_id, report.files);
        let accounting = unknown_limits(session, &tool, report.accounting);
        session.facts.remove(&call_id);
        let settled = Event::CallSettled {
            call_id,
            tool,
            output: spilled.output,
            whole: spilled.whole,
            child: report.child,
            accounting,
            audit: report.audit,
            rule: report.rule,
            path: Vec::new(),
            labels,
            reference,
            tape: None,
        };
        let events = decided(report.verdicts, Some(&call.id))
            .chain([settled])
            .chain(labelled)
            .chain(changed)
            .collect();
        session.record_all(events, spilled.blobs);
    }

    /// Records the result that an external call was given.
    pub(super) fn settle_external(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
        call: &ToolCall,
        output: ToolResultOutput,
    ) {
        let report = self.skipped_report(call, output, cx);
        self.settle(session, call, report);
    }

    /// Answers a call that does not run, in the host's words, or in those of the sources of the
    /// report.
    pub(super) fn settle_skipped(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
        call: &ToolCall,
        report: impl Into<CallReport>,
    ) {
        let mut report = self.skipped_report(call, report, cx);
        let labels = std::mem::take(&mut report.sources);
        self.settle_labelled(session, call, report, labels);
    }

    async fn run_call(&self, caller: &Caller, run: &CallRun, cx: &TurnContext<'_>) -> RunEnd {
        let call = &run.entry.call;
        let (call_id, tool) = (&call.id, call.name.as_str());
        if cx.cancel.is_cancelled() {
            return self
                .skipped_report(call, ToolFailure::not_started(), cx)
                .into();
        }
        let began = Instant::now();
        cx.observer.live(Live::CallStarted {
            call_id,
            tool,
            input: &run.input,
        });
        let invocation = self.invocation(caller, run, cx);
        let progress = |update: CallUpdate<'_>| {
            cx.observer.live(match update {
                CallUpdate::Progress { message, fraction } => Live::CallProgress {
                    call_id,
                    message,
                    fraction,
                },
                CallUpdate::Output(text) => Live::CallOutput { call_id, text },
            });
        };
        let mut running = pin!(self.run_tool(invocation, run.effect, &progress));
        let ended = tokio::select! {
            biased;
            end = &mut running => Some(end),
            () = cx.cancel.cancelled() => timeout(STOP_GRACE, running).await.ok(),
        };
        let stopped = |accounting, audit| CallReport {
            accounting,
            audit,
            ..CallReport::of(ToolFailure::stopped(run.effect).into())
        };
        let end = match ended {
            // A question of a cancelled run is dropped.
            Some(RunEnd::Asked(asked)) if cx.cancel.is_cancelled() => {
                stopped(asked.accounting, asked.audit).into()
            }
            Some(end) => end,
            // The runner reported neither its usage nor its requests.
            None => {
                let wall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                let unused = self.unused(tool);
                let report = stopped(Accounting { wall_us, ..unused }, Vec::new());
                let files = run.flow.changed();
                CallReport { files, ..report }.into()
            }
        };
        let mut report = match self.resolve_question(&run.entry, end) {
            RunEnd::Settled(report) => checked(report),
            asked @ RunEnd::Asked(_) => return asked,
        };
        let is_cut = |entry: &AuditEntry| entry.request == AuditRequest::Others;
        if run.flow.has_moved() || report.audit.iter().any(is_cut) {
            report.files = run.flow.changed();
        }
        let wall_us = report.accounting.wall_us;
        let input = Some(&*run.input);
        cx.observer.live(Live::CallEnded {
            call_id,
            tool,
            input,
            output: &report.output,
            audit: &report.audit,
            wall_us,
        });
        report.into()
    }

    /// Returns the input of a run.
    pub(super) fn invocation(
        &self,
        caller: &Caller,
        run: &CallRun,
        cx: &TurnContext<'_>,
    ) -> Invocation {
        let call = &run.entry.call;
        let snapshot = run.entry.snapshot.as_ref().unwrap_or(&caller.snapshot);
        Invocation {
            session: caller.session,
            call_id: call.id.clone(),
            tool: call.name.clone(),
            input: run.arguments.clone(),
            idempotency_key: run.idempotency_key.clone(),
            shared: Arc::clone(&snapshot.shared),
            context: Arc::clone(&snapshot.context),
            answers: run.entry.answers.clone(),
            artifacts: Some(caller.artifacts.at(&snapshot.artifacts)),
            agent_depth: caller.agent_depth,
            traceparent: cx
                .observer
                .traceparent(caller.session, Traced::Call(&call.id)),
            sources: run.sources.clone(),
            flow: run.flow.clone(),
            can_ask: self.settings.prompts == Prompts::Ask,
            cancel: cx.cancel.clone(),
        }
    }

    /// Settles a call whose question cannot or should not be answered.
    fn resolve_question(&self, entry: &BatchCall, end: RunEnd) -> RunEnd {
        let RunEnd::Asked(asked) = end else {
            return end;
        };
        let output = if self.settings.prompts == Prompts::Deny {
            ToolResultOutput::ExecutionDenied(Some(
                "The tool asked the user a question, but no one can be asked in this run."
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

    /// Returns the report of a call that did not run.
    fn skipped_report(
        &self,
        call: &ToolCall,
        report: impl Into<CallReport>,
        cx: &TurnContext<'_>,
    ) -> CallReport {
        let report = report.into();
        cx.observer.live(Live::CallEnded {
            call_id: &call.id,
            tool: &call.name,
            input: call.input.as_deref(),
            output: &report.output,
            audit: &report.audit,
            wall_us: 0,
        });
        CallReport {
            accounting: self.unused(&call.name),
            ..report
        }
    }

    /// Turns a success whose artifacts exceed the quota into a failure. Calls that ran beside each
    /// other, and agents, can together store more than was left when each began.
    pub(super) fn within_quota<O>(
        &self,
        session: &Session,
        report: CallReport<O>,
        failed: impl FnOnce(ToolFailure) -> O,
    ) -> CallReport<O> {
        match quota_failure(session, self.settings.artifact_bytes, &report.changes) {
            None => report,
            Some(failure) => CallReport {
                output: failed(failure),
                changes: Vec::new(),
                ..report
            },
        }
    }

    /// Returns the accounting of a call that used nothing, with the limits of its tool.
    fn unused(&self, tool: &str) -> Accounting {
        Accounting {
            limits: self.tools.limits(tool).cloned(),
            ..Accounting::default()
        }
    }
}

/// Returns the accounting without the limits that the session has of the tool's last call.
pub(super) fn unknown_limits(
    session: &Session,
    tool: &str,
    mut accounting: Accounting,
) -> Accounting {
    let known = session.state().limits(tool);
    accounting.limits.take_if(|limits| known == Some(limits));
    accounting
}

/// Returns the event that a call is about to run.
pub(super) fn call_intended(run: &CallRun) -> Event {
    Event::CallIntended {
        call_id: run.entry.call.id.clone(),
        tool: run.entry.call.name.clone(),
        input: run.input.clone(),
        input_digest: run.input_digest,
        effect: run.effect,
        idempotency_key: run.idempotency_key.clone(),
        rule: Some(run.rule.clone()),
        path: Vec::new(),
    }
}

/// Returns the event that a call asked the user a question.
pub(super) fn question(session: &Session, run: &CallRun, asked: PendingQuestion) -> Event {
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

/// Replaces a result that cannot be sent to a model or parsed from the journal, whichever runner
/// returned it. Only a success changes the session, and only one that hooks left.
pub(super) fn checked(mut report: CallReport) -> CallReport {
    if let Err(failure) = report.output.validate() {
        report.output = failure.into();
    }
    if !report.output.is_success() {
        report.changes.clear();
    }
    report
}

/// Returns the failure of a call whose artifacts exceed what is left of the quota.
fn quota_failure(
    session: &Session,
    quota_bytes: u64,
    changes: &[SessionChange],
) -> Option<ToolFailure> {
    let new = changes.iter().filter_map(|change| match change {
        SessionChange::Store(new) => Some(new.bytes().len() as u64),
        SessionChange::Merge(_) | SessionChange::Halt(_) | SessionChange::Delete(_) => None,
    });
    let before = session.state().artifacts().stored;
    let after = new.fold(before, Stored::with);
    (after != before && !after.is_within(quota_bytes)).then(|| {
        ToolFailure::new(
            ToolErrorCode::ResourceLimit,
            format!(
                "The call ended, but its artifacts are not stored: with them the session would have stored {} of {} bytes and {} of {MAX_STORED} artifacts (`artifact-bytes` in [session]).",
                after.bytes, quota_bytes, after.count
            ),
        )
    })
}
