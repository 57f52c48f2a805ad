//! What bounds the server, so that a client can use up nothing but its own patience.

use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// The bounds of a server. All are about what a client can make grow or make wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The connections that are served at once. Further ones wait in the kernel's queue.
    pub connections: usize,
    /// The sessions of clients that speak the protocol's handshake. Beyond it, `initialize` is answered with 503.
    pub sessions: usize,
    /// The requests that run at once, in all sessions together. Beyond it, a request is answered with 503.
    pub requests: usize,
    /// The bytes of a request's line and header fields together.
    pub head_bytes: usize,
    /// The header fields of a request.
    pub headers: usize,
    /// How long a request's head may be in coming; also how long a connection may be idle.
    pub head_time: Duration,
    /// The bytes of a request's body.
    pub body_bytes: usize,
    /// How long a request's body may be in coming.
    pub body_time: Duration,
    /// How long a client may leave unread what was sent to it.
    pub write_time: Duration,
    /// How long a session may be unused, with no stream open, until it ends.
    pub session_idle: Duration,
    /// How long calls may go on when the server is told to end.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            sessions: 64,
            requests: 256,
            head_bytes: 16 * 1024,
            headers: 64,
            head_time: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            body_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            session_idle: Duration::from_secs(10 * 60),
            grace: Duration::from_secs(5),
        }
    }
}

/// Admits so many at once.
pub(super) fn semaphore(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)))
}
