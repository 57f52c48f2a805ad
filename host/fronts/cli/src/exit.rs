//! Exit codes, and how failures and panics are reported.

use crate::{
    problem,
    terminal::{Terminal, close_input, escape_line, json_text},
};
use agent_host_app::{ConfigError, HostError, SignedFileError};
use agent_host_author::AuthorError;
use agent_host_engine::journal::JournalError;
use agent_host_types::turn::{TurnEnd, TurnError, TurnReport};
use serde_json::json;
use std::{
    backtrace::{Backtrace, BacktraceStatus},
    fmt::Display,
    panic,
};

/// The exit codes, a stable interface for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The model, a tool or the disk failed.
    Failed = 1,
    /// The command line, the configuration or a component is invalid.
    Usage = 2,
    /// A call waits for the user.
    Waiting = 3,
    /// A budget is used up.
    Budget = 4,
    /// The model, the policy or the user refused.
    Refused = 5,
    /// The run ended, and calls of it were denied since no one could approve them.
    Unapproved = 6,
    /// The workflow ended, and nodes of it failed with `on-error = "continue"`.
    NodesFailed = 7,
    /// The `--timeout` expired.
    TimedOut = 124,
    /// Stopped by SIGINT or SIGTERM.
    Cancelled = 130,
    /// The reader of stdout closed its pipe. A shell reports the same code for a program that
    /// SIGPIPE ended.
    PipeClosed = 141,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Returns the cause of a failure before or outside of a turn, for its JSON document.
    fn cause(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            _ => "failed",
        }
    }
}

impl From<&TurnEnd> for Exit {
    fn from(end: &TurnEnd) -> Self {
        match end {
            TurnEnd::Done { .. } | TurnEnd::Halted { .. } => Self::Done,
            TurnEnd::NeedsMoreTurns
            | TurnEnd::AwaitingConfirmation { .. }
            | TurnEnd::AwaitingAnswer { .. }
            | TurnEnd::PendingToolCalls { .. }
            | TurnEnd::AwaitingChildren { .. } => Self::Waiting,
            TurnEnd::BudgetExceeded { .. } => Self::Budget,
            TurnEnd::Refusal { .. } => Self::Refused,
            TurnEnd::Cancelled => Self::Cancelled,
            TurnEnd::Error {
                error: TurnError::Input { .. },
            } => Self::Usage,
            TurnEnd::Error { .. } => Self::Failed,
        }
    }
}

impl From<&TurnReport> for Exit {
    fn from(report: &TurnReport) -> Self {
        match report.failed_nodes() {
            Some(_) => Self::NodesFailed,
            None => Self::from(&report.end),
        }
    }
}

/// The failure of a command: its exit code and its message.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
    /// True if `text` is already escaped and styled.
    is_rendered: bool,
    /// True if stdout has the JSON document of the failure.
    is_documented: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
            is_rendered: false,
            is_documented: false,
        }
    }

    /// Marks a failure whose JSON document was printed.
    pub(crate) fn documented(self) -> Self {
        Self {
            is_documented: true,
            ..self
        }
    }

    /// Prints the JSON document of a failed `run` on stdout, unless it was printed.
    pub(crate) fn document(self, terminal: &Terminal) -> Self {
        if self.is_documented {
            return self;
        }
        let text = anstream::adapter::strip_str(self.text()).to_string();
        // A rendered message begins as it stands on stderr.
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        terminal.println(&json_text(&json!({
            "session": null,
            "outcome": {
                "type": "error",
                "error": { "cause": self.exit.cause(), "message": text },
            },
        })));
        self.documented()
    }

    /// Creates a failure with exit code 1.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::new(Exit::Failed, format!("{error:#}"))
    }

    /// Creates a failure with exit code 2.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::new(Exit::Usage, format!("{error:#}"))
    }

    /// Returns the message, with styles if it was rendered.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Prints the failure on stderr in one paragraph, and returns its exit.
    pub(crate) fn report(&self, terminal: &Terminal) -> Exit {
        if self.is_rendered {
            terminal.note(&self.text);
        } else {
            terminal.error(&self.text);
        }
        self.exit
    }
}

/// The prefix of tokio's panic when the system refuses it a required thread.
const NO_THREAD: &str = "OS can't spawn worker thread";

/// Installs a panic hook that prints one line, and cannot panic again on a failed write.
pub(crate) fn report_panics(terminal: Terminal) {
    panic::set_hook(Box::new(move |panic| {
        let why = escape_line(panic.payload_as_str().unwrap_or("no reason was given"));
        if why.starts_with(NO_THREAD) {
            terminal.error(&format!(
                "the system cannot start more threads ({why}); raise this user's limit on processes and threads \
                 (`ulimit -u`), or the service's limit on tasks"
            ));
            end_now(Exit::Failed);
        }
        let place = panic.location().map(|place| format!(" at {place}"));
        terminal.error(&format!(
            "agent-host has a bug{}: {why}; please report it with the command that you ran and the output with \
             RUST_BACKTRACE=1",
            place.unwrap_or_default()
        ));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            terminal.note(&backtrace.to_string());
        }
    }));
}

/// Exits the process without waiting for tasks or destructors.
#[expect(
    clippy::exit,
    reason = "destructors may wait for what hangs: a guest, or a thread that was never started"
)]
pub(crate) fn end_now(exit: Exit) -> ! {
    close_input();
    std::process::exit(exit.code().into())
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self {
            exit: Exit::Usage,
            text: problem::render(&error),
            is_rendered: true,
            is_documented: false,
        }
    }
}

impl From<AuthorError> for Failure {
    fn from(error: AuthorError) -> Self {
        match error {
            AuthorError::Config(error) => error.into(),
            AuthorError::Host(error) => error.into(),
            AuthorError::Usage(_) => Self::usage(error),
            AuthorError::Failed(_) => Self::failed(error),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Config(error) => error.into(),
            error if error.is_usage() => Self::usage(error),
            error => Self::failed(error),
        }
    }
}

macro_rules! failure_from {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                HostError::from(error).into()
            }
        })+
    };
}

failure_from!(JournalError, SignedFileError);
