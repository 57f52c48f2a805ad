//! How many calls run and how many wait. A call beyond both is answered at once, so that a flood costs nobody memory.

#[cfg(test)]
mod tests;

use agent_host_core::failure::{ToolErrorCode, ToolFailure};
use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The door to the pool.
pub(crate) struct Admission {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

/// One admitted call. The guest's task owns it, and drops it after its store.
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Admission {
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(running)),
            waiting: Semaphore::new(waiting),
        }
    }

    /// Admits a call, or lets it wait for its turn; calls that wait are admitted in the order in which they came.
    ///
    /// # Errors
    /// `busy` when too many wait, or when the turn does not come in time.
    pub(crate) async fn admit(&self, patience: Duration) -> Result<Place, ToolFailure> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let Ok(_queued) = self.waiting.try_acquire() else {
            return Err(busy("too many others already wait"));
        };
        let turn = tokio::time::timeout(patience, Arc::clone(&self.running).acquire_owned());
        match turn.await {
            Ok(Ok(permit)) => Ok(Place { _permit: permit }),
            Ok(Err(_)) => Err(busy("the sandbox is shutting down")),
            Err(_) => Err(busy("its turn did not come within its deadline")),
        }
    }
}

fn busy(why: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::Busy,
        format!(
            "Too many calls are running; this one was not started, because {why}. Try it again later."
        ),
    )
}
