//! The host functions that a guest can call, one file for each interface. None of them decides what is allowed: effects on
//! the world ask the gate.

pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod human;
pub(crate) mod progress;
pub(crate) mod state;
pub(crate) mod stdio;
pub(crate) mod telemetry;
pub(crate) mod unwind;
pub(crate) mod wasi;
