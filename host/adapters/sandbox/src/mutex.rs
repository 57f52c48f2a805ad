//! Mutexes without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. The data behind every mutex of this crate is valid between any two statements, so
/// it is still usable after a panic elsewhere.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
