//! How the process ends: the exit codes, and the one form in which a failure is told.

use crate::terminal::Terminal;
use agent_host_app::OpenError;
use agent_host_author::AuthorError;
use agent_host_core::turn::{Outcome, TurnError};
use std::{fmt::Display, process::ExitCode};

/// The exit codes. They are part of the interface: scripts go by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The answer is there.
    Done,
    /// It failed: the model, a tool, the disk.
    Failed,
    /// The command line, the configuration or a component cannot be used as it is.
    Usage,
    /// A person has to decide before it can go on.
    Waiting,
    /// A budget is used up.
    Budget,
    /// The model, the policy or a person refused.
    Refused,
    /// The time given with `--timeout` is over.
    TimedOut,
    /// Stopped by a signal.
    Cancelled,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Budget => 4,
            Self::Refused => 5,
            Self::TimedOut => 124,
            Self::Cancelled => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl From<&Outcome> for Exit {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done { .. } => Self::Done,
            Outcome::NeedsMoreTurns { .. }
            | Outcome::AwaitingConfirmation { .. }
            | Outcome::AwaitingAnswer { .. }
            | Outcome::PendingToolCalls { .. } => Self::Waiting,
            Outcome::BudgetExceeded { .. } => Self::Budget,
            Outcome::Refusal { .. } => Self::Refused,
            Outcome::Cancelled { .. } => Self::Cancelled,
            Outcome::Error {
                error:
                    TurnError::Model { .. }
                    | TurnError::ContextWindow { .. }
                    | TurnError::Journal { .. }
                    | TurnError::UntilToolNotCalled { .. }
                    | TurnError::InvalidAnswer { .. },
            } => Self::Failed,
            Outcome::Error {
                error: TurnError::Input { .. },
            } => Self::Usage,
        }
    }
}

/// Why a command ends without doing what it should: the code for scripts, the text for people.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
        }
    }

    /// Failed at what was asked.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::new(Exit::Failed, format!("{error:#}"))
    }

    /// Was asked for something that cannot be done as it is.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::new(Exit::Usage, format!("{error:#}"))
    }

    /// Tells the failure on stderr, in one paragraph.
    pub(crate) fn report(&self, terminal: &Terminal) -> ExitCode {
        terminal.error(&self.text);
        self.exit.into()
    }
}

impl From<AuthorError> for Failure {
    fn from(error: AuthorError) -> Self {
        match &error {
            AuthorError::Usage(_) => Self::usage(error),
            AuthorError::Failed(_) => Self::failed(error),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Usage(_) => Self::usage(error),
            OpenError::Failed(_) => Self::failed(error),
        }
    }
}
