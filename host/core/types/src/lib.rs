//! The values that the crates of agent-host exchange and store, with their JSON forms. Nothing here
//! is asynchronous, and no value depends on the engine.
//!
//! - [`message`], [`output`], [`model`], [`tool`]: the data sent to and returned by models and
//!   tools; [`media`]: media types of files.
//! - [`event`]: the journal's records; [`turn`], [`approval`], [`continuation`], [`question`]: the
//!   input and the report of a turn; [`form`]: the fields of questions.
//! - [`session_status`]: the status of a session in lists, folded from its events.
//! - [`stats`]: the figures of what sessions use, folded from their events, and their sums.
//! - [`artifact`]: names of artifacts; [`custom_context`]: what the operator's program says of a session's request.
//! - [`budget`], [`context`], [`limits`], [`accounting`], [`json`]: bounds, and the usage that they
//!   bound.
//! - [`audit`]: the requests of calls to the gate. [`hook`]: the verdicts of hooks. [`workflow`]: the
//!   outputs of the nodes of workflows.
//! - [`failure`]: abnormal ends of calls; [`reason`]: reasons for failures that are only shown;
//!   [`id`]: identifiers and digests; [`lock`]: `agent.lock`.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!(
    "agent-host runs on Linux, on x86_64 (tested) and aarch64 (built, untested); on another system, \
     run it in the container of packaging/Containerfile"
);

pub mod accounting;
pub mod approval;
pub mod artifact;
pub mod audit;
pub mod budget;
pub mod context;
pub mod continuation;
pub mod custom_context;
pub mod event;
pub mod facts;
pub mod failure;
pub mod flow;
pub mod form;
pub mod hook;
pub mod id;
pub mod json;
pub mod limits;
pub mod lock;
pub mod media;
pub mod message;
pub mod model;
pub mod output;
pub mod question;
pub mod reason;
pub mod run;
pub mod schema;
pub mod session_status;
pub mod stats;
pub mod tool;
pub mod turn;
mod word_enums;
pub mod workflow;
