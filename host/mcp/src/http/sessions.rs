//! The sessions of clients that speak the protocol's handshake: a bounded number, each of which ends when nobody uses it. `rmcp`
//! runs them; this counts them.
//!
//! A session counts as used while a stream of it is open. `rmcp` by itself would end one that only listens, after five minutes.

use super::{
    limits::{HttpLimits, semaphore},
    uses::{Held, Slot, Uses},
};
use futures_util::{Stream, StreamExt as _};
use http::request::Parts;
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions as _, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError, SessionTransport},
    },
};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, interval},
};
use tokio_util::sync::CancellationToken;

/// How often unused sessions are looked for, at most.
const SWEEP: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    /// Admits sessions, and those that are about to be.
    slots: Arc<Semaphore>,
    /// How many there may be.
    most: u32,
    uses: Arc<Uses>,
    /// How long a session may be unused.
    idle: Duration,
    /// Ends the streams that would never end by themselves.
    shutdown: CancellationToken,
}

/// Why a session is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    /// It has no room: it was begun by a message that did not come through the door.
    #[error("no room was reserved for the session")]
    NoSlot,
}

impl Sessions {
    pub(super) fn new(limits: &HttpLimits, shutdown: CancellationToken) -> Self {
        let mut inner = LocalSessionManager::default();
        // We know better when one is unused.
        inner.session_config.keep_alive = None;
        let slots = semaphore(limits.sessions);
        Self {
            inner,
            most: u32::try_from(slots.available_permits()).unwrap_or(u32::MAX),
            slots,
            uses: Arc::default(),
            idle: limits.session_idle,
            shutdown,
        }
    }

    /// Room for one session more, if there is.
    pub(super) fn reserve(&self) -> Option<Slot> {
        Slot::of(&self.slots)
    }

    /// Ends sessions that nobody uses, for ever.
    pub(super) async fn expire(&self) -> Infallible {
        let mut sweep = interval(self.idle.clamp(Duration::from_millis(1), SWEEP));
        loop {
            sweep.tick().await;
            for id in self.uses.unused(Instant::now(), self.idle) {
                tracing::debug!("session {id} ends: nobody used it");
                // One that has ended by itself is as well.
                let _ = self.inner.close_session(&id).await;
            }
        }
    }

    /// Waits until no session is left.
    pub(super) async fn ended(&self) {
        // It is never closed, so there is nothing else to come.
        let _ = self.slots.acquire_many(self.most).await;
    }

    /// A stream that keeps its session in use, until it is dropped.
    fn held<S: Stream>(&self, id: &SessionId, stream: S) -> impl Stream<Item = S::Item> + use<S> {
        let held = Held::new(&self.uses, id);
        stream.inspect(move |_| held.touch())
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        Ok(self.inner.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        let slot = slot(&message).ok_or(SessionsError::NoSlot)?;
        self.uses.begin(id, slot);
        let _held = Held::new(&self.uses, id);
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.uses.end(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.held(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        let _held = Held::new(&self.uses, id);
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.create_standalone_stream(id).await?;
        let shutdown = self.shutdown.clone();
        // It waits for whatever may come, so nobody waits for its end.
        let stream = stream.take_until(async move { shutdown.cancelled().await });
        Ok(self.held(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.held(id, stream))
    }
}

/// The room that the door reserved for the session that a message begins.
fn slot(message: &ClientJsonRpcMessage) -> Option<Slot> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let parts = request.request.extensions().get::<Parts>()?;
    parts.extensions.get().cloned()
}
