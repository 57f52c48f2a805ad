//! The wire formats of the providers: conversations to request bodies, and response bytes to typed
//! deltas, replies and errors. Nothing here knows HTTP, retries, configuration or another provider.
//!
//! # Adding a provider
//! 1. Create a directory here with a `WIRE` (see [`Wire`]), a request encoder and a decoder, and
//!    name it below with `mod`.
//! 2. Add a line to the table in `provider.rs`.
//! 3. Write its golden request bodies: `cargo run --release -p agent-host-models --example golden`.

mod answer;
pub(crate) mod anthropic;
pub(crate) mod framing;
pub(crate) mod gemini;
mod items;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod response;
mod results;
pub(crate) mod schema;
mod server_error;
pub(crate) mod settings;
mod surrogates;
mod thoughts;
mod turns;

pub(crate) use framing::{FrameDecoder, FrameTooLong, Framing};
pub(crate) use server_error::ServerError;

use self::{answer::AnswerForm, settings::Mapping};
use crate::{send::SendSettings, settings::ModelSettings};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, ModelRequest, Usage},
};
use schema::SchemaDialect;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::num::NonZeroU32;

/// The content that a server and its model accept beyond text. Each server can be configured, since
/// compatible ones differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Images. Without it, a note takes the place of each.
    pub vision: bool,
    /// PDF documents.
    pub documents: bool,
    /// Recordings of sound; without it, or on a wire that has no form for them, a note takes the
    /// place of each.
    #[serde(default)]
    pub audio: bool,
    /// Files in tool results; without it, they follow in a user message.
    pub files_in_results: bool,
    /// Several calls in one reply.
    pub parallel_calls: bool,
    /// Marks a denied call as an error, where the wire has such a mark. Models give up more easily
    /// on errors.
    pub denied_is_error: bool,
    /// The most tokens of one reply; absent for the provider's default.
    pub max_output_tokens: Option<NonZeroU32>,
    /// The context window in tokens, for servers that size it per request; absent for the server's
    /// default.
    pub window_tokens: Option<u64>,
    /// The fields and rules of requests in which servers of the wire differ.
    #[serde(default, skip_serializing_if = "SendSettings::is_none")]
    pub send: SendSettings,
}

/// The largest image that a provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageLimits {
    /// The most bytes, before base64 turns three into four.
    pub(crate) max_bytes: usize,
    /// The longest side, in pixels.
    pub(crate) max_side: u32,
}

impl Capabilities {
    /// The capabilities of the models of Anthropic, Google and OpenAI on their own wires.
    const NATIVE: Self = Self {
        vision: true,
        documents: true,
        audio: false,
        files_in_results: true,
        parallel_calls: true,
        denied_is_error: false,
        max_output_tokens: None,
        window_tokens: None,
        send: SendSettings::NONE,
    };
}

impl ImageLimits {
    /// "Images and vision" in OpenAI's documentation: 20 MB of base64 per image; larger images than
    /// 2048 pixels are scaled to that by its servers.
    const OPENAI: Self = Self {
        max_bytes: 20 * 1024 * 1024 / 4 * 3,
        max_side: 2048,
    };
}

/// The header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The bare key, in the header of this name.
    Named(&'static str),
}

/// A provider: its names, its server and its wire format. It holds no state of a conversation.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The name in `--model PROVIDER:NAME`; also the key of its entry in a message's metadata.
    pub(crate) name: &'static str,
    /// The environment variables with the key, most important first.
    pub(crate) key_variables: &'static [&'static str],
    /// The environment variable with the base URL; texts name it.
    pub(crate) base_url_variable: &'static str,
    /// The variable that the provider's own SDK reads it from, if that is another; it counts first.
    pub(crate) sdk_base_url_variable: Option<&'static str>,
    /// The base URL that the provider's own SDK uses.
    pub(crate) default_base_url: Option<&'static str>,
    /// True if the provider's own servers refuse every request without a key.
    pub(crate) wants_key: bool,
    /// The capabilities that all of its models have.
    pub(crate) capabilities: Capabilities,
    /// True if it serves models that may not accept images, so that a failure may be due to one.
    pub(crate) may_be_blind: bool,
    /// The largest image, by the provider's documentation in 2026.
    pub(crate) image_limits: ImageLimits,
    /// Returns the path and query of a request to this model, below the base URL.
    pub(crate) reply_path: fn(model: &str) -> String,
    /// The path and query of the list of models, below the base URL. One page holds the provider's
    /// own.
    pub(crate) list_path: &'static str,
    /// The header that carries the key.
    pub(crate) key_header: KeyHeader,
    /// Headers of every request, such as the API version.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The rules for the schemas of tools.
    pub(crate) schema_dialect: SchemaDialect,
    /// True if it serves models whose reasoning may be in their text, between tags.
    pub(crate) has_tagged_reasoning: bool,
    /// How the events of a streamed response are delimited.
    pub(crate) framing: Framing,
    pub(crate) encode: fn(model: &str, &ModelRequest, Capabilities) -> Encoded,
    /// The settings that are one field of a request, or none.
    pub(crate) fields: settings::SettingFields,
    /// Sets the fields of the other settings in a request to this model.
    pub(crate) settings: fn(model: &str, &ModelSettings, &mut Mapping<'_>),
    /// Returns the fields that make this model write an answer of a form; none if it cannot, or not
    /// beside tools.
    pub(crate) answer: fn(model: &str, form: &AnswerForm, has_tools: bool) -> Option<Value>,
    /// Creates a decoder for a response of this model; ids that it assigns are new to the
    /// conversation.
    pub(crate) decoder: for<'a> fn(model: &'a str, &'a [Message]) -> Box<dyn Decode + 'a>,
}

/// An encoded request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoded {
    pub(crate) body: Value,
    /// How many images are in it.
    pub(crate) images: usize,
}

/// Decodes one response: frames in, deltas out as they arrive, and the reply at the end.
pub(crate) trait Decode: Send {
    /// Takes one frame: the data of an event, or a line.
    ///
    /// # Errors
    /// An error that the server reports in it, data of an unknown form, or more than a reply may
    /// hold. After an error of JSON's syntax, the decoder is unchanged.
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError>;

    /// Takes the body of a response that is not streamed: some servers and gateways ignore
    /// `stream`.
    ///
    /// # Errors
    /// Those of [`Decode::event`].
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        self.event(body, sink)
    }

    /// True once the response has said that nothing follows.
    fn is_done(&self) -> bool;

    /// True once the model has said why it stopped. Only token counts can be missing then.
    fn has_stopped(&self) -> bool;

    /// Returns the reply. `is_complete` says whether nothing of the response is missing, although
    /// it may not have said why the model stopped.
    ///
    /// # Errors
    /// The response ended before the reply did, or has a call that cannot be one.
    fn finish(self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError>;
}

/// Why a response cannot be decoded. The text completes "The response cannot be used: ..."; it may
/// quote the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    /// The server reports an error instead of the rest of its reply.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A frame is too long.
    #[error(transparent)]
    FrameTooLong(#[from] FrameTooLong),
    /// The data is not JSON, or JSON of another form.
    #[error("it is not {} ({source})", if source.is_data() { expected } else { "JSON" })]
    Json {
        /// The expected form, as in "it is not EXPECTED".
        expected: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The reply exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The response ended without a reason to stop.
    #[error("it ended before the model's stop reason")]
    Unfinished,
    /// The reply reached its limit of tokens within a call, and would again.
    #[error(
        "the model reached its output token limit inside a tool call; raise `max-output-tokens`, or ask for less"
    )]
    CutCall,
    /// The model wrote something unusable, or the server says so or that it failed without saying
    /// why.
    #[error("{0}")]
    Unusable(String),
}

impl DecodeError {
    /// The error of a reply with more than `limit` of these items.
    fn too_many(limit: usize, items: &str) -> Self {
        Self::TooLarge(format!("it has more than {limit} {items}"))
    }

    /// The error of a reply that the server broke off, with its reason.
    fn broken_off(reason: &str) -> Self {
        Self::Unusable(format!("the server stopped the reply (\"{reason}\")"))
    }

    /// Returns a conversion from JSON errors, for data that should be `expected`.
    fn json(expected: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::Json { expected, source }
    }
}

/// Returns what `message` stores for this provider, if the same model wrote it.
fn stored<'a>(message: &'a Message, provider: &str, model: &str) -> Option<&'a Map<String, Value>> {
    let stored = message.metadata.get(provider)?.as_object()?;
    (stored.get("model")?.as_str()? == model).then_some(stored)
}

/// Returns the metadata of a reply that stores this value for the provider.
fn metadata(provider: &str, stored: Value) -> Map<String, Value> {
    Map::from_iter([(provider.to_owned(), stored)])
}

/// Replaces the token counts that a server's `usage` has, each by its JSON pointer; the others
/// stay.
fn update_counts<const N: usize>(counts: &mut [u64; N], pointers: [&str; N], usage: &Value) {
    for (count, pointer) in counts.iter_mut().zip(pointers) {
        let newer = usage.pointer(pointer).and_then(Value::as_u64);
        *count = newer.unwrap_or(*count);
    }
}

/// Returns the usage whose input, output, cached input and cache write tokens are at these JSON
/// pointers in a server's `usage`.
fn usage_at(pointers: [&str; 4], usage: &Value) -> Usage {
    let mut counts = [0; 4];
    update_counts(&mut counts, pointers, usage);
    let [
        input_tokens,
        output_tokens,
        cached_input_tokens,
        cache_write_tokens,
    ] = counts;
    Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
        cache_write_tokens,
        cost_micros: None,
    }
}
