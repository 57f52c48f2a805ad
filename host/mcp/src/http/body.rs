//! Reading a request's body: in time, of bounded length, and one message of the protocol.

use super::{
    limits::HttpLimits,
    reply::{Reply, closing, fault, text},
};
use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId};
use serde::Deserialize as _;
use serde_json::Value;

/// A message, and the bytes that it was read from, which `rmcp` reads again.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Bytes,
    pub(super) message: ClientJsonRpcMessage,
}

/// Reads the body. What cannot be served is the answer to give: the connection ends with it where the client may still be sending.
pub(super) async fn read<B>(body: B, limits: &HttpLimits) -> Result<Message, Reply>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let whole = Limited::new(body, limits.body_bytes).collect();
    let bytes = match tokio::time::timeout(limits.body_time, whole).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_long()),
        Ok(Err(_)) => {
            return Err(closing(text(
                StatusCode::BAD_REQUEST,
                "the request's body broke off",
            )));
        }
        Err(_) => {
            return Err(closing(text(
                StatusCode::REQUEST_TIMEOUT,
                "the request's body was too long in coming",
            )));
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(message) => Ok(Message { bytes, message }),
        Err(_) => Err(unreadable(&bytes)),
    }
}

/// The answer to a body that is longer than any.
pub(super) fn too_long() -> Reply {
    closing(text(
        StatusCode::PAYLOAD_TOO_LARGE,
        "the request's body is too long; send less at once",
    ))
}

/// The answer to a body that is no message.
fn unreadable(bytes: &[u8]) -> Reply {
    let (error, id) = match serde_json::from_slice::<Value>(bytes) {
        Err(error) => (
            ErrorData::parse_error(format!("the body is no JSON: {error}"), None),
            None,
        ),
        Ok(value) => (
            ErrorData::invalid_request(
                "the body is no single message of JSON-RPC 2.0; batches are not taken",
                None,
            ),
            value
                .get("id")
                .and_then(|id| RequestId::deserialize(id).ok()),
        ),
    };
    fault(StatusCode::BAD_REQUEST, error, id)
}
