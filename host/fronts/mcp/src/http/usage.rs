//! Counts what uses each session, to find the unused ones.

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

/// A permit for one session. It is reserved at admission and moves with the request that starts
/// the session.
#[derive(Clone, Debug)]
pub(super) struct SessionPermit {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl SessionPermit {
    /// Takes a permit if one is free.
    pub(super) fn acquire(permits: &Arc<Semaphore>) -> Option<Self> {
        let permit = Arc::clone(permits).try_acquire_owned().ok()?;
        Some(Self {
            _permit: Arc::new(permit),
        })
    }
}

/// The open sessions and their use.
#[derive(Debug, Default)]
pub(super) struct SessionUsage(Mutex<HashMap<SessionId, UsedSession>>);

#[derive(Debug)]
struct UsedSession {
    /// Number of [`SessionGuard`]s.
    guards: usize,
    last_used: Instant,
    _permit: SessionPermit,
}

impl SessionUsage {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, UsedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: &SessionId, permit: SessionPermit) {
        let usage = UsedSession {
            guards: 0,
            last_used: Instant::now(),
            _permit: permit,
        };
        self.lock().insert(id.clone(), usage);
    }

    /// Removes a session and frees its permit.
    pub(super) fn remove(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    /// Returns the sessions that nothing uses and that were last used `idle` ago or longer.
    pub(super) fn unused(&self, now: Instant, idle: Duration) -> Vec<SessionId> {
        let sessions = self.lock();
        let unused = sessions
            .iter()
            .filter(|(_, usage)| usage.guards == 0 && now.duration_since(usage.last_used) >= idle);
        unused.map(|(id, _)| id.clone()).collect()
    }
}

/// Marks a session as used until dropped.
pub(super) struct SessionGuard {
    usage: Arc<SessionUsage>,
    id: SessionId,
}

impl SessionGuard {
    pub(super) fn new(usage: &Arc<SessionUsage>, id: &SessionId) -> Self {
        let guard = Self {
            usage: Arc::clone(usage),
            id: id.clone(),
        };
        guard.update(|usage| usage.guards += 1);
        guard
    }

    fn update(&self, change: impl FnOnce(&mut UsedSession)) {
        if let Some(usage) = self.usage.lock().get_mut(&self.id) {
            change(usage);
        }
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.update(|usage| {
            usage.guards = usage.guards.saturating_sub(1);
            usage.last_used = Instant::now();
        });
    }
}
