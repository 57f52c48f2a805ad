//! What belongs to one connection: its session in the journal, and what its client wants to hear.

use crate::server::Shared;
use agent_host_app::HostError;
use agent_host_core::session::ClientSession;
use rmcp::model::Implementation;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

/// The longest name of a client that is written down, in characters; it is the client's own word.
const MAX_CLIENT_CHARACTERS: usize = 200;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// The session in which calls begin; absent before the first.
    session: Mutex<Option<Arc<ClientSession>>>,
    /// Whether the client has shaken hands.
    initialized: AtomicBool,
    /// The least severe level of which the client wants messages, as a number of [`crate::log`]; 0 until it says so.
    level: AtomicU8,
}

impl Connection {
    /// Returns the session in which a call begins. It begins with the first call, so that a client that only looks leaves none
    /// behind; and one that is long or cannot be written any more is followed by another.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn session(
        &self,
        shared: &Shared,
        client: impl FnOnce() -> Option<Implementation>,
    ) -> Result<Arc<ClientSession>, HostError> {
        let host = &shared.host;
        let mut current = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match current.as_ref() {
            None => host.start_client_session(named(client())).map(Arc::new),
            Some(session) if !session.is_over(host.config().client_session_bytes()) => {
                return Ok(Arc::clone(session));
            }
            Some(session) => host.continue_client_session(session, named(client())),
        };
        let session = match (next, current.as_ref()) {
            (Ok(next), _) => next,
            // A long one can grow until there is room for the next.
            (Err(_), Some(session)) if !session.is_lost() => return Ok(Arc::clone(session)),
            (Err(error), _) => return Err(error),
        };
        shared.write(Arc::clone(&session));
        if current.replace(Arc::clone(&session)).is_some() {
            shared.ended.notify_one();
        }
        Ok(session)
    }

    /// Notes that the client shakes hands, and returns whether it had not before.
    pub(crate) fn initialize(&self) -> bool {
        !self.initialized.swap(true, Ordering::Relaxed)
    }

    /// The level that the client asked for.
    pub(crate) fn level(&self) -> u8 {
        self.level.load(Ordering::Relaxed)
    }

    /// Takes the level that the client asks for.
    pub(crate) fn set_level(&self, level: u8) {
        self.level.store(level, Ordering::Relaxed);
    }
}

/// The client's name and version.
fn named(client: Option<Implementation>) -> String {
    let name = match client {
        Some(client) => format!("{} {} (MCP)", client.name, client.version),
        None => "a client without a name (MCP)".to_owned(),
    };
    name.chars().take(MAX_CLIENT_CHARACTERS).collect()
}
