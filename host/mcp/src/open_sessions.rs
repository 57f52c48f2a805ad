//! The journal sessions that may have records not yet durable.

use agent_host_engine::{observer::Unobserved, session::ClientSession};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};

/// How long records of read-only calls, which wait for no barrier, may stay not durable.
const FLUSH_DELAY: Duration = Duration::from_millis(500);

/// Sessions of closed connections that are kept until their records can be written.
const MAX_UNWRITTEN: usize = 64;

/// The sessions of all connections.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions {
    sessions: Mutex<Vec<Arc<ClientSession>>>,
    /// Notified when a record was added that no barrier has covered: a flush is due within 500 ms.
    pub(crate) dirty: Notify,
    /// Notified when a session gets no more calls and can be closed: a flush is due now.
    pub(crate) ended: Notify,
}

impl OpenSessions {
    /// Adds a session; it is removed when nothing else refers to it and its records are durable.
    pub(crate) fn add(&self, session: Arc<ClientSession>) {
        self.lock().push(session);
    }

    /// Waits until a scheduled flush is due.
    pub(crate) async fn flush_due(&self) {
        tokio::select! {
            () = self.ended.notified() => return,
            () = self.dirty.notified() => {}
        }
        tokio::select! {
            () = self.ended.notified() => {}
            () = sleep(FLUSH_DELAY) => {}
        }
    }

    /// Makes the records of all sessions durable, and removes the sessions of closed connections.
    pub(crate) async fn flush(&self) {
        let sessions = self.lock().clone();
        for session in &sessions {
            if let Err(error) = session.flush(&Unobserved).await {
                // The next call in the session reports it to the client.
                tracing::warn!("session {} cannot be written: {error}", session.id());
            }
        }
        drop(sessions);
        let mut unwritten = 0;
        self.lock().retain(|session| {
            let is_unwritten = session.is_unwritten();
            unwritten += usize::from(is_unwritten);
            Arc::strong_count(session) > 1 || is_unwritten && unwritten <= MAX_UNWRITTEN
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
