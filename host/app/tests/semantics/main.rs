//! Tests the numbered cases of the specification with real parts: components in the sandbox, the
//! journal on SQLite, configuration from `agent.toml`. Only the model is scripted, except where the
//! subject is a provider's API. A restart opens everything again.
//!
//! The modules are called `.._semantics`, so that the filter `semantics::t06` finds T6 in any of
//! them.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

mod components;
mod endings;
mod script;
mod tools;
mod values;
mod watcher;
mod world;

mod approval_semantics;
mod envelope_semantics;
mod import_semantics;
mod mode_semantics;
mod outcome_semantics;
mod question_semantics;
mod step_semantics;
mod union_semantics;
mod wild_runs;
mod wire_semantics;
mod workflow_semantics;
