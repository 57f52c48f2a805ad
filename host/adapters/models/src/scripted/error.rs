//! Errors of scripts.

use agent_host_types::model::{ModelError, ModelErrorKind};
use std::fmt;

/// Why a script cannot be parsed or played.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub(super) String);

impl From<ScriptError> for ModelError {
    fn from(error: ScriptError) -> Self {
        Self::new(ModelErrorKind::Script, error.0)
    }
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
