//! The state of one connection: its journal session and its client's log level.

use crate::open_sessions::OpenSessions;
use agent_host_app::{Host, HostError};
use agent_host_engine::session::ClientSession;
use rmcp::model::Implementation;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};
use tokio::sync::Mutex;

/// The longest client name that is journaled, in characters. The client chooses it.
const MAX_CLIENT_CHARACTERS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// The session in which calls are recorded; absent before the first.
    session: Mutex<Option<Arc<ClientSession>>>,
    /// True after the handshake.
    initialized: AtomicBool,
    /// The least severe level that the client wants, as a number of [`crate::log`]; 0 if unset.
    level: AtomicU8,
}

impl Connection {
    /// Returns the session for the next call. It starts with the first call, so that a client that
    /// only lists tools leaves none; a session that is too long or can no longer be written is
    /// continued in a new one.
    ///
    /// # Errors
    /// Fails when the journal cannot be written.
    pub(crate) async fn session(
        &self,
        host: &Host,
        sessions: &OpenSessions,
        client: impl FnOnce() -> Option<Implementation>,
    ) -> Result<Arc<ClientSession>, HostError> {
        let mut current = self.session.lock().await;
        if let Some(session) = current.as_ref()
            && !session.is_over(host.config().client_session_bytes())
        {
            return Ok(Arc::clone(session));
        }
        let sources = current.as_ref().map(|session| session.sources());
        let started = host.sessions();
        let started = started.start_client(client_name(client()), sources.unwrap_or_default());
        let started = started.await;
        let session = match (started, current.as_ref()) {
            (Ok(first), None) => Arc::new(ClientSession::new(first)),
            (Ok(next), Some(session)) => session.continue_in(next),
            // A long session may grow until the next one can be started.
            (Err(_), Some(session)) if !session.is_lost() => return Ok(Arc::clone(session)),
            (Err(error), _) => return Err(error),
        };
        sessions.add(Arc::clone(&session));
        if current.replace(Arc::clone(&session)).is_some() {
            sessions.due.notify_one();
        }
        Ok(session)
    }

    /// Returns the session, if a call has started it.
    pub(crate) async fn started_session(&self) -> Option<Arc<ClientSession>> {
        self.session.lock().await.clone()
    }

    /// Records the handshake; returns false if it was recorded before.
    pub(crate) fn initialize(&self) -> bool {
        !self.initialized.swap(true, Ordering::Relaxed)
    }

    /// Returns the level that the client asked for, or 0.
    pub(crate) fn level(&self) -> u8 {
        self.level.load(Ordering::Relaxed)
    }

    /// Sets the level that the client asks for.
    pub(crate) fn set_level(&self, level: u8) {
        self.level.store(level, Ordering::Relaxed);
    }
}

fn client_name(client: Option<Implementation>) -> String {
    let name = match client {
        Some(client) => format!("{} {} (MCP)", client.name, client.version),
        None => "a client without a name (MCP)".to_owned(),
    };
    name.chars().take(MAX_CLIENT_CHARACTERS).collect()
}
