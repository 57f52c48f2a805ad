//! The visible state of a running call: the end of its stdout and stderr, the peak of its memory,
//! its progress reports. The guest's side writes it and the caller reads it; it outlives the guest,
//! because a call that is stopped has done something, too.

use crate::caps::{progress::Reports, stdio::Tail};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Of one call. It is one allocation, because each call makes one.
pub(crate) struct Telemetry {
    pub(crate) stdout: Tail,
    pub(crate) stderr: Tail,
    pub(crate) reports: Reports,
    /// The largest sum of the call's memories, in bytes.
    peak: AtomicU64,
}

impl Telemetry {
    /// Starts empty; keeps the last `stdio_bytes` bytes of each stream.
    pub(crate) fn new(stdio_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            stdout: Tail::new(stdio_bytes),
            stderr: Tail::new(stdio_bytes),
            reports: Reports::default(),
            peak: AtomicU64::new(0),
        })
    }

    /// Records the size of the call's memories, in bytes.
    pub(crate) fn has_memory(&self, bytes: u64) {
        self.peak.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The largest sum of the call's memories so far, in bytes.
    pub(crate) fn peak_memory_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}
