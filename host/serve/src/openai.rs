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
pub(crate) use error::{problem_response, unknown_address};

use crate::{
    access::AccessRole::{User, Viewer},
    routes::Route,
};
use axum::routing::{get, post};
use http::Method;

/// The path of the API.
pub(crate) const PATH: &str = "/v1/";

/// Creates the routes. Their description is OpenAI's own.
pub(crate) fn routes() -> Vec<Route> {
    let (read, write) = (Method::GET, Method::POST);
    vec![
        Route::new(Viewer, &read, "/v1/models", get(models::list)),
        Route::new(Viewer, &read, "/v1/models/{model}", get(models::read)),
        Route::new(User, &write, "/v1/responses", post(responses::create)),
        Route::new(Viewer, &read, "/v1/responses/{id}", get(responses::read)),
        Route::new(User, &write, "/v1/chat/completions", post(chat::create)),
    ]
}
