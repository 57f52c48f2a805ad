//! What a browser has to be told before it lets an allowed page's script use the server, and read what it answers.

use super::reply::{Reply, text};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
    },
};

/// Whether a browser asks what it may send. Such a question has no token, and is answered without.
pub(super) fn is_question(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to it: the methods of the protocol, and whichever fields the page wants to send. The page is trusted.
pub(super) fn answer(headers: &HeaderMap) -> Reply {
    let mut reply = text(StatusCode::NO_CONTENT, "");
    let fields = reply.headers_mut();
    fields.remove(http::header::CONTENT_TYPE);
    fields.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    fields.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply
}

/// Lets the page that sent a request read its answer.
pub(super) fn readable(mut reply: Reply, request: &HeaderMap) -> Reply {
    if let Some(origin) = request.get(ORIGIN) {
        let fields = reply.headers_mut();
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        fields.insert(VARY, HeaderValue::from_name(ORIGIN));
        fields.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_name(SESSION_ID),
        );
    }
    reply
}

/// The field that names a session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
