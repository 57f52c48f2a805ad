//! The tools of a host for every client of the Model Context Protocol. A client has a loop and a model of its own; its calls go
//! through the same policy, grants, limits and journal as those of the host's own loop, and nothing that it can say changes one of
//! them.
//!
//! A [`Server`] is made once from an open host. Each connection gets a [`Handler`] of its own, which `rmcp` serves over a transport:
//! [`serve_stdio`] over standard input and output, [`http::serve`] over streamable HTTP.

mod approve;
mod call;
mod connection;
mod handler;
pub mod http;
mod listing;
mod log;
mod parked;
mod progress;
mod reload;
mod result;
mod server;
mod stdio;

pub use handler::Handler;
pub use reload::Reloaded;
pub use result::{FILENAME_KEY, OUTPUT_KEY, Structured, call_result};
pub use server::Server;
pub use stdio::{Input, Output, Stdio, serve_stdio, standard_streams};
