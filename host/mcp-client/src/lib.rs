//! The tools of servers of the Model Context Protocol, for the loop: a server is a child process or a web address, and what it
//! says is a stranger's word. This crate bounds it, checks it and makes results of it; it never decides whether a call may run.

mod child;
mod config;
mod connection;
mod error;
mod handler;
mod http;
mod lines;
mod listing;
mod names;
mod result;
mod server;
mod supervisor;
#[cfg(test)]
mod tests;

pub use config::{Reach, ServerCommand, ServerConfig, Supervisor};
pub use error::ConnectError;
pub use names::{MAX_SERVER_NAME, offered_name};
pub use result::{OUTPUT_META, output};
pub use server::McpServer;
pub use supervisor::supervise;
