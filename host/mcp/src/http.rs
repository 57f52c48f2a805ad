//! The server over streamable HTTP. `rmcp` speaks the protocol; this room is the door before it, and the bounds around it.
//!
//! A request passes the door or is refused, in this order: its `Host` must be a name of ours, its `Origin`, where there is one, a
//! page that the operator named, its path the endpoint, and its bearer token the server's. Only then is its body read. Nobody is
//! served without a token. What is absent: TLS, which is a proxy's job, and any way to change what a tool may do.
//!
//! Everything that a client can make grow is in [`HttpLimits`]: connections, sessions, requests that run, header fields, bodies,
//! and how long each of them may take.

mod allowed;
mod body;
mod connection;
mod cors;
mod door;
mod limits;
mod patient;
mod reply;
mod sessions;
#[cfg(test)]
mod tests;
mod token;
mod uses;

pub use allowed::{AllowedHost, AllowedOrigin, NotAllowable};
pub use door::PATH;
pub use limits::HttpLimits;
pub use token::{FoundToken, TOKEN_VARIABLE, Token, TokenError};

use connection::{accept, end};
use door::Door;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use sessions::Sessions;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// The connections that wait in the kernel for one to end. A client that finds no place there thinks that it is connected.
const WAITING: u32 = 1024;

/// Who is served, and how much of it.
#[derive(Debug)]
pub struct HttpOptions {
    /// What every request must show.
    pub token: Token,
    /// The names that clients may call this server by, besides the address that it listens at and, there, `localhost`.
    pub allowed_hosts: Vec<AllowedHost>,
    /// The pages whose scripts may use this server. Clients that are no browsers send no origin and need no entry.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// What bounds it.
    pub limits: HttpLimits,
}

/// Listens at an address; with port 0, at one that is free.
///
/// # Errors
/// When that is not possible, such as where somebody else listens.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // The connections of a server that has just ended do not keep the next one from its port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Serves until the token is cancelled: then no connection is taken any more, calls that run have [`HttpLimits::grace`] to end,
/// and the rest is cut.
///
/// Each session gets a handler of its own. `handler` is also asked for one for each request without a session, and may be for
/// looking up a tool, so it must be cheap.
///
/// # Errors
/// When the listener has no address. That a connection cannot be taken ends nothing.
pub async fn serve<H: ServerHandler + Send + 'static>(
    listener: TcpListener,
    options: HttpOptions,
    handler: impl Fn() -> H + Send + Sync + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let HttpOptions {
        token,
        allowed_hosts,
        allowed_origins,
        limits,
    } = options;
    // Ends what `rmcp` runs. Later than `shutdown`, which leaves calls their time.
    let stop = CancellationToken::new();
    let sessions = Arc::new(Sessions::new(&limits, shutdown.clone()));
    let config = StreamableHttpServerConfig::default()
        // The door has looked at both, and knows the port that we listen at.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // Requests without a session whose answer is one message get it without a stream.
        .with_json_response(true)
        .with_cancellation_token(stop.clone());
    let door = Arc::new(Door {
        hosts: allowed::hosts(listener.local_addr()?, allowed_hosts),
        origins: allowed_origins,
        token,
        requests: limits::semaphore(limits.requests),
        protocol: StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config),
        sessions: Arc::clone(&sessions),
        limits,
    });
    let mut connections = JoinSet::new();
    tokio::select! {
        never = accept(&listener, &door, &shutdown, &mut connections) => match never {},
        never = sessions.expire() => match never {},
        () = shutdown.cancelled() => {}
    }
    drop(listener);
    end(connections, &sessions, &stop, limits.grace).await;
    Ok(())
}

/// What the operator should know of an address that is listened at; nothing where only this machine can reach it.
#[must_use]
pub fn warning(address: SocketAddr) -> Option<String> {
    let ip = match address.ip() {
        IpAddr::V6(ip) => ip.to_canonical(),
        ip @ IpAddr::V4(_) => ip,
    };
    (!ip.is_loopback()).then(|| {
        format!(
            "other machines can reach {address}, and the traffic is not encrypted: whoever sees it sees the token; listen at \
             127.0.0.1 and put a proxy with TLS before it"
        )
    })
}
