//! Google's Gemini, as its own API speaks.
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
pub(crate) struct Gemini;

impl Wire for Gemini {
    fn operation(&self, model: &str) -> String {
        // A tuned model brings its own kind of name.
        let kind = if model.contains('/') { "" } else { "models/" };
        let model = model
            .replace('%', "%25")
            .replace('?', "%3F")
            .replace('#', "%23");
        format!("v1beta/{kind}{model}:streamGenerateContent?alt=sse")
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-goog-api-key")
    }

    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        request::encode(model, request, capabilities)
    }

    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a> {
        Box::new(Decoder::new(server, history))
    }
}

/// Whether a model is of the third generation or a later one, which thinks, signs its thoughts and takes files in results. A name
/// without a number, such as `gemini-flash-latest`, stands for the newest.
fn is_third_generation(model: &str) -> bool {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let Some(name) = name.strip_prefix("gemini-") else {
        return false;
    };
    let number: String = name.chars().take_while(char::is_ascii_digit).collect();
    number.is_empty() || number.parse().is_ok_and(|number: u32| number >= 3)
}
