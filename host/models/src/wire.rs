//! What a provider's wire is to the rest of this crate: how a request is written, how an answer is read, how a key is sent. Each
//! wire is one room, and knows neither HTTP nor repetition.

#[cfg(test)]
pub(crate) mod tests;

use crate::{fault::Fault, http::Server};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, ModelRequest},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Debug, num::NonZeroU32};

/// What a server and its model can take beyond text. Configuration can say otherwise for each server, since compatible ones
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Images. A model without gets a note for each.
    pub vision: bool,
    /// PDF documents.
    pub documents: bool,
    /// Files in the results of tools; where they cannot be, they follow in a message of the user's role.
    pub files_in_results: bool,
    /// Several calls in one reply.
    pub parallel_calls: bool,
    /// Whether a denied call is marked as an error, where the wire has such a mark. Models give up more easily on errors.
    pub denied_is_error: bool,
    /// The most tokens that one reply may have; absent for the provider's own number.
    pub max_output_tokens: Option<NonZeroU32>,
    /// The tokens of the model's window, for servers that make it as large as they are told; absent for the server's own number.
    pub window_tokens: Option<u64>,
}

/// A request ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoded {
    /// The body.
    pub(crate) body: Value,
    /// How many images are in it.
    pub(crate) images: usize,
}

/// How a key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in this header.
    Named(&'static str),
}

/// How the pieces of a streamed answer are parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value in each line (NDJSON).
    Lines,
}

/// One provider's wire. It holds nothing of a conversation.
pub(crate) trait Wire: Debug + Send + Sync {
    /// The path and query of the operation, below the base URL.
    fn operation(&self, model: &str) -> String;

    /// How the key is sent.
    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    /// Headers that every request has, such as the version of the API.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// How a streamed answer comes.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Writes a request.
    fn encode(&self, model: &str, request: &ModelRequest, capabilities: Capabilities) -> Encoded;

    /// Begins to read an answer. `history` is the conversation that was sent: ids that this side makes must be new to it.
    fn decoder<'a>(&self, server: &'a Server, history: &'a [Message]) -> Box<dyn Decode + 'a>;
}

/// Puts one reply together.
pub(crate) trait Decode: Send {
    /// Takes the data of one event, or one line.
    ///
    /// # Errors
    /// An error that the server reports in it, data in no known form, or too much of it.
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault>;

    /// Takes an answer in one piece: some servers and gateways do not stream.
    ///
    /// # Errors
    /// As [`Decode::event`].
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        self.event(body, sink)
    }

    /// Whether the answer has said that nothing more comes.
    fn is_done(&self) -> bool;

    /// Whether the model has said why it stopped. What is missing then is numbers at most.
    fn has_stopped(&self) -> bool;

    /// The whole reply.
    ///
    /// # Errors
    /// The answer ended before the model did, or has a call that cannot be one.
    fn finish(self: Box<Self>) -> Result<ModelReply, Fault>;
}
