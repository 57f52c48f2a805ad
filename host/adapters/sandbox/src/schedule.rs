//! When and on which thread a call runs: admission, the guest threads, the threads that may block,
//! the lifespan of programs, and the epoch clock.

pub(crate) mod activity;
pub(crate) mod admission;
pub(crate) mod blocking;
pub(crate) mod deadline;
pub(crate) mod fair_semaphore;
pub(crate) mod guest_runtime;
pub(crate) mod inline;
pub(crate) mod result_budget;
pub(crate) mod threads;
pub(crate) mod ticker;
