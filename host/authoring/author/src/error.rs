//! Errors of authoring, in two kinds with different exit codes.

use agent_host_app::{ConfigError, HostError};
use std::{fmt, io, path::Path};

/// The reason why a project cannot be created, built, tested or described. The text states the
/// problem, its cause and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum AuthorError {
    /// The request is invalid: no project, a missing compiler, a tool that does not fit the
    /// contract. A retry changes nothing.
    #[error("{0}")]
    Usage(String),
    /// A step failed: a compiler, the disk.
    #[error("{0}")]
    Failed(String),
    /// A configuration or a case file is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The host cannot be opened.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl AuthorError {
    /// Creates an error of what the program embeds. `what` is the failed step.
    pub(crate) fn internal(what: &str, why: impl fmt::Display) -> Self {
        Self::Failed(format!(
            "cannot {what}: {why}. This is a bug in agent-host; please report it"
        ))
    }

    /// Creates an error of the disk. `what` is the verb: "read", "write".
    pub(crate) fn disk(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("cannot {what} {}: {error}", path.display()))
    }
}

/// Compares variants and texts, since source errors lack equality.
#[cfg(test)]
impl PartialEq for AuthorError {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}
