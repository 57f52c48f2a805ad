//! Serves the tools of a host to clients of the Model Context Protocol. A client has its own loop
//! and model; its calls pass the same policy, grants, limits and journal as calls of the host's own
//! loop, and no request can change those.
//!
//! A [`Server`] is made once from an open host. Each connection gets a [`Handler`], which `rmcp`
//! serves over a transport: [`serve_stdio`] over standard input and output, [`http::serve`] over
//! streamable HTTP.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod agent;
mod call;
mod catalog;
mod completion;
mod connection;
mod elicitation;
mod handler;
pub mod http;
mod in_flight;
mod listeners;
mod listing;
mod log;
mod open_sessions;
mod pending;
mod progress;
mod prompts;
mod reload;
mod resources;
mod result;
mod server;
mod stdio;

pub use elicitation::{question_answer, question_form};
pub use handler::Handler;
pub use reload::Reloaded;
pub use result::{OUTPUT_KEY, content_blocks};
pub use server::Server;
pub use stdio::{Input, Output, StdioError, serve_stdio, standard_streams};
