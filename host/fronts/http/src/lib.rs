//! The HTTP front that every HTTP interface of the host is mounted in. It decides which requests
//! reach a route, and bounds what a client can make grow or wait. It speaks HTTP/1.1, over TLS if
//! it has a certificate ([`TlsFiles`]).
//!
//! A request is refused by the first check that fails:
//!
//! 1. `Host` is a name of the server ([`AllowedHost`]).
//! 2. `Origin`, if present, is the server's own or allowed by the operator ([`AllowedOrigin`]).
//! 3. The path is a route.
//! 4. The bearer token is one of the server's ([`Access`]). CORS preflight requests carry none.
//! 5. The body is complete in time and not too long ([`HttpLimits`]).
//!
//! Open routes ([`HttpServer::with_open_routes`]) do without 4 and 5: they check both by
//! themselves.
//!
//! ```
//! use agent_host_http::{HttpOptions, HttpServer, Token};
//! use axum::{Router, routing::get};
//! use std::net::SocketAddr;
//! use tokio_util::sync::CancellationToken;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let (token, text) = Token::generate()?;
//! let server = HttpServer::bind(SocketAddr::from(([127, 0, 0, 1], 0)), HttpOptions::new(token))?;
//! println!("http://{}/health with the token {text}", server.address());
//!
//! let shutdown = CancellationToken::new();
//! shutdown.cancel(); // An end on a signal in a real program.
//! let router = Router::new().route("/health", get(|| async { "ok" }));
//! server.serve(router, shutdown).await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod allowed;
mod connections;
mod cors;
mod guard;
mod limits;
mod server;
#[cfg(test)]
mod tests;
mod tls;
mod token;

pub use access::{Access, Admission};
pub use allowed::{AllowedHost, AllowedOrigin};
pub use guard::Refusal;
pub use limits::{HttpLimits, HttpOptions};
pub use server::{HttpServer, exposure_warning};
pub use tls::TlsFiles;
pub use token::Token;
