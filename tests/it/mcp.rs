//! Tests `agent-host mcp` over stdio with a client that writes raw messages.

mod agents;
mod calls;
mod config;
mod elicitation;
mod lifecycle;
mod prompts;
mod reload;
mod resources;
