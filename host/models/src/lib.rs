//! Models that the agent loop can ask: the scripted model, and servers that speak OpenAI's Chat Completions.
//!
//! Each adapter translates one request, one reply and the server's errors. None of them keeps history, repairs it, runs a
//! tool or reads the environment, and no text that leaves this crate contains a key.

mod call_ids;
mod endpoint;
mod fault;
mod http;
#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;
mod openai_chat;
mod retry;
mod scripted;
mod sse;

pub use endpoint::{Endpoint, Timeouts};
pub use openai_chat::{Capabilities, OpenAiChat};
pub use retry::RetryPolicy;
pub use scripted::Scripted;
