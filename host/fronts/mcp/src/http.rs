//! Serves the protocol over streamable HTTP, mounted in the front of [`agent_host_http`] at
//! [`PATH`]. `rmcp` speaks the protocol; this bounds its sessions and requests.

mod admission;
mod sessions;
#[cfg(test)]
mod tests;
mod token;
mod usage;

pub use token::{ConfiguredToken, TOKEN_VARIABLE, configured_token};

use crate::server::Server;
use admission::{RequestBounds, admit};
use agent_host_engine::BoxFuture;
use agent_host_http::{HttpServer, Refusal};
use axum::{Router, middleware::from_fn_with_state};
use http::{HeaderName, StatusCode};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use sessions::Sessions;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// The header field that names a session. Scripts of allowed origins must be able to read it.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Time that sessions get to end when their connections have.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The bounds on sessions and requests of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Sessions of clients that use the handshake. Beyond it, `initialize` is answered with 503.
    pub sessions: usize,
    /// Requests that run at once in all sessions, whether or not the client still listens. A tool
    /// may have as many calls in flight as are free; beyond that, a call is answered as `busy`. A
    /// request that is no call is then answered with 503.
    pub requests: usize,
    /// How long a session may be unused, with no stream open, before it ends.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            sessions: 64,
            requests: 256,
            idle: Duration::from_secs(10 * 60),
        }
    }
}

/// Serves the protocol until `shutdown` is cancelled; running calls then have
/// [`HttpLimits::grace`](agent_host_http::HttpLimits::grace) to end.
pub fn serve(
    server: &Server,
    listener: HttpServer,
    limits: SessionLimits,
    shutdown: CancellationToken,
) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let server = server.clone();
        serve_handlers(listener, limits, move || server.handler(), shutdown).await;
    })
}

/// Serves handlers of a test or of a server.
///
/// Each session gets a handler of its own. `handler` is also called for each request without a
/// session, and may be called to look up a tool, so it must be cheap.
async fn serve_handlers<H: ServerHandler + Send + 'static>(
    server: HttpServer,
    limits: SessionLimits,
    handler: impl Fn() -> H + Send + Sync + 'static,
    shutdown: CancellationToken,
) {
    let sessions = Arc::new(Sessions::new(&limits, shutdown.clone()));
    let config = StreamableHttpServerConfig::default()
        // The front has checked both, and knows the port.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // A request without a session whose answer is one message gets no stream.
        .with_json_response(true)
        .with_cancellation_token(server.stop_token());
    let protocol = StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
    let admission = Arc::new(RequestBounds::new(limits.requests, Arc::clone(&sessions)));
    let router = Router::new()
        .route_service(PATH, protocol)
        .route_layer(from_fn_with_state(admission, admit))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "the only path here is /mcp"));
    tokio::select! {
        never = sessions.expire() => match never {},
        () = server.serve(router, shutdown) => {}
    }
    let _ = timeout(CLOSE_TIMEOUT, sessions.ended()).await;
}

fn semaphore(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)))
}
