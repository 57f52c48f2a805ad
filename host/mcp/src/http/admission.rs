//! Admission of the protocol's requests, as a layer around the protocol's service.

use super::{SESSION_ID, semaphore, sessions::Sessions};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{
    Method, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
    request::Parts,
};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcError, RequestId,
};
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The error code of a request that is refused because too much runs; of the range that JSON-RPC
/// leaves to servers.
const BUSY: ErrorCode = ErrorCode(-32000);

/// Seconds after which a client that was refused for load should retry.
const RETRY_SECONDS: &str = "5";

/// Bounds the requests that run.
#[derive(Debug)]
pub(super) struct Admission {
    requests: Arc<Semaphore>,
    sessions: Arc<Sessions>,
}

/// Refuses bodies that are no message, and requests beyond the bounds. Notifications and responses
/// always pass: they end calls.
pub(super) async fn admit(
    State(admission): State<Arc<Admission>>,
    mut parts: Parts,
    body: Bytes,
    next: Next,
) -> Response {
    if parts.method == Method::POST {
        match serde_json::from_slice(&body) {
            Ok(ClientJsonRpcMessage::Request(request)) => {
                if let Err(reason) = admission.reserve(&mut parts, &request.request) {
                    let error = ErrorData::new(BUSY, reason, None);
                    let status = StatusCode::SERVICE_UNAVAILABLE;
                    let retry = [(RETRY_AFTER, RETRY_SECONDS)];
                    return (retry, error_response(status, error, Some(request.id)))
                        .into_response();
                }
            }
            Ok(_) => {}
            Err(_) => return invalid_message(&body),
        }
    }
    let request = Request::from_parts(parts, Body::from(body));
    next.run(request).await
}

impl Admission {
    pub(super) fn new(requests: usize, sessions: Arc<Sessions>) -> Self {
        Self {
            requests: semaphore(requests),
            sessions,
        }
    }

    /// Puts the permits that a request needs into its extensions, or returns why there are none.
    fn reserve(&self, parts: &mut Parts, request: &ClientRequest) -> Result<(), &'static str> {
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        let permit = permit.map_err(|_| "too many requests run; ask again")?;
        let is_new = matches!(request, ClientRequest::InitializeRequest(_));
        if is_new && !parts.headers.contains_key(SESSION_ID) {
            let session = self.sessions.reserve();
            let session =
                session.ok_or("too many sessions are open; end one with DELETE, or ask again")?;
            parts.extensions.insert(session);
        }
        // Held until the handler drops the extensions, whether or not the client still listens.
        parts.extensions.insert(Arc::new(permit));
        Ok(())
    }
}

fn invalid_message(body: &[u8]) -> Response {
    let (error, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => {
            let reason = format!("the body is no JSON: {error}");
            (ErrorData::parse_error(reason, None), None)
        }
        Ok(value) => {
            let reason = "the body is no single message of JSON-RPC 2.0; batches are not taken";
            let id = value.get("id");
            let id = id.and_then(|id| RequestId::deserialize(id).ok());
            (ErrorData::invalid_request(reason, None), id)
        }
    };
    error_response(StatusCode::BAD_REQUEST, error, id)
}

/// Returns a JSON-RPC error, with the request's id where that could be read.
fn error_response(status: StatusCode, error: ErrorData, id: Option<RequestId>) -> Response {
    // Numbers and strings always have a JSON form.
    let body = serde_json::to_vec(&JsonRpcError::new(id, error)).unwrap_or_default();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
