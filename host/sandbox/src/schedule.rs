//! When and on which thread a call runs: admission, the guest threads, and the epoch clock.

pub(crate) mod admission;
pub(crate) mod fair_semaphore;
pub(crate) mod guest_runtime;
pub(crate) mod inline;
pub(crate) mod result_budget;
pub(crate) mod threads;
pub(crate) mod ticker;
