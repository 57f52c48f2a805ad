//! The values that the crates of agent-host exchange and store, with their JSON forms. Nothing here is asynchronous, and no
//! value depends on the engine.
//!
//! - [`message`], [`output`], [`model`], [`tool`]: what models and tools are sent and return.
//! - [`event`]: the journal's records; [`turn`], [`approval`], [`continuation`], [`question`]: what a turn takes and gives.
//! - [`budget`], [`context`], [`limits`], [`accounting`]: bounds, and what was used of them.

pub mod accounting;
pub mod approval;
pub mod budget;
pub mod context;
pub mod continuation;
pub mod event;
pub mod failure;
pub mod id;
pub mod json;
pub mod limits;
pub mod lock;
pub mod media;
pub mod message;
pub mod model;
pub mod output;
pub mod question;
pub mod tool;
pub mod turn;
