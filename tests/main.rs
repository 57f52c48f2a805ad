//! The integration tests: one binary, one module per suite. `cargo test --release --test it SUITE`
//! runs one of them.
//!
//! They run the `agent-host` program with home, state and working directories of its own, and check
//! its stdout, stderr, exit code and journal.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

mod answers;
mod approval_prompts;
mod approvals;
mod author;
mod author_test;
mod bad_input;
mod budgets;
mod builtins;
mod cache;
mod compile;
mod conformance;
mod context;
mod crash;
mod decide;
mod deploy;
mod dist;
mod docs;
mod examples;
mod explain;
mod external;
mod hostile;
mod inspect;
mod layers;
mod lock;
mod main_job;
mod manual;
mod mcp;
mod mcp_client;
mod mcp_clients;
mod mcp_conformance;
mod mcp_driver;
mod mcp_http;
mod model;
mod oracle;
mod record;
mod secrets;
mod select;
mod semantics;
mod sessions;
mod stdout;
mod support;
mod terminal_output;
mod trust;
mod typed_ahead;
mod wires;
