//! Cross-origin headers ([CORS](https://fetch.spec.whatwg.org/#http-cors-protocol)) for origins
//! that the operator allowed.
//!
//! Not `tower_http::cors`: that answers every `OPTIONS` request before the routes and the token
//! are checked, and adds `Vary` to the responses of clients that are no browsers.

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
    },
};

/// Returns true for a preflight request. It carries no token.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a preflight request: allows whichever header fields are asked for, since the origin is
/// trusted.
pub(crate) fn preflight(headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let fields = response.headers_mut();
    fields.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, PATCH, DELETE"),
    );
    if let Some(requested) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    fields.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets scripts of `origin` read a response and, of its header fields, `exposed`.
pub(crate) fn allow(response: &mut Response, origin: HeaderValue, exposed: &[HeaderName]) {
    let fields = response.headers_mut();
    fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    fields.insert(VARY, ORIGIN.into());
    for name in exposed {
        fields.append(ACCESS_CONTROL_EXPOSE_HEADERS, name.clone().into());
    }
}
