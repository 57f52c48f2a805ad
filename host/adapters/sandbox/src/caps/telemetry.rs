//! The visible state of a running call: its stdout and stderr, the peak of its memory, its progress
//! reports. The guest's side writes it and the caller reads it; it outlives the guest,
//! because a call that is stopped has done something, too.

use crate::caps::{
    progress::Reports,
    stdio::{self, GuestStream},
};
use agent_host_engine::secrets::Secrets;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::{sync::Notify, time::Instant};

/// Of one call. It is one allocation, because each call makes one.
pub(crate) struct Telemetry {
    pub(crate) stdout: GuestStream,
    pub(crate) stderr: GuestStream,
    /// Tells that a stream has lines that were not shown.
    pub(crate) printed: Notify,
    pub(crate) reports: Reports,
    /// The largest sum of the call's memories, in bytes.
    peak: AtomicU64,
}

impl Telemetry {
    /// Starts empty; keeps the last `stdio_bytes` bytes of each stream, and redacts the secrets in
    /// what is shown of them.
    pub(crate) fn new(stdio_bytes: usize, secrets: &Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self {
            stdout: GuestStream::new(stdio_bytes, secrets),
            stderr: GuestStream::new(stdio_bytes, secrets),
            printed: Notify::new(),
            reports: Reports::default(),
            peak: AtomicU64::new(0),
        })
    }

    /// Takes the lines that were not shown, when there are some and not before this time.
    /// Cancel-safe; for one caller at a time.
    pub(crate) async fn lines(&self, not_before: Option<Instant>) -> String {
        loop {
            if stdio::has_lines(self) {
                if let Some(time) = not_before {
                    tokio::time::sleep_until(time).await;
                }
                if let Some(lines) = stdio::take_lines(self) {
                    return lines;
                }
            }
            self.printed.notified().await;
        }
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
