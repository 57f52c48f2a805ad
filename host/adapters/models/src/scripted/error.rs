//! Errors of scripts.

use super::BUILTIN;
use agent_host_types::model::{ModelError, ModelErrorKind};
use agent_host_types::reason::Reason;
use std::fmt;

/// Why a script cannot be parsed or played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// No built-in script has this name.
    #[error("No built-in script `{}`. Available: {}.", .0.escape_debug(), builtin_names())]
    UnknownBuiltin(String),
    /// The script is invalid.
    #[error("Cannot read the script `{}`: {reason}.", .script.escape_debug())]
    Invalid {
        /// The script's name.
        script: String,
        /// The fault.
        reason: Reason,
    },
    /// A template or an expression is invalid or cannot be evaluated.
    #[error(
        "The script `{}` failed in {location}: {reason}. Correct the script and run it again.",
        .script.escape_debug()
    )]
    Template {
        /// The script's name.
        script: String,
        /// The turn, the call and the field.
        location: String,
        /// The reason.
        reason: Reason,
    },
    /// Every turn was played.
    #[error(
        "The script `{script}` has ended: all of its {turns} turns are used. Its last turn should have text and no calls; start a new session to play it again."
    )]
    Ended {
        /// The script's name.
        script: String,
        /// How many turns it has.
        turns: usize,
    },
}

impl From<ScriptError> for ModelError {
    fn from(error: ScriptError) -> Self {
        Self::new(ModelErrorKind::Script, error.to_string())
    }
}

fn builtin_names() -> String {
    BUILTIN.map(|(name, _)| format!("`{name}`")).join(", ")
}

/// An error of the template engine in one line.
pub(super) struct Causes<'a>(pub(super) &'a minijinja::Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.0.line() {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.0.kind())?;
        if let Some(detail) = self.0.detail() {
            write!(f, ": {detail}")?;
        }
        let mut cause = std::error::Error::source(self.0);
        while let Some(inner) = cause {
            write!(f, ": {inner}")?;
            cause = inner.source();
        }
        Ok(())
    }
}
