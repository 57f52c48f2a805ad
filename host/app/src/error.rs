//! Why a host cannot be opened, in the two kinds that end a process differently.

use agent_host_engine::journal::JournalError;
use agent_host_types::model::ModelError;

/// Why a host, a session or a component cannot be opened. The text says what, why and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What was asked for cannot be done as it is: the configuration, a component, a name. Asking again changes nothing.
    #[error("{0}")]
    Usage(String),
    /// Something failed that may go well another time: the disk, another process.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    /// Makes a fault of the request.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }
}

impl From<JournalError> for OpenError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::NotFound(_) => Self::Usage(error.to_string()),
            JournalError::Storage(_)
            | JournalError::Corrupt(_)
            | JournalError::Locked { .. }
            | JournalError::Exists { .. } => Self::Failed(error.to_string()),
        }
    }
}

impl From<ModelError> for OpenError {
    fn from(error: ModelError) -> Self {
        Self::Usage(error.message)
    }
}
