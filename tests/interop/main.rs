//! The program beside software of others, from pip, npm and the compilers of each language.
//! `cargo test --release --test interop SUITE` runs one suite. What cannot be installed is skipped
//! with a message; with `AGENT_HOST_INTEROP=1` it fails.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

mod acp;
mod act;
mod concurrent;
mod conformance;
mod crashes;
mod deploy;
mod editors;
mod eval;
mod examples;
mod extism;
mod hosts;
mod integers;
mod json_schema;
mod mcp_adapters;
mod mcp_clients;
mod mcp_component;
mod mcp_conformance;
mod mcp_servers;
mod metrics;
mod openai_sdk;
mod openapi;
mod oracle;
mod page;
mod registry;
mod release;
mod table;
mod telemetry;
mod undeclared;
mod webhooks;
mod wires;
