//! Tests `agent-host mcp` over stdio with a client that writes raw messages.

mod calls;
pub(crate) mod client;
mod config;
mod elicitation;
mod lifecycle;
mod reload;
