//! Request and response bodies: counted, capped, and ended by the deadline with an error, never by
//! silence, because a body that just stops looks complete.

use super::{
    Deadline,
    budget::{ConnectionPermit, HttpBudget},
    error::{self, ExchangeError},
    target::RequestTarget,
};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use std::{sync::Arc, time::Duration};
use wasmtime_wasi_http::{Error, WasiBody};

/// The data that both bodies of an exchange need.
#[derive(Clone)]
pub(super) struct HttpExchange {
    pub(super) target: Arc<RequestTarget>,
    pub(super) budget: Arc<HttpBudget>,
    pub(super) deadline: Deadline,
    /// Held for as long as a body is.
    pub(super) _permit: ConnectionPermit,
}

/// Converts a guest's body to the client's. It ends with the exchange: a server may answer early,
/// and then nothing else would end a body that the guest never finishes.
pub(super) fn outgoing(body: WasiBody, exchange: HttpExchange) -> reqwest::Body {
    reqwest::Body::wrap_stream(pieces(body, exchange))
}

/// Reads a guest's body to its end.
pub(super) async fn read_request(body: WasiBody, exchange: &HttpExchange) -> Result<Bytes, Error> {
    let pieces: Vec<Bytes> = pieces(body, exchange.clone())
        .try_collect()
        .await
        .map_err(ExchangeError::into_error)?;
    Ok(pieces.concat().into())
}

/// Streams a guest's body and counts each piece when it comes.
fn pieces(
    body: WasiBody,
    exchange: HttpExchange,
) -> impl Stream<Item = Result<Bytes, ExchangeError>> {
    let body = BodyDataStream::new(body);
    stream::unfold((body, exchange), |(mut body, exchange)| async move {
        let piece = match tokio::time::timeout_at(exchange.deadline.end, body.next()).await {
            Err(_) => Err(ExchangeError::Timeout),
            Ok(None) => return None,
            Ok(Some(Err(_))) => Err(ExchangeError::RequestBody),
            Ok(Some(Ok(piece))) => exchange.sent(piece),
        };
        Some((piece, (body, exchange)))
    })
}

/// Reads a server's body to its end, at most one byte more than the call may receive. It is not
/// counted yet.
pub(super) async fn read_response(
    body: reqwest::Body,
    exchange: &HttpExchange,
) -> Result<Bytes, Error> {
    let deadline = &exchange.deadline;
    let most = exchange.budget.response().limit;
    let mut pieces = BodyDataStream::new(body);
    let mut bytes = BytesMut::new();
    while bytes.len() as u64 <= most {
        match tokio::time::timeout_at(deadline.end, pieces.next()).await {
            Err(_) => {
                return Err(deadline.record_if_late(&exchange.target, Error::HttpResponseTimeout));
            }
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(error::from_client(&error)),
            Ok(Some(Ok(piece))) => bytes.extend_from_slice(&piece),
        }
    }
    Ok(bytes.freeze())
}

impl HttpExchange {
    /// Counts a piece that is about to be sent.
    fn sent(&self, piece: Bytes) -> Result<Bytes, ExchangeError> {
        let meter = self.budget.request();
        if !meter.take(piece.len() as u64) {
            self.target.refuse_body_bytes("request", meter.limit);
            return Err(ExchangeError::RequestBodySize(meter.limit));
        }
        self.target.gate.count_out(piece.len() as u64);
        Ok(piece)
    }

    /// Counts a received piece.
    fn received(&self, piece: Bytes) -> Result<Bytes, Error> {
        self.target.gate.count_in(piece.len() as u64);
        let meter = self.budget.response();
        if meter.take(piece.len() as u64) {
            Ok(piece)
        } else {
            self.target.refuse_body_bytes("response", meter.limit);
            Err(Error::HttpResponseBodySize(Some(meter.limit)))
        }
    }
}

/// Converts a server's body to the guest's, which ends with its first error. `pause` is the longest
/// pause between two pieces.
pub(super) fn incoming(
    response: reqwest::Response,
    exchange: HttpExchange,
    pause: Option<Duration>,
) -> WasiBody {
    let rest = Some((Box::pin(response.bytes_stream()), exchange));
    let pieces = stream::unfold(rest, move |rest| async move {
        let (mut pieces, exchange) = rest?;
        let deadline = &exchange.deadline;
        let until = deadline.until(pause);
        let piece = match tokio::time::timeout_at(until, pieces.next()).await {
            Err(_) if until < deadline.end => Err(Error::ConnectionReadTimeout),
            Err(_) => Err(deadline.record_if_late(&exchange.target, Error::HttpResponseTimeout)),
            Ok(None) => return None,
            Ok(Some(Err(error))) => Err(error::from_client(&error)),
            Ok(Some(Ok(piece))) => exchange.received(piece),
        };
        let rest = piece.is_ok().then_some((pieces, exchange));
        Some((piece.map(Frame::data), rest))
    });
    StreamBody::new(pieces).boxed_unsync()
}
