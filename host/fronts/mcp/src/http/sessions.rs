//! The sessions of clients that use the handshake: bounded in number, and ended when unused.
//!
//! Wraps `rmcp`'s session manager. A session counts as used while a stream of it is open; `rmcp`
//! by itself would end one that only listens, after five minutes.

use super::{
    SessionLimits, semaphore,
    usage::{SessionGuard, SessionPermit, SessionUsage},
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

/// The longest time between two searches for unused sessions.
const SWEEP: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    permits: Arc<Semaphore>,
    max_sessions: u32,
    usage: Arc<SessionUsage>,
    idle: Duration,
    /// Ends the streams that would not end by themselves.
    shutdown: CancellationToken,
}

/// Why a session is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    /// The message that starts the session did not come through admission.
    #[error("no permit was reserved for the session")]
    NoPermit,
}

impl Sessions {
    pub(super) fn new(limits: &SessionLimits, shutdown: CancellationToken) -> Self {
        let mut inner = LocalSessionManager::default();
        // `usage` decides when a session is unused.
        inner.session_config.keep_alive = None;
        let permits = semaphore(limits.sessions);
        Self {
            inner,
            max_sessions: u32::try_from(permits.available_permits()).unwrap_or(u32::MAX),
            permits,
            usage: Arc::default(),
            idle: limits.idle,
            shutdown,
        }
    }

    /// Reserves a permit for one more session if one is free.
    pub(super) fn reserve(&self) -> Option<SessionPermit> {
        SessionPermit::acquire(&self.permits)
    }

    /// Ends unused sessions, for ever.
    pub(super) async fn expire(&self) -> Infallible {
        let mut sweep = interval(self.idle.clamp(Duration::from_millis(1), SWEEP));
        loop {
            sweep.tick().await;
            for id in self.usage.unused(Instant::now(), self.idle) {
                tracing::debug!("session {id} ends unused");
                // It may have ended by itself in the meantime.
                let _ = self.inner.close_session(&id).await;
            }
        }
    }

    /// Waits until no session is open.
    pub(super) async fn ended(&self) {
        // The semaphore is never closed.
        let _ = self.permits.acquire_many(self.max_sessions).await;
    }

    /// Wraps a stream so that it keeps its session in use until it is dropped.
    fn guarded<S: Stream>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = S::Item> + use<S> {
        let guard = SessionGuard::new(&self.usage, id);
        stream.inspect(move |_| {
            let _ = &guard;
        })
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
        let permit = permit_of(&message).ok_or(SessionsError::NoPermit)?;
        self.usage.add(id, permit);
        let _guard = SessionGuard::new(&self.usage, id);
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.usage.remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.guarded(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        let _guard = SessionGuard::new(&self.usage, id);
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.create_standalone_stream(id).await?;
        // It belongs to no request, so a shutdown need not wait for it.
        let stream = stream.take_until(self.shutdown.clone().cancelled_owned());
        Ok(self.guarded(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.guarded(id, stream))
    }
}

/// Returns the permit that admission put into the request that starts a session.
fn permit_of(message: &ClientJsonRpcMessage) -> Option<SessionPermit> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let parts = request.request.extensions().get::<Parts>()?;
    parts.extensions.get().cloned()
}
