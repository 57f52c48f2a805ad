//! The deadline of a call. It stands still while a program waits for the calls that it made.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

use crate::mutex::lock;

pub(crate) struct Deadline {
    at: Mutex<Instant>,
    is_paused: AtomicBool,
    resumed: Notify,
}

impl Deadline {
    pub(crate) fn new(at: Instant) -> Self {
        Self {
            at: Mutex::new(at),
            is_paused: AtomicBool::new(false),
            resumed: Notify::new(),
        }
    }

    /// Returns the time that is left, without a pause from now on.
    pub(crate) fn left(&self) -> Duration {
        lock(&self.at).saturating_duration_since(Instant::now())
    }

    /// Returns whether it has passed.
    pub(crate) fn has_passed(&self) -> bool {
        !self.is_paused.load(Ordering::Acquire) && self.left().is_zero()
    }

    /// Waits until it has passed.
    pub(crate) async fn passed(&self) {
        loop {
            tokio::time::sleep(self.left()).await;
            if self.has_passed() {
                return;
            }
            if self.is_paused.load(Ordering::Acquire) {
                self.resumed.notified().await;
            }
        }
    }

    /// Waits for work during which it stands still.
    pub(crate) async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        self.is_paused.store(true, Ordering::Release);
        let done = work.await;
        *lock(&self.at) += began.elapsed();
        self.is_paused.store(false, Ordering::Release);
        self.resumed.notify_one();
        done
    }
}
