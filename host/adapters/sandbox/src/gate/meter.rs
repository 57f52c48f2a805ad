//! An amount of which at most a limit is used. Lock-free, since both directions of an exchange and
//! all descriptors of a call share one.

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Meter {
    pub(crate) limit: u64,
    used: AtomicU64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
        }
    }

    /// Returns whether `amount` more is within the limit.
    pub(crate) fn fits(&self, amount: u64) -> bool {
        self.with(self.used.load(Ordering::Relaxed), amount)
            .is_some()
    }

    /// Uses `amount`, all of it or nothing, and returns whether it was within the limit.
    pub(crate) fn take(&self, amount: u64) -> bool {
        let with = |used| self.with(used, amount);
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, with)
            .is_ok()
    }

    /// Returns what was taken for an operation that then failed.
    pub(crate) fn give_back(&self, amount: u64) {
        let less = |used: u64| Some(used.saturating_sub(amount));
        // It was renewed meanwhile if less is used.
        let _ = self
            .used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Makes the whole limit available again.
    pub(crate) fn renew(&self) {
        self.used.store(0, Ordering::Relaxed);
    }

    fn with(&self, used: u64, amount: u64) -> Option<u64> {
        used.checked_add(amount).filter(|sum| *sum <= self.limit)
    }
}
