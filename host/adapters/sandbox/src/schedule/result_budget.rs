//! Bounds the memory of all results that are being converted, checked and redacted at once.
//!
//! A call reserves what its result can take before it converts it, and waits for others if that
//! does not fit. One tool holds at most half of the budget, so that a flood of large results leaves
//! the rest to other tools. Holders only compute, so every wait ends.

#[cfg(test)]
mod tests;

use agent_host_types::failure::{ToolErrorCode, ToolFailure};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit of the budget, in bytes: semaphores count in 32 bits.
const UNIT: usize = 1024;

/// The budget of one sandbox.
pub(crate) struct ResultBudget {
    free: Arc<Semaphore>,
    bytes: usize,
}

/// The share of one tool.
pub(crate) struct ToolResults {
    /// Half of the budget.
    share: Arc<Semaphore>,
    share_units: u32,
    free: Arc<Semaphore>,
    bytes: usize,
}

/// A reservation, released on drop.
#[expect(dead_code, reason = "held until the result is reported")]
pub(crate) struct ResultPermit {
    free: Option<OwnedSemaphorePermit>,
    share: Option<OwnedSemaphorePermit>,
}

impl ResultBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(bytes / UNIT)),
            bytes,
        }
    }

    /// Creates the share of one tool.
    pub(crate) fn tool(&self) -> Arc<ToolResults> {
        let units = (self.bytes / UNIT).div_ceil(2);
        Arc::new(ToolResults {
            share: Arc::new(Semaphore::new(units)),
            share_units: u32::try_from(units).unwrap_or(u32::MAX),
            free: Arc::clone(&self.free),
            bytes: self.bytes,
        })
    }
}

impl ToolResults {
    /// Reserves memory for one result, first of the tool's share and then of the whole. A result
    /// that is larger than the share takes all of it.
    ///
    /// # Errors
    /// `output-too-large`, naming the limit, if the result never fits.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<ResultPermit, ToolFailure> {
        if bytes > self.bytes / UNIT * UNIT {
            return Err(self.too_large(bytes));
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // The semaphores are never closed, so there are no errors.
        let share = Arc::clone(&self.share);
        let share = share.acquire_many_owned(units.min(self.share_units)).await;
        let free = Arc::clone(&self.free).acquire_many_owned(units).await;
        Ok(ResultPermit {
            free: free.ok(),
            share: share.ok(),
        })
    }

    fn too_large(&self, bytes: usize) -> ToolFailure {
        ToolFailure::new(
            ToolErrorCode::OutputTooLarge,
            format!(
                "Converting the tool's result can take {bytes} bytes of memory, and the limit for all results \
                 together is {} (limit `result-memory-bytes`). Ask it for less, such as one part at a time.",
                self.bytes
            ),
        )
    }
}
