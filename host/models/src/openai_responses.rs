//! OpenAI's Responses. The conversation is this side's: nothing is stored there, and what the model thought comes back encrypted and is
//! sent again.
//!
//! `request.rs` writes the conversation, `kept.rs` the items of a reply that go back as they came, `stream.rs` reads the answer.

mod kept;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use crate::{
    http::Server,
    wire::{Capabilities, Decode, Encoded, Wire},
};
use agent_host_types::{message::Message, model::ModelRequest};
use stream::Decoder;

/// What stands between two messages, or two parts of reasoning, of one reply.
const BETWEEN: &str = "\n\n";

/// The wire.
#[derive(Debug)]
pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn operation(&self, _model: &str) -> String {
        "responses".to_owned()
    }

    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        request::encode(model, request, capabilities)
    }

    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a> {
        Box::new(Decoder::new(server, history))
    }
}
