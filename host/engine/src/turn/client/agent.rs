//! Calls of an external client that start an agent.

use super::{ClientCall, ClientCallEnd, ClientCallError, unwritable};
use crate::{
    session::ClientSession,
    tool::CallReport,
    turn::{
        Agent, TurnContext,
        begin::refuse,
        budget::Share,
        children::Unsettled,
        execute::{EndedBy, Run, call_intended, record_end},
    },
};
use agent_host_types::{
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    turn::{AgentInput, ChildSummary, TurnError},
};

impl Agent {
    /// Sets what the agent of a call continues with. [`Self::run_client_call`] resumes it.
    ///
    /// # Errors
    /// When no agent of the call waits.
    pub fn resume_client_agent(
        &self,
        call: &mut ClientCall,
        input: AgentInput,
    ) -> Result<(), TurnError> {
        if call.agent.is_none() {
            let id = call.id();
            return Err(refuse(format!("no agent of call {id} waits")));
        }
        call.input = Some(input);
        Ok(())
    }

    /// Runs the agent of a call until it has its result or waits. The client's calls have no
    /// budgets, so the agent has its own.
    pub(super) async fn run_client_agent(
        &self,
        session: &ClientSession,
        call: &mut ClientCall,
        run: Box<Run>,
        cx: &TurnContext<'_>,
    ) -> Result<ClientCallEnd, ClientCallError> {
        if call.agent.is_none() {
            self.record_start(session, &run);
            if let Err(error) = session.flush(cx.observer).await {
                let output = unwritable().into();
                self.settle_skipped(&mut session.lock(), cx, &call.entry.call, output);
                return Err(ClientCallError::NotRun(error));
            }
        }
        let caller = call.caller(self, &session.lock());
        let (share, input) = (Share::default(), call.input.take());
        let (report, child) = match self.run_agent(&caller, &run, input, &share, cx).await {
            Ok(settled) => settled,
            Err(Unsettled::Waiting(waiting)) => {
                call.agent = Some(run);
                return Ok(ClientCallEnd::Agent(waiting));
            }
            Err(Unsettled::Drained) => {
                let stopped = ToolFailure::stopped(run.effect);
                (CallReport::of(stopped.into()), None)
            }
            Err(Unsettled::Failed(error)) => (CallReport::of(failed(&error).into()), None),
        };
        call.agent = None;
        let settled = self.settle_agent(session, &run, report, child);
        let stored = session.flush(cx.observer).await;
        stored.map_err(ClientCallError::NotStored)?;
        Ok(settled)
    }

    fn record_start(&self, session: &ClientSession, run: &Run) {
        let call_id = &run.entry.call.id;
        let mut session = session.lock();
        let spawned = self
            .sub_agent(&run.entry.call.name)
            .map(|child| Event::AgentSpawned {
                call_id: call_id.clone(),
                session: self.key.child(session.id(), call_id),
                agent: child.name.clone(),
                definition: child.definition,
            });
        let events = std::iter::once(call_intended(run)).chain(spawned);
        session.record_all(events.collect(), Vec::new());
    }

    fn settle_agent(
        &self,
        session: &ClientSession,
        run: &Run,
        mut report: CallReport,
        child: Option<ChildSummary>,
    ) -> ClientCallEnd {
        let mut locked = session.lock();
        // The client's loop is not ours to end.
        report.changes.retain(|change| !change.is_halt());
        let report = self.within_quota(&locked, report);
        let changes = report.changes.clone();
        let settled = ClientCallEnd::Settled {
            output: report.output.clone(),
            stdio: String::new(),
        };
        let by = EndedBy {
            child,
            ..EndedBy::default()
        };
        record_end(&mut locked, &run.entry.call, report, by);
        session.forward_changes(&locked, changes);
        settled
    }
}

/// Returns the result of an agent whose session cannot be continued.
fn failed(error: &TurnError) -> ToolFailure {
    let message = format!(
        "The agent cannot continue: {error}. What it did so far is in its session; check that before you start it again."
    );
    ToolFailure::new(ToolErrorCode::AgentFailed, message)
}
