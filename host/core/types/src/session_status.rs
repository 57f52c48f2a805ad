//! The status of a session in lists: one state machine over its events. A store keeps its state,
//! [`SessionPhase`], beside the session, and every list shows the [`SessionStatus`] of it.

#[cfg(test)]
mod tests;

use crate::{
    continuation::{Awaiting, Continuation},
    event::Event,
    turn::{TurnEnd, TurnReport},
    words,
};
use std::fmt;

words! {
    /// The status of a session, as every list of sessions names it.
    pub enum SessionStatus {
        /// It has not run yet, or is a copy that has not.
        New,
        /// Its run waits for a host of the store.
        Queued,
        /// A turn runs.
        Running,
        /// The process ended during a turn, or stopped before the next one; the session can be resumed.
        Interrupted,
        /// A call, or one of an agent, waits for the user's approval.
        WaitingForApproval,
        /// A question of a call, or of an agent's, waits for the user's answer.
        WaitingForAnswer,
        /// Calls that run elsewhere have no results yet.
        WaitingForResults,
        /// The last turn gave its answer.
        Done,
        /// A workflow ended, and nodes of it failed with `on-error = "continue"`.
        DoneWithErrors,
        /// A tool ended the run.
        Halted,
        /// A budget is used up.
        OverBudget,
        /// The model declined to answer.
        Refused,
        /// The turn was cancelled.
        Cancelled,
        /// The turn failed.
        Failed,
    }
}

words! {
    /// The state of the machine: the part of a session's status that its events determine.
    #[derive(strum::EnumString)]
    pub enum SessionPhase {
        /// No turn has begun since the session was started or copied.
        New,
        /// A turn has begun and not ended, or another one is to follow.
        Open,
        /// A client drives the loop, and none of its calls is open.
        ClientIdle,
        /// A client drives the loop, and one of its calls has not ended.
        ClientOpen,
        /// [`SessionStatus::WaitingForApproval`].
        WaitingForApproval,
        /// [`SessionStatus::WaitingForAnswer`].
        WaitingForAnswer,
        /// [`SessionStatus::WaitingForResults`].
        WaitingForResults,
        /// [`SessionStatus::Done`].
        Done,
        /// [`SessionStatus::DoneWithErrors`].
        DoneWithErrors,
        /// [`SessionStatus::Halted`].
        Halted,
        /// [`SessionStatus::OverBudget`].
        OverBudget,
        /// [`SessionStatus::Refused`].
        Refused,
        /// [`SessionStatus::Cancelled`].
        Cancelled,
        /// [`SessionStatus::Failed`].
        Failed,
    }
}

/// The input of the machine: what an event does to the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseChange {
    /// The session starts.
    Start {
        /// Whether a client drives the loop.
        by_client: bool,
    },
    /// The events so far are copied, and nothing that waits or runs in them carries over.
    Copy,
    /// A turn, or a call of a client, begins or continues.
    Open,
    /// A call ends.
    Settle,
    /// A turn ends.
    End(SessionPhase),
}

/// The claim on a session right now, which no event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionClaim {
    /// No process has it.
    None,
    /// Its run waits for a host of the store.
    Queued,
    /// A process has it.
    Held,
}

impl SessionStatus {
    /// Whether the session waits for the user, or for results from outside.
    #[must_use]
    pub fn is_waiting(self) -> bool {
        matches!(
            self,
            Self::WaitingForApproval | Self::WaitingForAnswer | Self::WaitingForResults
        )
    }
}

/// Formats the name as words: `waiting for approval`.
impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.as_str().replace('-', " "))
    }
}

impl PhaseChange {
    /// Returns what an event does to the phase; `None` for one that belongs to no turn, or that
    /// stands beside another event of its turn.
    #[must_use]
    pub fn from_event(event: &Event) -> Option<Self> {
        Some(match event {
            Event::SessionStarted { client, .. } => Self::Start {
                by_client: client.is_some(),
            },
            Event::SessionForked { .. } => Self::Copy,
            Event::TurnEnded { outcome, .. } => Self::End(SessionPhase::after_turn(outcome)),
            Event::CallSettled { path, .. } if path.is_empty() => Self::Settle,
            Event::ContextSet { .. }
            | Event::RunConfigured { .. }
            | Event::RunPlaced { .. }
            | Event::LoopConfigured { .. }
            | Event::ApprovalRemembered { .. }
            | Event::ApprovalRevoked { .. }
            | Event::FilesRestored { .. }
            | Event::HookDecided { .. }
            | Event::FilesLabelled { .. }
            | Event::StateMerged { .. }
            | Event::ArtifactStored { .. }
            | Event::ArtifactDeleted { .. }
            | Event::RunHalted { .. } => return None,
            Event::InputReceived { .. }
            | Event::SenderNamed { .. }
            | Event::KeyTaken { .. }
            | Event::ModelRequested { .. }
            | Event::TurnInterrupted { .. }
            | Event::ResultsReferenced { .. }
            | Event::HistorySummarised { .. }
            | Event::ModelReplied { .. }
            | Event::CallReceived { .. }
            | Event::CallReviewed { .. }
            | Event::FactsRead { .. }
            | Event::CallIntended { .. }
            | Event::ApprovalRequested { .. }
            | Event::QuestionAsked { .. }
            | Event::AnswerReceived { .. }
            | Event::RepairRequested { .. }
            | Event::ProgramCalled { .. }
            | Event::ProgramEnded { .. }
            | Event::CallsDispatched { .. }
            | Event::DecisionRecorded { .. }
            | Event::AgentSpawned { .. }
            | Event::ChildrenWaiting { .. }
            | Event::CallSettled { .. }
            | Event::WorkflowStarted { .. }
            | Event::NodeIntended { .. }
            | Event::NodeSettled { .. }
            | Event::NodeRetried { .. }
            | Event::NodeSkipped { .. }
            | Event::WorkflowEnded { .. } => Self::Open,
        })
    }

    /// Whether the phase after it is the same, whatever the one before it was.
    #[must_use]
    pub fn is_absolute(self) -> bool {
        matches!(self, Self::Start { .. } | Self::End(_))
    }
}

impl SessionPhase {
    /// Returns the phase of a stored name; `None` for one that this version does not know.
    #[must_use]
    pub fn from_stored(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns the next phase.
    #[must_use]
    pub fn after(self, change: PhaseChange) -> Self {
        let by_client = matches!(self, Self::ClientIdle | Self::ClientOpen);
        match change {
            PhaseChange::Start { by_client: true } => Self::ClientIdle,
            PhaseChange::Start { by_client: false } => Self::New,
            PhaseChange::End(phase) => phase,
            PhaseChange::Copy | PhaseChange::Settle if by_client => Self::ClientIdle,
            PhaseChange::Open if by_client => Self::ClientOpen,
            PhaseChange::Copy if self == Self::Open || self.is_waiting() => Self::New,
            PhaseChange::Copy => self,
            PhaseChange::Open | PhaseChange::Settle => Self::Open,
        }
    }

    /// Returns the status of a session in this phase.
    #[must_use]
    pub fn status(self, claim: SessionClaim) -> SessionStatus {
        match (self, claim) {
            (Self::New | Self::Open, SessionClaim::Queued) => SessionStatus::Queued,
            (Self::Open | Self::ClientOpen, SessionClaim::Held) => SessionStatus::Running,
            (Self::Open | Self::ClientOpen, SessionClaim::None | SessionClaim::Queued) => {
                SessionStatus::Interrupted
            }
            (Self::New, _) => SessionStatus::New,
            (Self::WaitingForApproval, _) => SessionStatus::WaitingForApproval,
            (Self::WaitingForAnswer, _) => SessionStatus::WaitingForAnswer,
            (Self::WaitingForResults, _) => SessionStatus::WaitingForResults,
            (Self::ClientIdle | Self::Done, _) => SessionStatus::Done,
            (Self::DoneWithErrors, _) => SessionStatus::DoneWithErrors,
            (Self::Halted, _) => SessionStatus::Halted,
            (Self::OverBudget, _) => SessionStatus::OverBudget,
            (Self::Refused, _) => SessionStatus::Refused,
            (Self::Cancelled, _) => SessionStatus::Cancelled,
            (Self::Failed, _) => SessionStatus::Failed,
        }
    }

    /// Whether the status depends on the claim.
    #[must_use]
    pub fn depends_on_claim(self) -> bool {
        matches!(self, Self::New | Self::Open | Self::ClientOpen)
    }

    /// Whether the session waits for the user, or for results from outside.
    #[must_use]
    pub fn is_waiting(self) -> bool {
        self.status(SessionClaim::None).is_waiting()
    }

    fn after_turn(report: &TurnReport) -> Self {
        match &report.end {
            TurnEnd::NeedsMoreTurns => Self::Open,
            TurnEnd::Done { .. } if report.failed_nodes().is_some() => Self::DoneWithErrors,
            TurnEnd::Done { .. } => Self::Done,
            TurnEnd::Halted { .. } => Self::Halted,
            TurnEnd::BudgetExceeded { .. } => Self::OverBudget,
            TurnEnd::AwaitingConfirmation { continuation }
            | TurnEnd::AwaitingAnswer { continuation }
            | TurnEnd::PendingToolCalls { continuation }
            | TurnEnd::AwaitingChildren { continuation } => Self::while_open(continuation),
            TurnEnd::Refusal { .. } => Self::Refused,
            TurnEnd::Cancelled => Self::Cancelled,
            TurnEnd::Error { .. } => Self::Failed,
        }
    }

    /// Returns the phase while a request is open. Of several agents one that waits for an approval
    /// counts before one that waits for an answer, and that before results.
    fn while_open(continuation: &Continuation) -> Self {
        let requests = continuation.requests().into_iter();
        let phase = requests.map(|request| match &request.awaiting {
            Awaiting::Confirm { .. } => Self::WaitingForApproval,
            Awaiting::Answer { .. } => Self::WaitingForAnswer,
            Awaiting::External { .. } | Awaiting::Children { .. } => Self::WaitingForResults,
        });
        phase.min().unwrap_or(Self::WaitingForResults)
    }
}
