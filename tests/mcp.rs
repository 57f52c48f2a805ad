//! `agent-host mcp` over standard input and output, as a client sees it that writes its messages itself.

mod calls;
pub(crate) mod client;
mod config;
mod lifecycle;
mod people;
mod reload;
