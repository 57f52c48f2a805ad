//! A server that this host started, and how it ended.

use crate::{child::ServerProcess, sandboxed::ServerControl};
use std::sync::Arc;
use tokio::sync::Mutex;

/// A server that this host started. Dropping it ends the server.
pub(crate) enum Started {
    Process(Mutex<ServerProcess>),
    Sandboxed(Arc<dyn ServerControl>),
}

impl Started {
    /// Returns how the server ended, as a clause that begins with `, `; empty if that is not known.
    /// Waits a moment for it.
    pub(crate) async fn exit_clause(&self) -> String {
        match self {
            Self::Process(process) => process.lock().await.exit_clause().await,
            Self::Sandboxed(control) => clause(control.ended().await),
        }
    }

    /// Returns the clause without waiting.
    pub(crate) fn exit_clause_so_far(&mut self) -> String {
        match self {
            Self::Process(process) => process.get_mut().exit_clause_so_far(),
            Self::Sandboxed(control) => clause(control.ended_so_far()),
        }
    }
}

fn clause(ended: Option<String>) -> String {
    ended.map_or_else(String::new, |ended| format!(", {ended}"))
}
