//! The budget that the exchanges of one call share: the bytes of their bodies, and the exchanges
//! that are open at once.

use crate::{
    caps::as_count,
    gate::{Gate, Meter},
};
use agent_host_types::limits::Limits;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct HttpBudget {
    gate: Arc<Gate>,
    connections: Arc<Semaphore>,
}

/// The permit of one open exchange. Its holders are the request's body on its way out and the
/// response's on its way in, since a connection lasts as long as either.
pub(super) type ConnectionPermit = Arc<OwnedSemaphorePermit>;

impl HttpBudget {
    pub(super) fn new(gate: Arc<Gate>, limits: &Limits) -> Self {
        let connections = as_count(limits.http_connections).min(Semaphore::MAX_PERMITS);
        Self {
            gate,
            connections: Arc::new(Semaphore::new(connections)),
        }
    }

    /// Returns the meter of the bytes of all request bodies.
    pub(super) fn request(&self) -> &Meter {
        &self.gate.http_request_bytes
    }

    /// Returns the meter of the bytes of all response bodies.
    pub(super) fn response(&self) -> &Meter {
        &self.gate.http_response_bytes
    }

    /// Takes a permit for one more exchange, if one is free. It never waits: a guest could hold all
    /// permits and never release one.
    pub(super) fn permit(&self) -> Option<ConnectionPermit> {
        Arc::clone(&self.connections)
            .try_acquire_owned()
            .ok()
            .map(Arc::new)
    }
}
