//! OpenAI's Chat Completions, as many servers speak it: Ollama, vLLM, llama.cpp, gateways, OpenAI itself.
//!
//! `request.rs` writes the conversation, `stream.rs` reads the answer.

mod request;
mod stream;

use crate::{
    http::Server,
    wire::{Capabilities, Decode, Encoded, Wire},
};
use agent_host_types::{message::Message, model::ModelRequest};
use stream::Decoder;

/// The wire.
#[derive(Debug)]
pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn operation(&self, _model: &str) -> String {
        "chat/completions".to_owned()
    }

    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        request::encode(model, request, capabilities)
    }

    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a> {
        Box::new(Decoder::new(server, history))
    }
}
