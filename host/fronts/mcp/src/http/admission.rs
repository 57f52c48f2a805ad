//! Admission of the protocol's requests, as a layer around the protocol's service.

use super::{SESSION_ID, sessions::Sessions};
use crate::in_flight::{BUSY, InFlight, long_running};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    Method, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
    request::Parts,
};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;

/// The name under which the requests that are no calls are counted; a tool has a longer one.
const NO_TOOL: &str = "";

/// Seconds after which a client that was refused for load should retry.
const RETRY_SECONDS: &str = "5";

/// Bounds the requests that run.
#[derive(Debug)]
pub(super) struct RequestBounds {
    requests: Arc<InFlight>,
    sessions: Arc<Sessions>,
}

/// Refuses bodies that are no message, and requests beyond the bounds. Notifications and responses
/// always pass: they end calls.
pub(super) async fn admit(
    State(admission): State<Arc<RequestBounds>>,
    mut parts: Parts,
    body: Bytes,
    next: Next,
) -> Response {
    if parts.method == Method::POST {
        match serde_json::from_slice(&body) {
            Ok(ClientJsonRpcMessage::Request(request)) => {
                if let Err(refused) = admission.reserve(&mut parts, request, body.len()) {
                    return busy_response(&refused);
                }
            }
            Ok(_) => {}
            Err(_) => return invalid_message(&body),
        }
    }
    let ends_session = parts.method == Method::DELETE;
    let request = Request::from_parts(parts, Body::from(body));
    let mut response = next.run(request).await;
    // The session has ended. The official SDK for Python warns of any status but 200 and 204.
    if ends_session && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

impl RequestBounds {
    pub(super) fn new(requests: usize, sessions: Arc<Sessions>) -> Self {
        Self {
            requests: InFlight::new(requests),
            sessions,
        }
    }

    /// Puts the permits that a request of `bytes` bytes needs into its extensions.
    ///
    /// # Errors
    /// There are none; this is the response.
    fn reserve(
        &self,
        parts: &mut Parts,
        request: JsonRpcRequest<ClientRequest>,
        bytes: usize,
    ) -> Result<(), Box<ServerJsonRpcMessage>> {
        let JsonRpcRequest { request, id, .. } = request;
        let name = long_running(&request).unwrap_or(NO_TOOL);
        let permit = match self.requests.admit(name, bytes) {
            Ok(permit) => permit,
            Err(busy) => return Err(Box::new(busy.response(&request, id))),
        };
        let is_new = matches!(request, ClientRequest::InitializeRequest(_));
        if is_new && !parts.headers.contains_key(SESSION_ID) {
            let Some(session) = self.sessions.reserve() else {
                let reason = "too many sessions are open; end one with DELETE, or try again";
                let error = ErrorData::new(BUSY, reason, None);
                return Err(Box::new(ServerJsonRpcMessage::error(error, Some(id))));
            };
            parts.extensions.insert(session);
        }
        // Held until the handler drops the extensions, whether or not the client still listens.
        parts.extensions.insert(permit);
        Ok(())
    }
}

fn invalid_message(body: &[u8]) -> Response {
    let (error, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => {
            let reason = format!("the body is not JSON: {error}");
            (ErrorData::parse_error(reason, None), None)
        }
        Ok(value) => {
            let reason = "the body is not a single JSON-RPC 2.0 message; batches are not supported";
            let id = value.get("id");
            let id = id.and_then(|id| RequestId::deserialize(id).ok());
            (ErrorData::invalid_request(reason, None), id)
        }
    };
    let error = ServerJsonRpcMessage::error(error, id);
    (StatusCode::BAD_REQUEST, json(&error)).into_response()
}

/// Returns the response to a request that is not admitted. A call has a result, so it succeeds.
fn busy_response(message: &ServerJsonRpcMessage) -> Response {
    match message {
        ServerJsonRpcMessage::Response(_) => json(message).into_response(),
        _ => {
            let retry = [(RETRY_AFTER, RETRY_SECONDS)];
            (StatusCode::SERVICE_UNAVAILABLE, retry, json(message)).into_response()
        }
    }
}

fn json(message: &ServerJsonRpcMessage) -> impl IntoResponse {
    // The host's own messages always have a JSON form.
    let body = serde_json::to_vec(message).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], body)
}
