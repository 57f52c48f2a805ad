//! The driver of runs: turns of a session, until one ends that neither the loop nor the front of the
//! run continues.

use super::{Agent, TurnContext};
use crate::{BoxFuture, session::Session};
use agent_host_types::{
    continuation::Continuation,
    turn::{AgentInput, RunOutcome, TurnReport},
};
use std::{convert::Infallible, future::ready};

/// The front of a run: what differs between the runs of a terminal, a server and an agent.
pub trait RunFront: Send {
    /// Why a turn could not start.
    type Error;

    /// Runs a turn in the context of this moment.
    fn run_turn<'a>(
        &'a mut self,
        session: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<TurnReport, Self::Error>>;

    /// Whether an unfinished run stops here, to be resumed later.
    fn is_drained(&self) -> bool;

    /// Returns the input that resumes a paused run; `None` to leave it paused.
    fn respond<'a>(&'a self, _paused: &'a Continuation) -> BoxFuture<'a, Option<AgentInput>> {
        Box::pin(ready(None))
    }
}

/// Runs turns of a session until one ends that neither the loop nor the front continues, and returns
/// the report of that one.
///
/// # Errors
/// A turn could not start.
pub fn drive<'a, F: RunFront>(
    front: &'a mut F,
    session: &'a mut Session,
    mut input: AgentInput,
) -> BoxFuture<'a, Result<TurnReport, F::Error>> {
    Box::pin(async move {
        loop {
            let report = front.run_turn(session, input).await?;
            let next = match report.end.run_outcome() {
                RunOutcome::Unfinished if front.is_drained() => None,
                RunOutcome::Unfinished => Some(AgentInput::Continue),
                RunOutcome::Paused(continuation) => front.respond(continuation).await,
                RunOutcome::Ended | RunOutcome::Unrecorded(_) => None,
            };
            match next {
                Some(next) => input = next,
                None => return Ok(report),
            }
        }
    })
}

/// A front whose turns have one context, and which leaves a paused run paused.
struct OneContext<'a> {
    agent: &'a Agent,
    cx: &'a TurnContext<'a>,
}

impl RunFront for OneContext<'_> {
    type Error = Infallible;

    fn run_turn<'a>(
        &'a mut self,
        session: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<TurnReport, Infallible>> {
        Box::pin(async move { Ok(self.agent.run_turn(session, input, self.cx).await) })
    }

    fn is_drained(&self) -> bool {
        self.cx.is_drained()
    }
}

impl Agent {
    /// Runs turns in one context until the run has ended, is paused or is drained, and returns the
    /// report of the last one.
    pub fn run<'a>(
        &'a self,
        session: &'a mut Session,
        input: AgentInput,
        cx: &'a TurnContext<'a>,
    ) -> BoxFuture<'a, TurnReport> {
        Box::pin(async move {
            match drive(&mut OneContext { agent: self, cx }, session, input).await {
                Ok(report) => report,
                Err(never) => match never {},
            }
        })
    }
}
