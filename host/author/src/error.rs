//! Why something of an author's cannot be done, in the two kinds that end a process differently.

use agent_host_app::{ConfigError, HostError};
use std::{io, path::Path};

/// Why a project cannot be made, built, tested or described. The text says what, why and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AuthorError {
    /// What was asked for cannot be done as it is: no project, a missing compiler, a tool that does not fit the contract. Asking
    /// again changes nothing.
    #[error("{0}")]
    Usage(String),
    /// Something failed on the way: a compiler, the disk.
    #[error("{0}")]
    Failed(String),
    /// A configuration or a file of cases cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The host cannot be opened.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl AuthorError {
    /// Makes a fault of the request.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// Makes a failure on the way.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// Makes a failure of the disk. `what` is the verb: "read", "write".
    pub(crate) fn disk(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("cannot {what} {}: {error}", path.display()))
    }
}

/// Compares the variants and the texts: sources of errors have no equality.
#[cfg(test)]
impl PartialEq for AuthorError {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}
