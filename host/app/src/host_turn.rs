//! A turn with a host: its approvals that are remembered for the project, and its observers.

use crate::{Host, HostError, Sessions};
use agent_host_engine::{
    BoxFuture,
    observer::{Observer, Observers},
    session::Session,
    turn::{Actors, Agent, TurnContext},
};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    id::SessionId,
    output::Blob,
    turn::{AgentInput, RunOutcome, TurnEnd, TurnReport},
};
use tokio_util::sync::CancellationToken;

/// A turn with a host, before it runs.
#[expect(missing_debug_implementations, reason = "observers have no form")]
pub struct HostTurn<'a> {
    /// The host.
    pub host: &'a Host,
    /// The loop.
    pub agent: &'a Agent,
    /// The setup of the loop ([`Agent::setup`]), made once for all turns of a run.
    pub setup: &'a Blob,
    /// The observers of the front, which are told before those of the host.
    pub observers: Vec<Box<dyn Observer + 'a>>,
    /// Cancels the turn.
    pub cancel: &'a CancellationToken,
    /// Drains the turn.
    pub drain: &'a CancellationToken,
    /// The actors, for the journal.
    pub actors: Actors<'a>,
}

/// A turn with a host that ran.
#[derive(Debug)]
pub struct RanTurn {
    /// Its report.
    pub report: TurnReport,
    /// The error that kept the approvals of its input from being remembered for the project. The
    /// run continues, and the user is asked about such calls again.
    pub not_remembered: Option<HostError>,
}

impl<'a> HostTurn<'a> {
    /// Runs the turn.
    ///
    /// # Errors
    /// The remembered approvals cannot be read; nothing ran.
    pub fn run(
        self,
        session: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<RanTurn, HostError>> {
        Box::pin(async move {
            let approvals = self.host.sessions().remembered().await?;
            session.configure_loop(self.setup, &approvals);
            let rules = project_rules(self.agent, &input);
            let mut observers = self.observers;
            observers.extend(self.host.observers(session));
            let cx = TurnContext {
                observer: &Observers(observers),
                approvals: &approvals,
                cancel: self.cancel,
                drain: self.drain,
                actors: self.actors,
            };
            let report = self.agent.run_turn(session, input, &cx).await;
            let remembered = remember(self.host.sessions(), session.id(), rules, &report.end).await;
            Ok(RanTurn {
                report,
                not_remembered: remembered.err(),
            })
        })
    }
}

/// Returns the rules that an input's decisions ask to remember for the project.
fn project_rules(agent: &Agent, input: &AgentInput) -> Vec<ApprovalRule> {
    let rules = agent.rules_of(input).into_iter();
    let of_project = |(rule, scope)| (scope == RememberScope::Project).then_some(rule);
    rules.filter_map(of_project).collect()
}

/// Stores rules for the project, if the turn accepted the decisions behind them.
async fn remember(
    sessions: &Sessions,
    session: SessionId,
    rules: Vec<ApprovalRule>,
    end: &TurnEnd,
) -> Result<(), HostError> {
    let is_refused = matches!(end.run_outcome(), RunOutcome::Unrecorded(_));
    match rules.is_empty() || is_refused {
        true => Ok(()),
        false => sessions.remember(session, rules).await,
    }
}
