//! The messages between the hosts of a database, as its notifications.

use super::database::Database;
use crate::{
    error::StoreError,
    shared_runs::{HostId, HostMessage},
};
use agent_host_engine::journal::JournalError;
use futures_util::{StreamExt as _, stream::poll_fn};
use serde_json::json;
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{sync::broadcast, time::sleep};
use tokio_postgres::AsyncMessage;

/// The channel of messages to all hosts. That of one has `_` and its id behind it.
const CHANNEL: &str = "agent_host";

/// The longest payload of a notification, in bytes (PostgreSQL's limit is 8,000, exclusive).
const MAX_MESSAGE_BYTES: usize = 7_999;

/// The most messages that a receiver may be behind.
const MESSAGES: usize = 1024;

/// The time before the connection is made again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

impl HostId {
    fn channel(&self) -> String {
        format!("{CHANNEL}_{}", self.0)
    }
}

impl Database {
    /// Returns the messages from now on. The first call makes the connection that receives them,
    /// which lasts as long as the thread of the store. Until it is there, and while it is made
    /// again, messages are missed.
    pub(super) fn received(database: &Arc<Self>) -> broadcast::Receiver<HostMessage> {
        let messages = database.messages.subscribe();
        database.receives.call_once(|| {
            let database = Arc::clone(database);
            let runtime = database.runtime.clone();
            runtime.spawn(async move { database.receive().await });
        });
        messages
    }

    /// Receives messages on one connection after the other.
    async fn receive(&self) {
        let mut is_told = false;
        loop {
            match self.listen().await {
                Ok(()) => is_told = false,
                Err(error) if !is_told => {
                    is_told = true;
                    tracing::warn!("messages from other hosts arrive late: {error}");
                }
                Err(_) => {}
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    /// Receives messages until the connection ends.
    async fn listen(&self) -> Result<(), StoreError> {
        let (client, mut connection) = self.connect().await?;
        let own = self.leases.host.channel();
        let listened = async {
            let listen = format!("LISTEN {CHANNEL}; LISTEN {own}");
            client.batch_execute(&listen).await?;
            // The connection ends with its client.
            pending().await
        };
        let received = async {
            let mut has_skipped = false;
            let mut received = poll_fn(|cx| connection.poll_message(cx));
            while let Some(message) = received.next().await.transpose()? {
                let AsyncMessage::Notification(notification) = message else {
                    continue;
                };
                match serde_json::from_str(notification.payload()) {
                    // There may be no receiver.
                    Ok(message) => drop(self.messages.send(message)),
                    Err(error) if !has_skipped => {
                        has_skipped = true;
                        tracing::warn!(
                            "messages from another host, perhaps of another version, are skipped: {error}"
                        );
                    }
                    Err(_) => {}
                }
            }
            Ok(())
        };
        let ended: Result<(), tokio_postgres::Error> = tokio::select! {
            ended = listened => ended,
            ended = received => ended,
        };
        ended.map_err(self.failed("receive messages from other hosts"))
    }

    /// Sends a message. One that is too long is not sent: it is a hint.
    pub(super) async fn send(
        &self,
        to: Option<&HostId>,
        message: &HostMessage,
    ) -> Result<(), JournalError> {
        let channel = to.map_or_else(|| CHANNEL.to_owned(), HostId::channel);
        let payload = json!(message).to_string();
        if payload.len() > MAX_MESSAGE_BYTES {
            return Ok(());
        }
        let query = "SELECT pg_notify($1, $2)";
        Ok(self.change(query, &[&channel, &payload]).await.map(drop)?)
    }
}

/// Creates the sender of what is received.
pub(super) fn sender() -> broadcast::Sender<HostMessage> {
    broadcast::Sender::new(MESSAGES)
}
