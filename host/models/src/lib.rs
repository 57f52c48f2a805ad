//! Models that the agent loop can ask: the scripted model, and servers that speak one of five wires.
//!
//! Each wire writes one request and reads one reply and the server's errors; one adapter asks, whatever the wire. None of them
//! keeps history, runs a tool or reads the environment, and no text that leaves this crate contains a key.

mod adapter;
mod anthropic;
mod call_ids;
mod endpoint;
mod fallback;
mod fault;
mod framing;
mod gemini;
mod http;
mod listing;
mod media;
#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;
mod ollama;
mod openai_chat;
mod openai_responses;
mod pictures;
mod provider;
mod reply;
mod results;
mod retry;
mod scripted;
mod wire;

pub use adapter::HttpModel;
pub use endpoint::{Endpoint, Timeouts, is_on_this_machine};
pub use fallback::Fallback;
pub use http::Recorder;
pub use listing::ModelList;
pub use provider::Provider;
pub use retry::RetryPolicy;
pub use scripted::Scripted;
pub use wire::Capabilities;
