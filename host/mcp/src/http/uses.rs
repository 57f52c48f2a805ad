//! Who uses which session, so that one that nobody uses can be told.

use rmcp::transport::streamable_http_server::session::SessionId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The room of a session. The door reserves it, and it travels with the request that begins the session.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Slot {
    /// Room for one session, if there is.
    pub(super) fn of(slots: &Arc<Semaphore>) -> Option<Self> {
        let permit = Arc::clone(slots).try_acquire_owned().ok()?;
        Some(Self {
            _permit: Arc::new(permit),
        })
    }
}

/// The sessions, and who uses them.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<HashMap<SessionId, Use>>);

/// How a session is used.
#[derive(Debug)]
struct Use {
    /// What uses it now.
    open: usize,
    /// When it was used last.
    last: Instant,
    _slot: Slot,
}

impl Uses {
    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a session from now on.
    pub(super) fn begin(&self, id: &SessionId, slot: Slot) {
        let begun = Use {
            open: 0,
            last: Instant::now(),
            _slot: slot,
        };
        self.all().insert(id.clone(), begun);
    }

    /// Forgets a session, and makes room for another.
    pub(super) fn end(&self, id: &SessionId) {
        self.all().remove(id);
    }

    /// Those that nobody uses and nobody has used for so long.
    pub(super) fn unused(&self, now: Instant, idle: Duration) -> Vec<SessionId> {
        let all = self.all();
        let unused = all
            .iter()
            .filter(|(_, used)| used.open == 0 && now.duration_since(used.last) >= idle);
        unused.map(|(id, _)| id.clone()).collect()
    }
}

/// Something that uses a session, until it is dropped.
pub(super) struct Held {
    uses: Arc<Uses>,
    id: SessionId,
}

impl Held {
    pub(super) fn new(uses: &Arc<Uses>, id: &SessionId) -> Self {
        if let Some(used) = uses.all().get_mut(id) {
            used.open += 1;
        }
        Self {
            uses: Arc::clone(uses),
            id: id.clone(),
        }
    }

    /// Uses the session now.
    pub(super) fn touch(&self) {
        if let Some(used) = self.uses.all().get_mut(&self.id) {
            used.last = Instant::now();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(used) = self.uses.all().get_mut(&self.id) {
            used.open = used.open.saturating_sub(1);
            used.last = Instant::now();
        }
    }
}
