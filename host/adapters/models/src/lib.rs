//! Language models for the agent loop: the scripted model, and servers of five wire formats.
//!
//! # Layers
//! Dependencies point down; no module uses one above it.
//!
//! | module | knows |
//! |---|---|
//! | `http_model`, `listing`, `fallback`, `small`, `images`, `refused`, `send` | one reply: fit images, encode, attempt, retry, ask another model |
//! | `http` | the network and recordings of it: timeouts, limits, redirects, errors by status. No provider's JSON |
//! | `endpoint`, `retry`, `provider`, `preset` | what is configured, when to retry, the tables of providers and services |
//! | `wire`, `call_ids` | per provider: conversation to request body; frames to deltas, a reply or an error. No HTTP, no retries |
//!
//! `scripted` stands beside them. None keeps a conversation, runs a tool or reads the environment,
//! and no text that leaves this crate contains a key.
//!
//! A new provider takes one directory in `wire/` and one line in the table of `provider.rs`;
//! `wire.rs` lists the steps.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod call_ids;
mod endpoint;
mod fallback;
mod http;
mod http_model;
mod images;
mod listing;
#[cfg(test)]
#[path = "../../../../tests/support/src/mutations.rs"]
mod mutations;
mod preset;
mod priced;
mod provider;
mod refused;
mod retry;
mod scripted;
mod send;
mod settings;
mod small;
#[cfg(test)]
#[path = "../../../../tests/support/src/strict.rs"]
mod strict;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod wild;
mod wire;

pub use endpoint::{
    Endpoint, EndpointError, RequestExtras, Timeouts, is_header_name, is_on_this_machine,
    is_reserved_header,
};
pub use fallback::Fallback;
pub use http::Recorder;
pub use http_model::HttpModel;
pub use images::decode_image;
pub use listing::ModelList;
pub use preset::Preset;
pub use priced::Priced;
pub use provider::Provider;
pub use retry::RetryPolicy;
pub use scripted::{ScriptError, Scripted};
pub use send::SendSettings;
pub use settings::{
    CacheLifetime, Effort, HOST_FIELDS, ModelSettings, ReasoningTags, ServiceTier, SettingsReport,
    Thinking, ToolChoice, UnknownWord, Verbosity,
};
pub use small::WithSmall;
pub use wire::Capabilities;
