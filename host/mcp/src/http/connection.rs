//! Taking connections, serving each, and ending them all.

use super::{
    door::Door,
    limits::{HttpLimits, semaphore},
    patient::Patient,
    sessions::Sessions,
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long to wait after a connection could not be taken: there are no descriptors, and there will be when others end.
const NO_CONNECTION: Duration = Duration::from_millis(100);

/// What is kept of a connection's bytes in either direction, at most.
const BUFFER_BYTES: usize = 64 * 1024;

/// How long what was told to end may take for it, before it is dropped.
const CLOSING: Duration = Duration::from_secs(3);

/// Takes connections for ever, so many at once, and serves each in a task of the set.
pub(super) async fn accept<H: ServerHandler + Send + 'static>(
    listener: &TcpListener,
    door: &Arc<Door<H>>,
    shutdown: &CancellationToken,
    connections: &mut JoinSet<()>,
) -> Infallible {
    let slots = semaphore(door.limits.connections);
    loop {
        // One that is not closed yet does not take another: what waits, waits in the kernel.
        let slot = Arc::clone(&slots).acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let (door, shutdown) = (Arc::clone(door), shutdown.clone());
                connections.spawn(async move {
                    serve(stream, &door, &shutdown).await;
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::warn!("a connection could not be taken: {error}");
                sleep(NO_CONNECTION).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Serves a connection until either side ends it. Told to end, it answers the request that runs and takes no other.
async fn serve<H: ServerHandler + Send + 'static>(
    stream: TcpStream,
    door: &Arc<Door<H>>,
    shutdown: &CancellationToken,
) {
    // Messages are small and are waited for.
    let _ = stream.set_nodelay(true);
    let limits = &door.limits;
    let stream = TokioIo::new(Patient::new(stream, limits.write_time));
    let service = service_fn(|request| async { Ok::<_, Infallible>(door.answer(request).await) });
    let mut connection = pin!(protocol(limits).serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}

/// HTTP/1.1, bounded. A connection then has one request at a time, so that bounding one bounds the other.
fn protocol(limits: &HttpLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_header_size(limits.head_bytes)
        .max_buf_size(BUFFER_BYTES);
    builder
}

/// Ends what is left when no connection is taken any more: first what ends by itself within this time, then all.
pub(super) async fn end(
    mut connections: JoinSet<()>,
    sessions: &Sessions,
    stop: &CancellationToken,
    grace: Duration,
) {
    let ended = async |connections: &mut JoinSet<()>| {
        while connections.join_next().await.is_some() {}
    };
    // Whether they made it changes nothing in what follows.
    let _ = timeout(grace, ended(&mut connections)).await;
    stop.cancel();
    let _ = timeout(CLOSING, async {
        ended(&mut connections).await;
        sessions.ended().await;
    })
    .await;
    connections.shutdown().await;
}
