//! The answers that the door itself gives.

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId};
use std::convert::Infallible;

/// An answer, of the door or of the protocol.
pub(super) type Reply = Response<BoxBody<Bytes, Infallible>>;

/// The code of a request that is not served because too much is being done; of the range that JSON-RPC leaves to servers.
const BUSY: ErrorCode = ErrorCode(-32000);

/// When a client that was told that too much is being done should ask again, in seconds.
const ASK_AGAIN_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// A short text for people.
pub(super) fn text(status: StatusCode, text: &'static str) -> Reply {
    reply(
        status,
        HeaderValue::from_static("text/plain; charset=utf-8"),
        text.into(),
    )
}

/// A refusal of a client that has not shown that it may be here: it keeps no connection.
pub(super) fn refused(status: StatusCode, why: &'static str) -> Reply {
    closing(text(status, why))
}

/// The last answer of its connection.
pub(super) fn closing(reply: Reply) -> Reply {
    with(reply, CONNECTION, HeaderValue::from_static("close"))
}

/// A JSON-RPC error. It has the id of the request where that could be read.
pub(super) fn fault(status: StatusCode, error: ErrorData, id: Option<RequestId>) -> Reply {
    // Numbers and texts: that always has a JSON form.
    let body = serde_json::to_vec(&JsonRpcError::new(id, error)).unwrap_or_default();
    reply(
        status,
        HeaderValue::from_static("application/json"),
        body.into(),
    )
}

/// The answer to a request that would be one too many.
pub(super) fn busy(why: &'static str, id: RequestId) -> Reply {
    let error = ErrorData::new(BUSY, why, None);
    let reply = fault(StatusCode::SERVICE_UNAVAILABLE, error, Some(id));
    with(reply, RETRY_AFTER, ASK_AGAIN_SECONDS)
}

/// Adds a header field.
pub(super) fn with(mut reply: Reply, name: HeaderName, value: HeaderValue) -> Reply {
    reply.headers_mut().insert(name, value);
    reply
}

fn reply(status: StatusCode, media_type: HeaderValue, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body).boxed());
    *reply.status_mut() = status;
    with(reply, CONTENT_TYPE, media_type)
}
