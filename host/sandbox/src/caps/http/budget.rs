//! What the exchanges of one call share: the bytes that their bodies may have together, and how many may be open at once.

use crate::instance::limiter::as_count;
use agent_host_types::limits::Limits;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See the module.
pub(super) struct Budget {
    /// The bodies of all requests.
    pub(super) request: Meter,
    /// The bodies of all responses.
    pub(super) response: Meter,
    slots: Arc<Semaphore>,
}

/// The place of one open exchange. It is free again when its last holder lets go: the request's body on its way out and the
/// response's on its way in, since a connection lasts as long as either.
pub(super) type Slot = Arc<OwnedSemaphorePermit>;

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        let connections = as_count(limits.http_connections).min(Semaphore::MAX_PERMITS);
        Self {
            request: Meter::new(limits.http_request_bytes),
            response: Meter::new(limits.http_response_bytes),
            slots: Arc::new(Semaphore::new(connections)),
        }
    }

    /// A place for one more exchange, if one is free. Nobody waits for one: a guest could hold all of them and never let go.
    pub(super) fn slot(&self) -> Option<Slot> {
        Arc::clone(&self.slots)
            .try_acquire_owned()
            .ok()
            .map(Arc::new)
    }
}

/// Bytes of which there are only so many.
pub(super) struct Meter {
    /// How many there were.
    pub(super) limit: u64,
    left: AtomicU64,
}

impl Meter {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            left: AtomicU64::new(limit),
        }
    }

    /// Whether so many are left.
    pub(super) fn has(&self, bytes: u64) -> bool {
        bytes <= self.left.load(Ordering::Relaxed)
    }

    /// Takes so many, if they are left.
    pub(super) fn spend(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}
