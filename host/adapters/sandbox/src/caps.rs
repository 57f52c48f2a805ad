//! The host functions that a guest can import: one module for each capability. None of them
//! decides what is allowed: every effect asks the [gate](crate::gate).
//!
//! A capability keeps the data of one call in its context, a field of the store's data. Its host
//! functions are implemented on that context or, if they hand out resources, on a view: the context
//! with the call's resource table, as in wasmtime-wasi.

pub(crate) mod artifacts;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod human;
pub(crate) mod partial;
pub(crate) mod pipe;
pub(crate) mod progress;
pub(crate) mod result_size;
pub(crate) mod seeded;
pub(crate) mod state;
pub(crate) mod stdio;
pub(crate) mod telemetry;
pub(crate) mod tools;
pub(crate) mod unwind;
pub(crate) mod wasi;

/// Converts a limit to the engine's type, saturating.
pub(crate) fn as_count(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
