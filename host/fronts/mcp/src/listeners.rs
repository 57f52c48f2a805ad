//! The clients that are notified of changes.

use crate::{connection::Connection, log, reload::CatalogChanges};
use futures_util::future::join_all;
use rmcp::{RoleServer, service::Peer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Listener = (Peer<RoleServer>, Arc<Connection>);

/// The clients of all connections. Each is notified concurrently, so that one that does not read
/// delays no other.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<Listener>>);

impl Listeners {
    /// Adds a client, and removes those whose connections are closed.
    pub(crate) fn add(&self, peer: Peer<RoleServer>, connection: Arc<Connection>) {
        let mut listeners = self.lock();
        listeners.retain(|(known, _)| !known.is_transport_closed());
        listeners.push((peer, connection));
    }

    /// Sends `notifications/tools/list_changed` and `notifications/prompts/list_changed`.
    pub(crate) async fn notify(&self, changes: &CatalogChanges) {
        let listeners = self.lock().clone().into_iter();
        let sent = listeners.map(async |(peer, _)| {
            if !changes.components.is_empty() {
                let _ = peer.notify_tool_list_changed().await;
            }
            if !changes.skills.is_empty() {
                let _ = peer.notify_prompt_list_changed().await;
            }
        });
        join_all(sent).await;
    }

    /// Sends a message at level warning to the clients that want that level.
    pub(crate) async fn warn(&self, text: &str) {
        let listeners = self.lock().clone().into_iter();
        let sent = listeners
            .filter(|(_, connection)| log::wants_warnings(connection.level()))
            .map(async |(peer, _)| drop(log::warn(&peer, text).await));
        join_all(sent).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
