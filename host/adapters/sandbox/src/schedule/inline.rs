//! Decides from a tool's recent calls whether its next one may start inline, on the caller's
//! thread, or must start on the long threads. Changes only where a call runs, never what it may do.

#[cfg(test)]
mod tests;

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

/// A quick call computes for less than this and never yields: a few times the 20 us that handing a
/// call to another thread costs.
const QUICK: Duration = Duration::from_micros(100);

/// The quick calls in a row that a tool needs at first to run inline.
const INITIAL_REQUIRED: u32 = 16;

/// The bound on that number, which doubles with each inline call that overruns.
const MAX_REQUIRED: u32 = 1 << 20;

pub(crate) struct InlineHistory {
    /// Quick calls in a row.
    streak: AtomicU32,
    /// The streak that inline calls need.
    required: AtomicU32,
    /// True if the last call overran its slice.
    last_was_long: AtomicBool,
}

impl Default for InlineHistory {
    fn default() -> Self {
        Self {
            streak: AtomicU32::new(0),
            required: AtomicU32::new(INITIAL_REQUIRED),
            last_was_long: AtomicBool::new(false),
        }
    }
}

impl InlineHistory {
    /// True if the next call may start on its caller's thread.
    pub(crate) fn may_inline(&self) -> bool {
        self.streak.load(Ordering::Relaxed) >= self.required.load(Ordering::Relaxed)
    }

    /// True if the next call starts on the long threads.
    pub(crate) fn starts_long(&self) -> bool {
        self.last_was_long.load(Ordering::Relaxed)
    }

    /// Records a call that ended within its first slice.
    pub(crate) fn on_finished(&self, computed: Duration, yields: u32) {
        if computed < QUICK && yields == 0 {
            // Wraps after 4 billion calls, which costs a few calls their speed.
            self.streak.fetch_add(1, Ordering::Relaxed);
        } else {
            self.on_slow();
        }
        if self.starts_long() {
            self.last_was_long.store(false, Ordering::Relaxed);
        }
    }

    /// Tolerates one slow call after a streak of twice the required length: the machine may have
    /// paused it.
    fn on_slow(&self) {
        let required = self.required.load(Ordering::Relaxed);
        let streak = self.streak.load(Ordering::Relaxed);
        let left = streak
            .min(required.saturating_mul(2))
            .saturating_sub(required);
        self.streak.store(left, Ordering::Relaxed);
    }

    /// Records a call that computed for longer than a slice.
    pub(crate) fn on_long(&self) {
        self.streak.store(0, Ordering::Relaxed);
        self.last_was_long.store(true, Ordering::Relaxed);
    }

    /// Records a call that started inline and did not end there.
    pub(crate) fn on_overrun(&self) {
        let required = self.required.load(Ordering::Relaxed);
        let required = required.saturating_mul(2).min(MAX_REQUIRED);
        self.required.store(required, Ordering::Relaxed);
        self.streak.store(0, Ordering::Relaxed);
    }
}
