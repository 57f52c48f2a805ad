//! Binding, accepting connections, and ending them.

use crate::{
    HttpLimits, HttpOptions, TlsFiles,
    allowed::{HTTPS_PORT, own_hosts},
    connections::{ConnectionEntry, Connections, NewConnection, RequestBody, ResponseBody},
    guard,
};
use axum::{Router, body::Body};
use http::{HeaderValue, Request, Response, StatusCode, header::CONNECTION};
use http_body::Body as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

/// Connections that wait in the kernel for a served one to end. A client beyond them is not
/// refused: it takes itself for connected.
const BACKLOG: u32 = 1024;

/// Pause after a failed accept. The cause, no free descriptor, goes away as connections end.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Bytes buffered for a connection in either direction, at most.
const BUFFER_BYTES: usize = 64 * 1024;

/// Time that connections get to end after [`HttpServer::stop_token`] is cancelled.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// A bound HTTP server.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    options: HttpOptions,
    /// The routes that need no token.
    open: Router,
    stop: CancellationToken,
}

impl HttpServer {
    /// Binds an address; port 0 stands for any free port. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Fails when the address cannot be bound, such as when it is in use.
    pub fn bind(address: SocketAddr, options: HttpOptions) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Connections of a server that has just ended do not block its port.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Self::of(socket.listen(BACKLOG)?, options)
    }

    /// Serves at a socket that was bound by another program, such as the service manager. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// Fails when it is no listening socket.
    pub fn from_listener(
        listener: std::net::TcpListener,
        options: HttpOptions,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Self::of(TcpListener::from_std(listener)?, options)
    }

    fn of(listener: TcpListener, options: HttpOptions) -> io::Result<Self> {
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            options,
            open: Router::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Serves these routes, too, without a token: each authenticates its requests by itself, and
    /// bounds what it reads of their bodies.
    #[must_use]
    pub fn with_open_routes(mut self, open: Router) -> Self {
        self.open = open;
        self
    }

    /// Returns the bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the bounds on what clients may use.
    #[must_use]
    pub fn limits(&self) -> HttpLimits {
        self.options.limits
    }

    /// Returns a token that is cancelled when [`HttpLimits::grace`] is over after a shutdown.
    /// Responses that would not end by themselves must end then.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Serves the routes of a router until `shutdown` is cancelled. From then on no connection is
    /// accepted, running requests have [`HttpLimits::grace`] to end, and the rest is aborted 3 s
    /// after that.
    ///
    /// # Panics
    /// Panics when the router has no routes.
    pub async fn serve(self, router: Router, shutdown: CancellationToken) {
        let mut options = self.options;
        let limits = options.limits;
        options.allowed_hosts.extend(own_hosts(self.address));
        let tls = options.tls.take().map(Arc::new);
        if tls.is_some() {
            options.default_port = HTTPS_PORT;
        }
        let router = guard::protect(router, self.open, options);
        let serve = Arc::new(Serve {
            router,
            tls,
            limits,
            shutdown: shutdown.clone(),
        });
        let mut connections = JoinSet::new();
        tokio::select! {
            never = accept(&self.listener, &serve, &mut connections) => {
                match never {}
            }
            () = shutdown.cancelled() => {}
        }
        drop(self.listener);
        let _ = timeout(limits.grace, join_all(&mut connections)).await;
        self.stop.cancel();
        let _ = timeout(CLOSE_TIMEOUT, join_all(&mut connections)).await;
        connections.shutdown().await;
    }
}

async fn join_all(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// Accepts connections, at most [`HttpLimits::connections`] at once, and serves each in a task.
async fn accept(
    listener: &TcpListener,
    serve: &Arc<Serve>,
    connections: &mut JoinSet<()>,
) -> Infallible {
    let table = Connections::new(serve.limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(connection) = admit(&table, peer.ip()).await {
                    let serve = Arc::clone(serve);
                    connections.spawn(async move {
                        connection.begin();
                        tokio::select! {
                            biased;
                            () = serve.connection(stream, &connection) => {}
                            () = connection.gives_way() => {
                                tracing::debug!("an idle connection was closed to make room");
                            }
                        }
                    });
                }
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                table.evict_oldest();
                table.changed(Some(Instant::now() + ACCEPT_RETRY)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Waits until a connection can be served; none for one that is refused.
async fn admit(table: &Arc<Connections>, address: IpAddr) -> Option<Arc<ConnectionEntry>> {
    loop {
        match table.admit(address, Instant::now()) {
            NewConnection::Admitted(connection) => return Some(connection),
            NewConnection::Refused => {
                tracing::debug!("refused a connection from {address}, which already has too many");
                return None;
            }
            NewConnection::Full(until) => table.changed(until).await,
        }
    }
}

/// The settings of connections.
struct Serve {
    router: Router,
    tls: Option<Arc<TlsFiles>>,
    limits: HttpLimits,
    shutdown: CancellationToken,
}

impl Serve {
    /// Serves a connection until either side ends it.
    async fn connection(&self, stream: TcpStream, connection: &Arc<ConnectionEntry>) {
        // Messages are small, and the peer waits for each.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.write_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = self.tls.clone() else {
            return self.requests(stream, connection).await;
        };
        let Ok(config) = tokio::task::spawn_blocking(move || tls.config()).await else {
            return;
        };
        let handshake = TlsAcceptor::from(config).accept(stream);
        let encrypted = tokio::select! {
            encrypted = timeout(self.limits.head_time, handshake) => encrypted,
            () = self.shutdown.cancelled() => return,
        };
        match encrypted {
            Ok(Ok(stream)) => self.requests(stream, connection).await,
            Ok(Err(error)) => tracing::debug!("a TLS handshake failed: {error}"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    /// Serves the requests of a connection. After the shutdown it answers the request that runs and
    /// reads no other.
    async fn requests(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        connection: &Arc<ConnectionEntry>,
    ) {
        let service = service_fn(|request| self.request(request, connection));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_time)
            .max_headers(self.limits.headers)
            .max_header_size(self.limits.head_bytes)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!("a connection ended: {error}");
        }
    }
}

impl Serve {
    /// Answers a request. It runs until its response was sent.
    async fn request(
        &self,
        request: Request<Incoming>,
        connection: &Arc<ConnectionEntry>,
    ) -> Result<Response<ResponseBody<Body>>, Infallible> {
        let active = connection.request();
        if request.body().is_end_stream() {
            active.complete();
        }
        let request = request.map(|body| RequestBody::new(body, &active));
        let Ok(mut response) = self.router.clone().call(request).await;
        if closes(response.status()) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        Ok(response.map(|body| ResponseBody {
            body,
            _request: active,
        }))
    }
}

/// Whether the connection is closed after a response with this status: a client that was refused
/// has no use for it, and others may wait for one.
fn closes(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Returns a warning for the operator if other machines can reach the address.
#[must_use]
pub fn exposure_warning(address: SocketAddr) -> Option<String> {
    let ip = match address.ip() {
        IpAddr::V6(ip) => ip.to_canonical(),
        ip @ IpAddr::V4(_) => ip,
    };
    (!ip.is_loopback()).then(|| {
        format!(
            "other machines can reach {address}, and the traffic is not encrypted, so anyone who reads it learns the \
             token; listen on 127.0.0.1 behind a TLS proxy"
        )
    })
}
