//! Ollama's own wire. It has no ids of calls, no address of a file and no mark for errors; its answer is a line of JSON for each piece.
//!
//! `request.rs` writes the conversation, `stream.rs` reads the answer.

mod request;
mod stream;
#[cfg(test)]
mod tests;

use crate::{
    http::Server,
    wire::{Capabilities, Decode, Encoded, Framing, Wire},
};
use agent_host_types::{message::Message, model::ModelRequest};
use stream::Decoder;

/// Where a message's metadata has what the model thought: the models that think while they call tools want it back.
const THINKING: &str = "thinking";

/// The wire.
#[derive(Debug)]
pub(crate) struct Ollama;

impl Wire for Ollama {
    fn operation(&self, _model: &str) -> String {
        "api/chat".to_owned()
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        request::encode(model, request, capabilities)
    }

    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a> {
        Box::new(Decoder::new(server, history))
    }
}
