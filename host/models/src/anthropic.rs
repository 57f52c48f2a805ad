//! Anthropic's Messages, and servers that speak like it.
//!
//! `request.rs` writes the conversation, `stream.rs` reads the answer, `kept.rs` is what of an answer goes back unchanged,
//! `error.rs` the errors in a stream.

mod error;
mod kept;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use crate::{
    http::Server,
    wire::{Capabilities, Decode, Encoded, KeyHeader, Wire},
};
use agent_host_types::{message::Message, model::ModelRequest};
use stream::Decoder;

/// The wire.
#[derive(Debug)]
pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn operation(&self, _model: &str) -> String {
        "v1/messages".to_owned()
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-api-key")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        // The version that the SDK's types are of.
        &[("anthropic-version", "2026-10-21")]
    }

    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        request::encode(model, request, capabilities)
    }

    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a> {
        Box::new(Decoder::new(server, history))
    }
}
