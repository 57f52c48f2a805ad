//! A client for MCP servers: starts or connects to a server, offers its tools to the loop, and
//! validates and bounds everything the untrusted server sends. It never decides whether a call may
//! run.

mod child;
mod config;
mod connection;
mod error;
mod handler;
mod http;
mod lines;
mod listing;
mod names;
mod reconnect;
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
