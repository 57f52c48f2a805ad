//! Counts the memory and the tables of one call against their limits, over all instances together.
//! wasmtime's own limiter bounds each memory alone, so a component with many memories would pass
//! it.
//!
//! A call that takes much memory ends its slice before it gets it.

#[cfg(test)]
mod tests;

use crate::{
    caps::{as_count, telemetry::Telemetry},
    schedule::guest_runtime::yield_slice,
};
use agent_host_types::limits::Limits;
use std::sync::Arc;
use wasmtime::ResourceLimiterAsync;

/// A call with more bytes of memory does not stay on its caller's thread: one instruction can fill
/// all of a memory, and nothing interrupts it. 32 MiB take a few milliseconds.
const QUICK_MEMORY_BYTES: u64 = 32 * 1024 * 1024;

/// The limit that a call exceeded, which tells running out of memory apart from other crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitExceeded {
    /// More memory than the limit, or than the machine has.
    Memory,
    /// More table elements than the limit.
    TableElements,
}

pub(crate) struct Limiter {
    limits: Limits,
    /// The sum of all memories now, in bytes.
    used: u64,
    /// The bytes of the last growth, given back if the machine cannot provide them.
    last_growth: u64,
    telemetry: Arc<Telemetry>,
    /// The last exceeded limit. It stays although the guest may have continued with less: a runtime
    /// that is out of memory still allocates a little before it gives up, and then ends like any
    /// other crash.
    pub(crate) exceeded: Option<LimitExceeded>,
    paused: bool,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits, telemetry: Arc<Telemetry>) -> Self {
        Self {
            limits: limits.clone(),
            used: 0,
            last_growth: 0,
            telemetry,
            exceeded: None,
            paused: false,
        }
    }

    fn grow_memory(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let growth = desired.saturating_sub(current) as u64;
        let wanted = self.used.saturating_add(growth);
        // Our limit first: a memory without a maximum of its own has that of its address space, and
        // a guest that asks for more than that is out of memory as well.
        if wanted > self.limits.memory_bytes {
            self.exceeded = Some(LimitExceeded::Memory);
            return false;
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The memory's own maximum, not our limit.
            return false;
        }
        self.used = wanted;
        self.last_growth = growth;
        self.telemetry.has_memory(wanted);
        true
    }

    fn grow_table(&mut self, desired: usize, maximum: Option<usize>) -> bool {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return false;
        }
        let fits = desired as u64 <= self.limits.table_elements;
        if !fits {
            self.exceeded = Some(LimitExceeded::TableElements);
        }
        fits
    }
}

#[wasmtime_wasi::async_trait]
impl ResourceLimiterAsync for Limiter {
    async fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current) as u64;
        if !self.paused && self.used.saturating_add(growth) > QUICK_MEMORY_BYTES {
            self.paused = true;
            yield_slice().await;
        }
        Ok(self.grow_memory(current, desired, maximum))
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        tracing::debug!("the system could not provide memory for a guest: {error}");
        self.used = self.used.saturating_sub(self.last_growth);
        self.last_growth = 0;
        self.exceeded = Some(LimitExceeded::Memory);
        Ok(())
    }

    async fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow_table(desired, maximum))
    }

    fn instances(&self) -> usize {
        as_count(self.limits.instances)
    }

    fn tables(&self) -> usize {
        as_count(self.limits.tables)
    }

    fn memories(&self) -> usize {
        as_count(self.limits.memories)
    }
}
