//! The settings and bounds of a server.

use crate::{Access, AllowedHost, AllowedOrigin, Refusal, TlsFiles, allowed::HTTP_PORT};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, Uri};
use std::time::Duration;

/// The settings of an [`HttpServer`](crate::HttpServer).
#[derive(Debug)]
pub struct HttpOptions {
    /// The bearer tokens, one of which every request must carry.
    pub access: Box<dyn Access>,
    /// Names that clients may put into `Host`, besides the bound address and, on loopback,
    /// `localhost`.
    pub allowed_hosts: Vec<AllowedHost>,
    /// Origins of web pages whose scripts may send requests and read the responses. Clients other
    /// than browsers send no `Origin` and need no entry.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// Response header fields that scripts of allowed origins may read.
    pub exposed_headers: Vec<HeaderName>,
    /// The bounds on what clients may use.
    pub limits: HttpLimits,
    /// The port of a `Host` field without one: 80, or 443 with TLS.
    pub(crate) default_port: u16,
    /// The certificate to serve with; without TLS if absent.
    pub tls: Option<TlsFiles>,
    /// Makes the response of a refused request [default: its reason as text].
    pub refused: fn(&Uri, Refusal) -> Response,
}

impl HttpOptions {
    /// Returns the default settings with these tokens: no further hosts, no origins.
    #[must_use]
    pub fn new(access: impl Access + 'static) -> Self {
        Self {
            access: Box::new(access),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            exposed_headers: Vec::new(),
            limits: HttpLimits::default(),
            default_port: HTTP_PORT,
            tls: None,
            refused: |_, refusal| refusal.into_response(),
        }
    }
}

/// The bounds on what clients may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Connections served at once, each with one request at a time. For a further one, the
    /// connection is closed that has waited longest for its client's request; if requests run on
    /// all, it waits. An address other than the loopback one has at most half of them.
    pub connections: usize,
    /// Bytes of a request's line and header fields together. Beyond it: 431.
    pub head_bytes: usize,
    /// Header fields of a request. Beyond it: 431.
    pub headers: usize,
    /// Time to send a request's head, and for a TLS handshake; also how long a connection may be
    /// idle. Then it is closed.
    pub head_time: Duration,
    /// Bytes of a request's body. Beyond it: 413.
    pub body_bytes: usize,
    /// Time to send a request's body. Beyond it: 408.
    pub body_time: Duration,
    /// How long a client may leave sent bytes unread. Then the connection is closed.
    pub write_timeout: Duration,
    /// Time that running requests get after the shutdown signal.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            head_bytes: 16 * 1024,
            headers: 64,
            head_time: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            body_time: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}
