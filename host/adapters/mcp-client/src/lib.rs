//! A client for MCP servers: starts or connects to a server, offers its tools to the loop, and
//! validates and bounds everything the untrusted server sends. It never decides whether a call may
//! run.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod cancel_on_drop;
mod changes;
mod child;
mod config;
mod connection;
mod elicitation;
mod error;
mod features;
mod handler;
mod handshake;
mod headers;
mod http;
mod lines;
mod listing;
mod names;
mod oauth;
mod posts;
mod reconnect;
mod request;
mod resources;
mod result;
mod sandboxed;
mod server;
mod started;
mod supervisor;
#[cfg(test)]
mod tests;

pub use config::{Endpoint, Reach, ServerCommand, ServerConfig, Supervisor};
pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
pub use error::ConnectError;
pub use features::{Count, Features};
pub use headers::{check_header_name, check_header_value};
pub use names::{MAX_SERVER_NAME, offered_name};
pub use oauth::{Login, LoginError, LoginStore, LoginTokens, OAuth};
pub use request::AGENT_DEPTH_META;
pub use result::{OUTPUT_META, output};
pub use sandboxed::{
    RequestFault, RequestHandler, ResponseBody, SandboxedServer, ServerComponent, ServerControl,
    ServerIo, StartedServer,
};
pub use server::{McpServer, ServerCall};
pub use supervisor::supervise;
