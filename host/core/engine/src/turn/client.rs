//! Calls of an external client with its own loop: its model requests one call at a time, and its
//! user is asked through it.
//!
//! Such a call passes the same policy, limits and journal as one of the loop's own model, by the
//! same code. The differences: several run concurrently in one session, and the client's server
//! holds a paused call. Budgets belong to a user's message and do not apply.

use super::{
    Agent, Prompts, TurnContext,
    approval::request_name,
    begin::refuse,
    budget::Share,
    facts::{MAX_DECISIONS, contended, counted_call, facts_of},
    job::{Caller, Unsettled, question},
    plan::{CallPlan, CallRun},
    review::reviewed,
};
use crate::{
    BoxFuture,
    journal::JournalError,
    session::{BatchCall, ClientSession, Session},
    tool::{CallReport, RunEnd},
};
use agent_host_types::{
    approval::Decision,
    continuation::{PendingCall, WaitingChild},
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::CallId,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, AnsweredQuestion, PendingQuestion, Question},
    tool::{Effect, ToolCall, ToolRuntime},
    turn::{AgentInput, TurnError},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call of a client, from its request to its result.
#[derive(Debug)]
pub struct ClientCall {
    entry: BatchCall,
    /// The question that ended its last run, with that run.
    asked: Option<(Box<CallRun>, PendingQuestion)>,
    /// The result, if the user's answer is the result.
    answered: Option<ToolResultOutput>,
    /// Whether a decision or an answer is recorded that may not be durable yet.
    fresh: bool,
    /// The depth of the agent whose call it is; 0 if the client says nothing of one.
    agent_depth: u8,
    /// The run of the agent that waits.
    agent: Option<Box<CallRun>>,
}

/// An error of the journal that leaves a client's call without a result.
#[derive(Debug, thiserror::Error)]
pub enum ClientCallError {
    /// The call did not run.
    #[error("a call did not run: {0}")]
    NotRun(#[source] JournalError),
    /// The call ran. Its result is returned only after it is stored, once the journal can be
    /// written again.
    #[error("a call ran, but its result is not stored yet: {0}")]
    NotStored(#[source] JournalError),
}

/// The state of a client's call after a run.
#[derive(Debug)]
pub enum ClientCallEnd {
    /// The call has its result.
    Settled {
        /// The whole result, bytes included; the journal stores large parts as blobs.
        output: ToolResultOutput,
        /// The end of the tool's output to stdout and stderr, for display.
        stdio: String,
    },
    /// The call needs approval. [`Agent::decide_client_call`] takes the decision; then it can
    /// resume.
    Confirm(Box<PendingCall>),
    /// The call asks the user. [`Agent::answer_client_call`] takes the answer; then it can resume.
    Question(Question),
    /// The agent of the call waits. [`Agent::resume_client_agent`] takes what it continues with;
    /// then the call can resume.
    Agent(Box<WaitingChild>),
}

impl ClientCall {
    /// Returns the id that the host assigned.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.entry.call.id
    }

    fn caller(&self, agent: &Agent, session: &Session) -> Caller {
        let mut caller = Caller::for_session(session, &agent.settings);
        caller.agent_depth = self.agent_depth;
        caller
    }
}

impl Agent {
    /// Creates a call of an agent of the client at this depth, or 0 where none is known. Nothing is
    /// recorded before [`Self::run_client_call`].
    #[must_use]
    pub fn client_call(
        &self,
        session: &ClientSession,
        tool: String,
        input: Map<String, Value>,
        agent_depth: u8,
    ) -> ClientCall {
        let call = ToolCall {
            id: session.new_call_id(),
            input: Some(Arc::new(self.with_integers(&tool, input))),
            name: tool,
            raw_arguments: String::new(),
        };
        ClientCall {
            entry: BatchCall::new(&call),
            asked: None,
            answered: None,
            fresh: false,
            agent_depth,
            agent: None,
        }
    }

    /// Runs a call until it is settled or needs the user, as [`crate::turn::Settings::prompts`]
    /// allows.
    ///
    /// A read-only call waits for no barrier: the next one makes its records durable. Any other is
    /// durably intended before it runs, and durably settled before this returns.
    ///
    /// # Errors
    /// When the journal cannot be written. The next call of the session retries the write.
    pub fn run_client_call<'a>(
        &'a self,
        session: &'a ClientSession,
        call: &'a mut ClientCall,
        cx: &'a TurnContext<'a>,
    ) -> BoxFuture<'a, Result<ClientCallEnd, ClientCallError>> {
        Box::pin(async move {
            let flushed = session.flush_if_full(cx.observer).await;
            flushed.map_err(ClientCallError::NotRun)?;
            if let Some(waiting) = &mut call.agent {
                let resumed_with = waiting.resumed_with.take();
                let run = CallRun {
                    resumed_with,
                    ..(**waiting).clone()
                };
                return self.work_of_client(session, call, run.into(), cx).await;
            }
            if let Some(output) = call.answered.take() {
                return Ok(self.settle_skipped_call(session, cx, call, output));
            }
            let id = session.lock().id();
            if let Some(review) = self.review(id, &call.entry, None, cx).await {
                let event = reviewed(&call.entry, review.clone());
                session.lock().record(event, Vec::new());
                call.entry.review = Some(review);
            }
            let plan = Box::pin(self.plan_of_client(session, &call.entry, cx)).await;
            let run = match plan.map_err(ClientCallError::NotRun)? {
                CallPlan::Run(run) if run.runtime == ToolRuntime::External => {
                    return Ok(self.settle_skipped_call(session, cx, call, external_tool()));
                }
                CallPlan::Run(run) => run,
                CallPlan::Answer(report) => {
                    return Ok(self.settle_skipped_call(session, cx, call, *report));
                }
                CallPlan::Ask(rule) => {
                    let asks = self.settings.prompts == Prompts::Ask;
                    let pending = self.describe(&session.lock(), &call.entry, rule.clone());
                    if let Some(pending) = pending.filter(|_| asks) {
                        return Ok(ClientCallEnd::Confirm(Box::new(pending)));
                    }
                    return Ok(self.settle_skipped_call(session, cx, call, self.unapproved(&rule)));
                }
            };
            self.run_planned(session, call, run, cx).await
        })
    }

    /// Plans a call of a client, and counts it if it runs and a rule counts it.
    async fn plan_of_client(
        &self,
        session: &ClientSession,
        entry: &BatchCall,
        cx: &TurnContext<'_>,
    ) -> Result<CallPlan, JournalError> {
        let Some(wanted) = self.wanted_facts(&entry.call.name) else {
            return Ok(self.plan(&session.lock(), entry, None, cx));
        };
        let journal = session.lock().journal();
        for _ in 0..MAX_DECISIONS {
            let is_unstored = session.lock().is_unstored();
            if is_unstored {
                // The journal knows the owner of a session that is durable.
                session.flush(cx.observer).await?;
            }
            let (facts, countable) = facts_of(&*journal, None, entry, &wanted).await?;
            let plan = {
                let mut session = session.lock();
                session.know_facts(&entry.call.id, facts);
                self.plan(&session, entry, None, cx)
            };
            let (CallPlan::Run(run), Some(countable)) = (&plan, countable) else {
                return Ok(plan);
            };
            let call = counted_call(run, &wanted, countable);
            if run.runtime == ToolRuntime::External || journal.count_call(call).await? {
                return Ok(plan);
            }
        }
        Ok(CallPlan::answer(contended()))
    }

    /// Runs a call that may run, with a durable record before it if it may change something or has
    /// a session.
    async fn run_planned(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        mut run: Box<CallRun>,
        cx: &TurnContext<'_>,
    ) -> Result<ClientCallEnd, ClientCallError> {
        {
            let mut session = session.lock();
            // The first run sees the session as it is now, whatever other calls change before it
            // starts, and a run that resumes after a question sees the same.
            let snapshot = || session.state().snapshot();
            let snapshot = call.entry.snapshot.get_or_insert_with(snapshot);
            run.entry.snapshot = Some(snapshot.clone());
            self.intend(&mut session, &run);
        }
        if (std::mem::take(&mut call.fresh) || !is_light(&run))
            && let Err(error) = session.flush(cx.observer).await
        {
            // If the intent is stored later, so is its result: the call did not run.
            self.settle_skipped(&mut session.lock(), cx, &call.entry.call, unwritable());
            return Err(ClientCallError::NotRun(error));
        }
        self.work_of_client(session, call, run, cx).await
    }

    /// Does the work of a call until it has its result or needs the user, with a durable record
    /// after it as before it. The client's calls have no budgets, so an agent has its own.
    async fn work_of_client(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        run: Box<CallRun>,
        cx: &TurnContext<'_>,
    ) -> Result<ClientCallEnd, ClientCallError> {
        let caller = call.caller(self, &session.lock());
        let report = match self.work(&caller, &run, &Share::default(), cx).await {
            Ok(RunEnd::Settled(report)) => report,
            Ok(RunEnd::Asked(asked)) => {
                let question = asked.question.clone();
                call.asked = Some((run, asked));
                return Ok(ClientCallEnd::Question(question));
            }
            Err(Unsettled::Waiting(waiting)) => {
                call.agent = Some(Box::new(CallRun {
                    resumed_with: None,
                    ..*run
                }));
                return Ok(ClientCallEnd::Agent(waiting));
            }
            Err(Unsettled::Drained) => CallReport::of(ToolFailure::stopped(run.effect).into()),
            Err(Unsettled::Failed(error)) => CallReport::of(failed(&error).into()),
        };
        call.agent = None;
        let settled = self.settle_client_call(session, &call.entry.call, report);
        if !is_light(&run) {
            let stored = session.flush(cx.observer).await;
            stored.map_err(ClientCallError::NotStored)?;
        }
        Ok(settled)
    }

    /// Records the result of a call.
    fn settle_client_call(
        &self,
        session: &ClientSession,
        call: &ToolCall,
        mut report: CallReport,
    ) -> ClientCallEnd {
        let mut locked = session.lock();
        // The client's loop is not ours to end.
        report.changes.retain(|change| !change.is_halt());
        let report = self.within_quota(&locked, report, ToolResultOutput::from);
        let changes = report.changes.clone();
        let settled = ClientCallEnd::Settled {
            output: report.output.clone(),
            stdio: report.accounting.stdio.clone(),
        };
        self.settle(&mut locked, call, report);
        session.forward_changes(&locked, changes);
        settled
    }

    /// Sets what the agent of a call continues with. [`Self::run_client_call`] resumes it.
    ///
    /// # Errors
    /// When no agent of the call waits.
    pub fn resume_client_agent(
        &self,
        call: &mut ClientCall,
        input: AgentInput,
    ) -> Result<(), TurnError> {
        let id = call.entry.call.id.clone();
        let Some(run) = &mut call.agent else {
            return Err(refuse(format!("no agent of call {id} is waiting")));
        };
        run.resumed_with = Some(input);
        Ok(())
    }

    /// Records the user's decision about a call. [`Self::run_client_call`] resumes the call.
    ///
    /// # Errors
    /// When the decision is not allowed for this call; nothing is recorded then.
    pub fn decide_client_call(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        pending: PendingCall,
        decision: Decision,
    ) -> Result<(), TurnError> {
        if pending.call_id != call.entry.call.id {
            return Err(refuse(format!(
                "the question came from call {}, and this is call {}",
                pending.call_id, call.entry.call.id
            )));
        }
        let calls = [pending];
        self.check_decisions(&calls, std::slice::from_ref(&decision))?;
        let mut session = session.lock();
        let request = request_name(&session);
        let decided = self.decided(request.clone(), &calls, vec![decision.clone()], None);
        let requested = Event::ApprovalRequested {
            request,
            turn: session.state().turns(),
            index: 0,
            calls: calls.into(),
            expires_at_ms: None,
        };
        // Recorded together: a request alone would look like an open one.
        let events = std::iter::once(requested).chain(decided).collect();
        session.record_all(events, Vec::new());
        call.entry.decide(decision);
        call.fresh = true;
        Ok(())
    }

    /// Records the user's answer to a call's question. [`Self::run_client_call`] resumes the call.
    ///
    /// # Errors
    /// When there is no question, or it does not allow the answer; nothing is recorded then.
    pub fn answer_client_call(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        answer: Answer,
    ) -> Result<(), TurnError> {
        let Some((run, asked)) = call.asked.clone() else {
            return Err(refuse(format!(
                "call {} has not asked a question",
                call.entry.call.id
            )));
        };
        let text = asked.question.clone();
        text.check(&answer)
            .map_err(|why| refuse(format!("invalid answer: {why}")))?;
        call.asked = None;
        if asked.answered_by == AnsweredBy::Result {
            call.answered = Some(text.result(&answer));
        }
        let mut session = session.lock();
        let request = request_name(&session);
        let asked = question(&session, &run, asked);
        let answered = Event::AnswerReceived {
            request,
            call_id: call.entry.call.id.clone(),
            answer: answer.clone(),
            by: None,
        };
        session.record_all(vec![asked, answered], Vec::new());
        call.fresh = true;
        call.entry.answers.push(AnsweredQuestion {
            question: text,
            answer,
        });
        Ok(())
    }

    /// Answers a call that does not run, and records its request with the answer.
    fn settle_skipped_call(
        &self,
        session: &ClientSession,
        cx: &TurnContext<'_>,
        call: &ClientCall,
        report: impl Into<CallReport>,
    ) -> ClientCallEnd {
        let report = report.into();
        let tool_call = &call.entry.call;
        let mut session = session.lock();
        if call.entry.decision.is_none() && call.entry.answers.is_empty() {
            let received = Event::CallReceived {
                call_id: tool_call.id.clone(),
                tool: tool_call.name.clone(),
                input: tool_call.input.clone().unwrap_or_default(),
            };
            session.record(received, Vec::new());
        }
        let output = report.output.clone();
        self.settle_skipped(&mut session, cx, tool_call, report);
        ClientCallEnd::Settled {
            output,
            stdio: String::new(),
        }
    }
}

/// Whether a call changes nothing and has no session, so that its records need not be durable.
fn is_light(run: &CallRun) -> bool {
    run.effect == Effect::ReadOnly && run.runtime == ToolRuntime::Host
}

/// Returns the result of an agent whose session cannot be continued.
fn failed(error: &TurnError) -> ToolFailure {
    let message = format!(
        "The agent cannot continue: {error}. Its work so far is in its session; check that before you start it again."
    );
    ToolFailure::new(ToolErrorCode::AgentFailed, message)
}

/// Returns the result of a call whose intent could not be stored.
fn unwritable() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This call did not run: the journal could not be written.",
    )
}

/// Returns the result of a call whose tool runs externally.
fn external_tool() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This tool runs outside of the host, in the program that drives the agent loop; it cannot be called from here.",
    )
}
