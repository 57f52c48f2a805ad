//! The API of OpenAI, so that any of its clients drives agents: an agent is a model, a run of one
//! is a response, and its session is the conversation.
//!
//! Nothing here runs a turn. A request becomes an input of a session, as one of [`crate::routes`]
//! does, and a response is a reading of the session's journal.

mod chat;
mod chat_chunks;
mod content;
mod conversation;
mod error;
mod fields;
mod follow;
mod ids;
mod live;
mod models;
mod outcome;
mod parameters;
mod response_events;
mod responses;
mod start;
mod tools;

pub use error::refused;
pub(crate) use error::unknown_address;

use crate::Service;
use axum::{
    Router,
    routing::{get, post},
};

/// The path of the API.
pub(crate) const PATH: &str = "/v1/";

/// Creates the router.
pub(crate) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/models/{model}", get(models::read))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::read))
        .route("/v1/chat/completions", post(chat::create))
}
