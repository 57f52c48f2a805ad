//! A session driven by an external client: its calls run concurrently, and each records for itself.

use super::Session;
use crate::{
    journal::{Journal, JournalError},
    observer::Observer,
    tool::SessionChange,
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

/// The call id under which a successor session records the shared state that it takes over.
const CARRIED_OVER: &str = "carried-over";

/// The number of records without a barrier, a few hundred bytes each, at which one is due.
const FLUSH_AT: usize = 1024;

/// The number at which the next call waits for a barrier. A disk that is behind thus slows its
/// clients, and otherwise a barrier ends before this is reached.
pub(crate) const MAX_UNDURABLE: usize = 8 * FLUSH_AT;

/// A session that several calls use at once.
///
/// Only calls record in it, so its state stays small: the shared state of the tools and the
/// remembered approvals.
pub struct ClientSession {
    id: SessionId,
    journal: Arc<dyn Journal>,
    session: Mutex<Session>,
    /// The number of calls.
    calls: AtomicU64,
    /// Whether the last barrier failed.
    failed: AtomicBool,
    /// Whether no later barrier can succeed.
    lost: AtomicBool,
    /// The successor. Set and read while `session` is locked.
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
    /// Makes a session usable by concurrent calls.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self {
            id: session.id(),
            journal: Arc::clone(&session.journal),
            session: Mutex::new(session),
            calls: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            successor: OnceLock::new(),
        }
    }

    /// Makes a new session the successor of this one, with the shared state of the tools and the
    /// remembered approvals, but not the artifacts. Calls that started here end here; their later
    /// changes are forwarded to the successor.
    #[must_use]
    pub fn continue_in(&self, mut new: Session) -> Arc<Self> {
        let session = self.lock();
        let shared = session.state().shared();
        let flow = &session.state().flow;
        if !shared.is_empty() {
            let sources = flow.sources_of_shared().cloned().collect();
            new.record(merged(Map::clone(shared), sources), Vec::new());
        }
        let files = flow.files.recorded();
        if !files.is_empty() {
            let call_id = CallId(CARRIED_OVER.to_owned());
            new.record(Event::FilesLabelled { call_id, files }, Vec::new());
        }
        for rule in session.state().remembered().to_vec() {
            let scope = RememberScope::Session;
            new.record(Event::ApprovalRemembered { rule, scope }, Vec::new());
        }
        let new = Arc::new(Self::new(new));
        // A second successor would receive no later changes.
        let _ = self.successor.set(Arc::clone(&new));
        new
    }

    /// Returns the sources of the results so far, for the start of a successor.
    #[must_use]
    pub fn sources(&self) -> Vec<String> {
        self.lock().state().flow.all_seen()
    }

    /// Whether new calls should start in a successor: this session cannot be written any more, or
    /// has at least `most_bytes` bytes of events.
    #[must_use]
    pub fn is_over(&self, most_bytes: u64) -> bool {
        self.is_lost() || self.journal.appended_bytes() >= most_bytes
    }

    /// Whether the last barrier failed and a later one may succeed.
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        self.failed.load(Ordering::Relaxed) && !self.is_lost()
    }

    /// Whether no later barrier can succeed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Makes all records so far durable. Read-only calls do not wait for this, so the caller
    /// flushes periodically and at the end. After a failure, retries with everything that is not
    /// stored, including the results of calls that failed.
    ///
    /// # Errors
    /// When the journal cannot be written. Calls of the session fail until it can.
    pub async fn flush(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        let before = self.lock().record_count();
        if self.failed.load(Ordering::Relaxed) && !self.journal.retry() {
            self.lost.store(true, Ordering::Relaxed);
        }
        // Without the lock: calls record while the disk is written.
        let ended = self.journal.barrier().await;
        self.failed.store(ended.is_err(), Ordering::Relaxed);
        ended?;
        let records = self.lock().durable(before);
        for record in records {
            observer.recorded(&Arc::new(record));
        }
        Ok(())
    }

    /// Whether the caller should flush now and not at its next period, so that no call has to wait
    /// for a barrier.
    #[must_use]
    pub fn is_flush_due(&self) -> bool {
        self.lock().undurable() >= FLUSH_AT
    }

    /// Waits for a barrier if [`MAX_UNDURABLE`] records wait for one, or the last one failed.
    pub(crate) async fn flush_if_full(&self, observer: &dyn Observer) -> Result<(), JournalError> {
        if !self.failed.load(Ordering::Relaxed) && self.lock().undurable() < MAX_UNDURABLE {
            return Ok(());
        }
        self.flush(observer).await
    }

    /// Forwards a call's changes to the successor, if there is one. `_locked` is this session, in
    /// which the call was settled.
    pub(crate) fn forward_changes(
        &self,
        _locked: &MutexGuard<'_, Session>,
        changes: Vec<SessionChange>,
    ) {
        let Some(successor) = self.successor.get().filter(|_| !changes.is_empty()) else {
            return;
        };
        let mut session = successor.lock();
        let carried_over = CallId(CARRIED_OVER.to_owned());
        let mut blobs = Vec::new();
        let recorded = changes.clone().into_iter();
        let events =
            recorded.map(|change| change.into_event(&carried_over, CARRIED_OVER, &mut blobs));
        let events = events.collect();
        session.record_all(events, blobs);
        successor.forward_changes(&session, changes);
    }

    /// Returns a call id that is unique in the session: only client calls are recorded in it, and
    /// it is never resumed.
    pub(crate) fn new_call_id(&self) -> CallId {
        CallId(format!(
            "client-{}",
            self.calls.fetch_add(1, Ordering::Relaxed) + 1
        ))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn merged(delta: Map<String, Value>, labels: Vec<String>) -> Event {
    Event::StateMerged {
        call_id: CallId(CARRIED_OVER.to_owned()),
        delta,
        labels,
    }
}
