//! Replay of a recorded session: the loop runs again over the recorded replies, results and inputs,
//! and every event that it records must be the recorded one.
//!
//! The loop is that of every session ([`crate::turn::Agent::run_turn`]), with the recorded setup
//! ([`crate::setup`]). Its model answers with the recorded replies, its tools with the recorded
//! results, its journal compares. No tool, hook or provider runs, and nothing is written.
//!
//! Not compared, because a replay takes them from the recording: the times (`at_ms`, `duration_ms`,
//! `wall_us`, `used_ms`, `expires_at_ms`), and what a key made of equal input (signatures of
//! continuations, ids of the sessions of agents). Text that hooks added to the system prompt is
//! taken from the recording as well.

mod copied;
mod difference;
mod drive;
mod input;
mod journal;
mod model;
mod observer;
mod outcome;
mod parts;
mod policy;
mod program;
mod recording;
mod tape;
mod tools;
mod trigger;

pub use difference::Difference;
pub use drive::{Replayed, replay};
pub use policy::{CallDecision, Change, DecidedCall, decide_again};
pub use recording::{Recording, Unreplayable};
