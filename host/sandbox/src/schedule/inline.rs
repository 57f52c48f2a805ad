//! What the scheduler has seen of a tool: whether its next call may begin on its caller's thread, or must begin with those that
//! compute for long. A tool earns the first by many short calls and loses it by one long one; neither changes what it may do.

#[cfg(test)]
mod tests;

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

/// A call that computed for less than this, without a pause, is a quick one: a few times what it costs to wake another thread
/// for a call, which is about 20 us.
const QUICK: Duration = Duration::from_micros(100);

/// The quick calls in a row that a tool needs at first.
const NEEDED: u32 = 16;

/// The most that it can need: each time that it abuses the trust it needs twice as many.
const MOST_NEEDED: u32 = 1 << 20;

/// The record of one tool.
pub(crate) struct Standing {
    /// Quick calls in a row.
    quick: AtomicU32,
    /// How many it needs.
    needed: AtomicU32,
    /// Whether the last call that ended, or computed beyond a slice, did the latter.
    long: AtomicBool,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            quick: AtomicU32::new(0),
            needed: AtomicU32::new(NEEDED),
            long: AtomicBool::new(false),
        }
    }
}

impl Standing {
    /// Whether its next call may begin on its caller's thread.
    pub(crate) fn is_trusted(&self) -> bool {
        self.quick.load(Ordering::Relaxed) >= self.needed.load(Ordering::Relaxed)
    }

    /// Whether its next call begins with those that compute for long.
    pub(crate) fn is_long(&self) -> bool {
        self.long.load(Ordering::Relaxed)
    }

    /// A call ended after it had computed for this long and paused so often.
    pub(crate) fn ended(&self, computed: Duration, pauses: u32) {
        if computed < QUICK && pauses == 0 {
            // After 4 billion of them it begins anew, which costs a few calls their speed.
            self.quick.fetch_add(1, Ordering::Relaxed);
        } else {
            self.forgive_once();
        }
        if self.is_long() {
            self.long.store(false, Ordering::Relaxed);
        }
    }

    /// One call was not quick. The machine may have paused it, which says nothing of the tool: twice the quick calls that it needs
    /// outweigh one.
    fn forgive_once(&self) {
        let needed = self.needed.load(Ordering::Relaxed);
        let quick = self.quick.load(Ordering::Relaxed);
        let left = quick.min(needed.saturating_mul(2)).saturating_sub(needed);
        self.quick.store(left, Ordering::Relaxed);
    }

    /// A call computed for longer than a slice.
    pub(crate) fn overran(&self) {
        self.quick.store(0, Ordering::Relaxed);
        self.long.store(true, Ordering::Relaxed);
    }

    /// A call that began on its caller's thread did not end there.
    pub(crate) fn betrayed(&self) {
        let needed = self.needed.load(Ordering::Relaxed);
        let more = needed.saturating_mul(2).min(MOST_NEEDED);
        self.needed.store(more, Ordering::Relaxed);
        self.quick.store(0, Ordering::Relaxed);
    }
}
