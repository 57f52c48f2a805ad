//! Bodies on their way in and out: counted, capped, and ended by the deadline with an error, never by silence, because a body
//! that just stops looks like a whole one.

use super::{
    fault::{self, Fault},
    target::Target,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::time::Instant;
use wasmtime_wasi_http::{Error, WasiBody};

/// A guest's body, as the client sends it.
pub(super) fn outgoing(body: WasiBody, target: Arc<Target>, limit: u64) -> reqwest::Body {
    let mut left = limit;
    let pieces = BodyDataStream::new(body).map(move |piece| {
        let piece = piece.map_err(|_| Fault::RequestBody)?;
        left = spend(left, &piece).ok_or_else(|| {
            target.over("limits.http-request-bytes", limit, "request's body");
            Fault::RequestBodySize(limit)
        })?;
        target.gate().count_out(length(&piece));
        Ok::<_, Fault>(piece)
    });
    reqwest::Body::wrap_stream(pieces)
}

/// What is left of a response.
struct Incoming {
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    target: Arc<Target>,
    limit: u64,
    left: u64,
    deadline: Instant,
    /// How long the server may pause.
    pause: Option<Duration>,
}

/// A server's body, as the guest reads it.
pub(super) fn incoming(
    response: reqwest::Response,
    target: Arc<Target>,
    limit: u64,
    deadline: Instant,
    pause: Option<Duration>,
) -> WasiBody {
    let incoming = Incoming {
        pieces: Box::pin(response.bytes_stream()),
        target,
        limit,
        left: limit,
        deadline,
        pause,
    };
    let pieces = stream::unfold(Some(incoming), |state| async {
        let mut incoming = state?;
        match incoming.next().await? {
            Ok(piece) => Some((Ok(Frame::data(piece)), Some(incoming))),
            Err(error) => Some((Err(error), None)),
        }
    });
    StreamBody::new(pieces).boxed_unsync()
}

impl Incoming {
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        let until = until(self.deadline, self.pause);
        let piece = match tokio::time::timeout_at(until, self.pieces.next()).await {
            Err(_) if until < self.deadline => return Some(Err(Error::ConnectionReadTimeout)),
            Err(_) => return Some(Err(Error::HttpResponseTimeout)),
            Ok(None) => return None,
            Ok(Some(Err(error))) => return Some(Err(fault::from_client(&error))),
            Ok(Some(Ok(piece))) => piece,
        };
        self.target.gate().count_in(length(&piece));
        let Some(left) = spend(self.left, &piece) else {
            self.target
                .over("limits.http-response-bytes", self.limit, "response's body");
            return Some(Err(Error::HttpResponseBodySize(Some(self.limit))));
        };
        self.left = left;
        Some(Ok(piece))
    }
}

/// The earlier of a deadline and a time limit that begins now.
pub(super) fn until(deadline: Instant, limit: Option<Duration>) -> Instant {
    limit
        .and_then(|limit| Instant::now().checked_add(limit))
        .map_or(deadline, |end| end.min(deadline))
}

fn length(piece: &Bytes) -> u64 {
    u64::try_from(piece.len()).unwrap_or(u64::MAX)
}

fn spend(left: u64, piece: &Bytes) -> Option<u64> {
    left.checked_sub(length(piece))
}
