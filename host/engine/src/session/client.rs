//! A session whose loop is a client's: its calls run side by side, and each records for itself.

use super::Session;
use crate::{
    journal::{Journal, JournalError},
    observer::Observer,
};
use agent_host_types::{
    approval::RememberScope,
    event::Event,
    id::{CallId, SessionId},
};
use serde_json::{Map, Value};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The call that shared state is recorded under which a session takes over from the one before it.
const CARRIED_OVER: &str = "carried-over";

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
    /// Whether nothing of it can be written any more.
    lost: AtomicBool,
    /// The session that took its place. Set and read while `session` is locked.
    successor: OnceLock<Arc<Self>>,
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
            lost: AtomicBool::new(false),
            successor: OnceLock::new(),
        }
    }

    /// Lets a new session take the place of this one, with the shared state of the tools and the remembered approvals. Calls that
    /// began here end here; what they still merge into the shared state reaches the new session, too.
    #[must_use]
    pub fn continue_in(&self, mut new: Session) -> Arc<Self> {
        let session = self.lock();
        let shared = session.state().shared();
        if !shared.is_empty() {
            new.record(merged(Map::clone(shared)), Vec::new());
        }
        for rule in session.state().remembered().to_vec() {
            let scope = RememberScope::Session;
            new.record(Event::ApprovalRemembered { rule, scope }, Vec::new());
        }
        let new = Arc::new(Self::new(new));
        // A second successor would receive no later merges.
        let _ = self.successor.set(Arc::clone(&new));
        new
    }

    /// Whether calls should begin in a session that takes the place of this one: nothing of it can be written any more, or it has
    /// at least `most_bytes` bytes of events.
    #[must_use]
    pub fn is_over(&self, most_bytes: u64) -> bool {
        self.is_lost() || self.journal.appended_bytes() >= most_bytes
    }

    /// Whether the last barrier failed, and a later one may not.
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        self.failed.load(Ordering::Relaxed) && !self.is_lost()
    }

    /// Whether nothing of it can be written any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Makes what was recorded so far durable. Read-only calls do not wait for it, so whoever serves them does it now and then, and
    /// at the end. After a failure it tries again with everything that is not stored: a call that failed has its end among that.
    ///
    /// # Errors
    /// When the journal cannot be written. Calls of the session fail until it can be again.
    pub async fn flush(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        let before = self.lock().next_seq();
        if self.failed.load(Ordering::Relaxed) && !self.journal.retry() {
            self.lost.store(true, Ordering::Relaxed);
        }
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
    pub(crate) async fn flush_if_full(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        if !self.failed.load(Ordering::Relaxed) && self.lock().undurable() < MAX_UNDURABLE {
            return Ok(());
        }
        self.flush(observer).await
    }

    /// Hands what a call merged into the shared state on to the session that took the place of this one, if there is one.
    /// `_locked` is this session, in which the call was settled.
    pub(crate) fn forward_merges(
        &self,
        _locked: &MutexGuard<'_, Session>,
        merges: Vec<Map<String, Value>>,
    ) {
        let Some(successor) = self.successor.get().filter(|_| !merges.is_empty()) else {
            return;
        };
        let mut session = successor.lock();
        let events = merges.iter().cloned().map(merged).collect();
        session.record_all(events, Vec::new());
        successor.forward_merges(&session, merges);
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

fn merged(delta: Map<String, Value>) -> Event {
    Event::StateMerged {
        call_id: CallId(CARRIED_OVER.to_owned()),
        delta,
    }
}
