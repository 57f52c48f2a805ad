//! The journal sessions that may have records not yet durable.

use agent_host_engine::{observer::Unobserved, session::ClientSession};
use futures_util::future::join_all;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, task::spawn_blocking, time::sleep};

/// How long records of read-only calls, which wait for no barrier, may stay not durable.
const FLUSH_DELAY: Duration = Duration::from_millis(500);

/// Sessions of closed connections that are kept until their records can be written.
const MAX_UNWRITTEN: usize = 64;

/// The sessions of all connections.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions {
    sessions: Mutex<Vec<Arc<ClientSession>>>,
    /// Notified when a record was added that no barrier has covered: a flush is due within 500 ms.
    dirty: Notify,
    /// Notified when a session gets no more calls and can be closed, or has many records that are
    /// not durable: a flush is due now.
    pub(crate) due: Notify,
}

impl OpenSessions {
    /// Adds a session; it is removed when nothing else refers to it and its records are durable.
    pub(crate) fn add(&self, session: Arc<ClientSession>) {
        self.lock().push(session);
    }

    /// Schedules a flush after a call in `session`. No call waits for it.
    pub(crate) fn schedule_flush(&self, session: &ClientSession) {
        let flush = if session.is_flush_due() {
            &self.due
        } else {
            &self.dirty
        };
        flush.notify_one();
    }

    /// Waits until a scheduled flush is due.
    pub(crate) async fn flush_due(&self) {
        tokio::select! {
            () = self.due.notified() => return,
            () = self.dirty.notified() => {}
        }
        tokio::select! {
            () = self.due.notified() => {}
            () = sleep(FLUSH_DELAY) => {}
        }
    }

    /// Makes the records of all sessions durable, all at once, and removes the sessions of closed
    /// connections.
    pub(crate) async fn flush(&self) {
        let sessions = self.lock().clone();
        let flushes = sessions.iter().map(|session| async move {
            if let Err(error) = session.flush(&Unobserved).await {
                // The next call in the session reports it to the client.
                tracing::warn!("session {} cannot be written: {error}", session.id());
            }
        });
        join_all(flushes).await;
        drop(sessions);
        let removed = self.remove_closed();
        if !removed.is_empty() {
            // Dropping a journal releases its lock, and waits if a call recorded in the meantime.
            let dropped = spawn_blocking(move || drop(removed)).await;
            if let Err(error) = dropped {
                tracing::warn!("a session was not closed: {error}");
            }
        }
    }

    /// Removes the sessions of closed connections that are durable.
    fn remove_closed(&self) -> Vec<Arc<ClientSession>> {
        let mut unwritten = 0;
        let closed = |session: &mut Arc<ClientSession>| {
            let is_unwritten = session.is_unwritten();
            unwritten += usize::from(is_unwritten);
            Arc::strong_count(session) == 1 && !(is_unwritten && unwritten <= MAX_UNWRITTEN)
        };
        self.lock().extract_if(.., closed).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
