//! What belongs to one connection: its session in the journal, and what its client wants to hear.

use crate::server::Shared;
use agent_host_app::OpenError;
use agent_host_core::session::ClientSession;
use rmcp::model::Implementation;
use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};
use tokio::sync::OnceCell;

/// The longest name of a client that is written down, in characters; it is the client's own word.
const MAX_CLIENT_CHARACTERS: usize = 200;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    session: OnceCell<Arc<ClientSession>>,
    /// The least severe level of which the client wants messages, as a number of [`crate::log`]; 0 until it says so.
    level: AtomicU8,
}

impl Connection {
    /// The session. It begins now if it has not, so that a client that only looks leaves none behind.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) async fn session(
        &self,
        shared: &Shared,
        client: impl FnOnce() -> Option<Implementation>,
    ) -> Result<Arc<ClientSession>, OpenError> {
        let begin = async || {
            let session = Arc::new(shared.host.start_client_session(named(client()))?);
            shared.write(Arc::clone(&session));
            Ok(session)
        };
        self.session.get_or_try_init(begin).await.cloned()
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
