//! Calls of a client that has a loop of its own: its model asks for one call at a time, and its person is asked through it.
//!
//! Such a call passes the same policy, limits and journal as one of the loop's own model, by the same code; the differences:
//! several run side by side in one session, and the server of the client holds a paused call itself. Budgets belong to a user's
//! message and do not apply here.

use super::{
    Agent,
    approval::request_name,
    begin::refuse,
    execute::{Plan, Run, call_intended, question, record_settled},
};
use crate::turn::TurnContext;
use crate::{
    journal::JournalError,
    session::{BatchCall, ClientSession},
    tool::RunEnd,
};
use agent_host_types::{
    approval::Decision,
    continuation::PendingCall,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::CallId,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, AnsweredQuestion, PendingQuestion},
    tool::{Effect, ToolCall, ToolRuntime},
    turn::TurnError,
};
use serde_json::{Map, Value};

/// A call of a client, from when it is asked for until it is settled.
#[derive(Debug)]
pub struct ClientCall {
    entry: BatchCall,
    /// The question with which its last run ended, with that run.
    asked: Option<(Box<Run>, PendingQuestion)>,
    /// Its result, where a person's answer is it.
    answered: Option<ToolResultOutput>,
    /// Whether a decision or an answer was recorded that may not be durable yet.
    fresh: bool,
}

/// Why a call of a client has no result: the journal could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ClientCallError {
    /// It did not run.
    #[error("a call did not run: {0}")]
    NotRun(#[source] JournalError),
    /// It ran. Its result is not told before it is stored, which happens when the journal can be written again.
    #[error("a call ran, and its result is not stored yet: {0}")]
    NotStored(#[source] JournalError),
}

/// The state of a client's call after a run.
#[derive(Debug)]
pub enum ClientCallEnd {
    /// It has its result.
    Settled {
        /// The whole result; the journal has it too, and for what is only read later than the reply.
        output: ToolResultOutput,
        /// The end of what the tool wrote to stdout and stderr, for people.
        stdio: String,
    },
    /// A person has to confirm it: [`Agent::decide_client_call`], and then it goes on.
    Confirm(PendingCall),
    /// It asks a person: [`Agent::answer_client_call`], and then it goes on.
    Question(agent_host_types::question::Question),
}

impl ClientCall {
    /// The id that the host gave it.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.entry.call.id
    }
}

impl Agent {
    /// Takes a call. Nothing is recorded before [`Self::run_client_call`].
    #[must_use]
    pub fn client_call(
        &self,
        session: &ClientSession,
        tool: String,
        input: Map<String, Value>,
    ) -> ClientCall {
        let call = ToolCall {
            id: session.new_call_id(),
            name: tool,
            input: Some(input),
            raw_arguments: String::new(),
        };
        ClientCall {
            entry: BatchCall::new(&call),
            asked: None,
            answered: None,
            fresh: false,
        }
    }

    /// Runs a call until it is settled or a person is needed, as [`crate::turn::Settings::prompts`] allows.
    ///
    /// A read-only call waits for no barrier: what it recorded rides in the next one. Any other is durably intended before it runs,
    /// and durably settled before this returns.
    ///
    /// # Errors
    /// When the journal cannot be written. The next call of the session tries to write again what was not.
    pub async fn run_client_call(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        cx: &TurnContext<'_>,
    ) -> Result<ClientCallEnd, ClientCallError> {
        let room = session.flush_if_full(cx.observer).await;
        room.map_err(ClientCallError::NotRun)?;
        if let Some(output) = call.answered.take() {
            return Ok(self.settle_skipped_call(session, cx, call, output));
        }
        let plan = {
            let session = session.lock();
            match self.pending(&session, &call.entry, cx) {
                Some(pending) => return Ok(ClientCallEnd::Confirm(pending)),
                None => self.plan(&session, &call.entry, cx),
            }
        };
        let run = match plan {
            Plan::Run(run) if run.runtime == ToolRuntime::Host => run,
            Plan::Run(_) => {
                return Ok(self.settle_skipped_call(session, cx, call, external_tool().into()));
            }
            Plan::Answer(output) => return Ok(self.settle_skipped_call(session, cx, call, output)),
        };
        let shared = {
            let mut session = session.lock();
            let shared = session.state().shared().clone();
            // What a run that goes on after a question sees is what its first run saw.
            let shared = call.entry.shared.get_or_insert(shared).clone();
            let intended = call_intended(&session, &run);
            session.record(intended, Vec::new());
            shared
        };
        if (std::mem::take(&mut call.fresh) || run.effect != Effect::ReadOnly)
            && let Err(error) = session.flush(cx.observer).await
        {
            // If the intention is stored later, so is that nothing came of it.
            self.settle_skipped(
                &mut session.lock(),
                cx,
                &call.entry.call,
                unwritable().into(),
            );
            return Err(ClientCallError::NotRun(error));
        }
        let report = match self.run_call(session.id(), &run, &shared, cx).await {
            RunEnd::Settled(report) => report,
            RunEnd::Asked(asked) => {
                let question = asked.question.clone();
                call.asked = Some((run, asked));
                return Ok(ClientCallEnd::Question(question));
            }
        };
        let settled = ClientCallEnd::Settled {
            output: report.output.clone(),
            stdio: report.accounting.stdio.clone(),
        };
        {
            let mut locked = session.lock();
            let merges = report.merges.clone();
            record_settled(&mut locked, &call.entry.call, report);
            session.forward_merges(&locked, merges);
        }
        if run.effect != Effect::ReadOnly {
            let stored = session.flush(cx.observer).await;
            stored.map_err(ClientCallError::NotStored)?;
        }
        Ok(settled)
    }

    /// Takes a person's decision about a call that has to be confirmed. The call goes on with [`Self::run_client_call`].
    ///
    /// # Errors
    /// When it is not one that may be made about this call; nothing is recorded then.
    pub fn decide_client_call(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        pending: PendingCall,
        decision: Decision,
    ) -> Result<(), TurnError> {
        if pending.call_id != call.entry.call.id {
            return Err(refuse(format!(
                "call {} was asked about, and this is call {}",
                pending.call_id, call.entry.call.id
            )));
        }
        let calls = [pending];
        self.check_decisions(&calls, std::slice::from_ref(&decision))?;
        let rules = self.rules_to_remember(&calls, std::slice::from_ref(&decision));
        let mut session = session.lock();
        let request = request_name(&session);
        let requested = Event::ApprovalRequested {
            request: request.clone(),
            turn: session.state().turns(),
            index: 0,
            calls: calls.into(),
            expires_at_ms: None,
        };
        let decided = Event::DecisionRecorded {
            request,
            decisions: vec![decision.clone()],
            by: None,
        };
        let remembered = rules
            .into_iter()
            .map(|(rule, scope)| Event::ApprovalRemembered { rule, scope });
        // Together: a request that waits for nobody would look like an open one.
        let events = [requested, decided].into_iter().chain(remembered).collect();
        session.record_all(events, Vec::new());
        call.entry.decision = Some(decision);
        call.fresh = true;
        Ok(())
    }

    /// Takes a person's answer to the question with which a call's last run ended. The call goes on with
    /// [`Self::run_client_call`].
    ///
    /// # Errors
    /// When nothing was asked, or the question does not allow the answer; nothing is recorded then.
    pub fn answer_client_call(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        answer: Answer,
    ) -> Result<(), TurnError> {
        let Some((run, asked)) = call.asked.clone() else {
            return Err(refuse(format!(
                "call {} has asked nothing",
                call.entry.call.id
            )));
        };
        let text = asked.question.clone();
        text.check(&answer)
            .map_err(|why| refuse(format!("this answer cannot be given: {why}")))?;
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

    /// Answers a call that does not run. What it asked for is recorded with the answer.
    fn settle_skipped_call(
        &self,
        session: &ClientSession,
        cx: &TurnContext<'_>,
        call: &ClientCall,
        output: ToolResultOutput,
    ) -> ClientCallEnd {
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
        self.settle_skipped(&mut session, cx, tool_call, output.clone());
        ClientCallEnd::Settled {
            output,
            stdio: String::new(),
        }
    }
}

/// The result of a call whose intention could not be stored.
fn unwritable() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This call did not run: the journal could not be written.",
    )
}

/// What a client reads of a tool that whoever runs the loop would have to run.
fn external_tool() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This tool runs outside of the host, by whoever drives its loop; it cannot be called from here.",
    )
}
