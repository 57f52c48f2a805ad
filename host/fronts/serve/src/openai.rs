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
pub(crate) use error::{ErrorBody, problem_response, unknown_address};

use crate::{
    access::AccessRole::{User, Viewer},
    create::IDEMPOTENCY_KEY,
    openapi::Operation,
    problem::ProblemCode,
    routes::Route,
};
use axum::routing::{get, post};
use serde_json::Value;

/// The path of the API.
pub(crate) const PATH: &str = "/v1/";

/// The problems of what runs an agent.
const RUNS: [ProblemCode; 7] = [
    ProblemCode::InvalidRequest,
    ProblemCode::NotFound,
    ProblemCode::SessionRunning,
    ProblemCode::SessionLocked,
    ProblemCode::NotWaiting,
    ProblemCode::KeyReused,
    ProblemCode::ShuttingDown,
];

/// Creates the routes. Their bodies are OpenAI's; the document has the parameters that are read.
pub(crate) fn routes() -> Vec<Route> {
    let read = |summary| Operation::get(summary).returns::<Value>(200).openai();
    let run = |summary| {
        let operation = Operation::post(summary).header(IDEMPOTENCY_KEY);
        operation.returns::<Value>(200).fails(&RUNS).openai()
    };
    let missing = [ProblemCode::NotFound];
    vec![
        Route::described(
            Viewer,
            "/v1/models",
            get(models::list),
            read("Lists the agents as models, for OpenAI clients."),
        ),
        Route::described(
            Viewer,
            "/v1/models/{model}",
            get(models::read),
            read("Returns an agent as a model, for OpenAI clients.").fails(&missing),
        ),
        Route::described(
            User,
            "/v1/responses",
            post(responses::create),
            run("Runs an agent through OpenAI's Responses API; with `stream`, sends server-sent events.")
                .takes::<responses::Body>(),
        ),
        Route::described(
            Viewer,
            "/v1/responses/{id}",
            get(responses::read),
            read("Reads a response that was stored.")
                .fails(&[ProblemCode::InvalidRequest, ProblemCode::NotFound]),
        ),
        Route::described(
            User,
            "/v1/chat/completions",
            post(chat::create),
            run("Runs an agent through OpenAI's Chat Completions API; with `stream`, sends server-sent events.")
                .takes::<chat::Body>(),
        ),
    ]
}
