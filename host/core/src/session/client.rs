//! A session whose loop is a client's: its calls run side by side, and each records for itself.

use super::Session;
use crate::{
    id::{CallId, SessionId},
    journal::{Journal, JournalError},
    observer::Observer,
};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// So many records may wait for a barrier; the call that comes then waits for one itself. A few hundred bytes each.
const MAX_UNDURABLE: usize = 1024;

/// A session that several calls use at once.
///
/// Nobody but calls records in it, so its state stays small however many there are: only the shared state of the tools and what a
/// person wants to be remembered.
pub struct ClientSession {
    id: SessionId,
    journal: Arc<dyn Journal>,
    session: Mutex<Session>,
    /// How many calls there were.
    calls: AtomicU64,
    /// Whether the last barrier failed.
    failed: AtomicBool,
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl ClientSession {
    /// Lets calls use a session side by side.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self {
            id: session.id(),
            journal: session.journal(),
            session: Mutex::new(session),
            calls: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Makes what was recorded so far durable. Read-only calls do not wait for it, so whoever serves them does it now and then, and
    /// at the end.
    ///
    /// # Errors
    /// When the journal cannot be written. Calls of the session fail until it can be again.
    pub async fn flush(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        let before = self.lock().next_seq();
        // Not under the lock: calls go on recording while the disk is waited for.
        let ended = self.journal.barrier().await;
        self.failed.store(ended.is_err(), Ordering::Relaxed);
        ended?;
        let records = self.lock().durable(before);
        for record in records {
            observer.recorded(&record);
        }
        Ok(())
    }

    /// Waits for a barrier if too much waits for one, or the last one failed: nothing goes on past that.
    pub(crate) async fn make_room(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        if !self.failed.load(Ordering::Relaxed) && self.lock().undurable() < MAX_UNDURABLE {
            return Ok(());
        }
        self.flush(observer).await
    }

    /// An id that no other call of the session has: nobody but clients calls in it, and it is never opened again to be gone on with.
    pub(crate) fn new_call_id(&self) -> CallId {
        CallId(format!(
            "client-{}",
            self.calls.fetch_add(1, Ordering::Relaxed) + 1
        ))
    }

    /// The session, for a moment.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
