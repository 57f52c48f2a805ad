//! The checks that a request passes before it reaches a route, as layers around the routes.

use crate::{
    HttpOptions, Token,
    allowed::{AllowedHost, AllowedOrigin, HostError, OriginCheck, check_host, check_origin},
    cors,
    limits::HttpLimits,
    token::AuthResult,
};
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderName, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONNECTION, ORIGIN, WWW_AUTHENTICATE},
};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::sync::Arc;

/// The values that requests are checked against.
#[derive(Debug)]
struct RequestGuard {
    hosts: Vec<AllowedHost>,
    origins: Vec<AllowedOrigin>,
    exposed_headers: Vec<HeaderName>,
    token: Token,
    limits: HttpLimits,
}

/// Puts the checks around the routes of a router. `hosts` are the server's own names.
pub(crate) fn protect(router: Router, hosts: Vec<AllowedHost>, options: HttpOptions) -> Router {
    let HttpOptions {
        token,
        mut allowed_hosts,
        allowed_origins,
        exposed_headers,
        limits,
    } = options;
    allowed_hosts.extend(hosts);
    let guard = Arc::new(RequestGuard {
        hosts: allowed_hosts,
        origins: allowed_origins,
        exposed_headers,
        token,
        limits,
    });
    // The layer that is added last runs first. Layers of routes run after the path is matched: a
    // client that gets a 401 for an unknown path looks for a way to log in there.
    router
        .route_layer(DefaultBodyLimit::disable())
        .route_layer(from_fn_with_state(Arc::clone(&guard), read_body))
        .route_layer(from_fn_with_state(Arc::clone(&guard), authenticate))
        .layer(from_fn_with_state(guard, check_source))
}

/// Returns a refusal with a short text, after which the connection is closed.
#[must_use]
pub fn refuse(status: StatusCode, reason: &'static str) -> Response {
    (status, [(CONNECTION, "close")], reason).into_response()
}

/// Checks `Host` and `Origin`, against DNS rebinding and requests from foreign web pages.
async fn check_source(
    State(guard): State<Arc<RequestGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let host = match check_host(request.uri(), headers, &guard.hosts) {
        Ok(host) => host,
        Err(HostError::Foreign) => {
            return refuse(
                StatusCode::FORBIDDEN,
                "the server is not to be called by this Host; its operator can allow it with --allow-host",
            );
        }
        Err(HostError::Invalid) => {
            return refuse(
                StatusCode::BAD_REQUEST,
                "the request needs one Host field with a name or an address",
            );
        }
    };
    match check_origin(headers, &host, &guard.origins) {
        OriginCheck::Own => next.run(request).await,
        OriginCheck::Allowed => {
            let origin = headers.get(ORIGIN).cloned();
            let mut response = next.run(request).await;
            if let Some(origin) = origin {
                cors::allow(&mut response, origin, &guard.exposed_headers);
            }
            response
        }
        OriginCheck::Foreign => refuse(
            StatusCode::FORBIDDEN,
            "pages of this Origin may not use the server; its operator can allow them with --allow-origin",
        ),
    }
}

/// Checks the token, and removes it: no route needs it, and an absent value cannot be logged.
async fn authenticate(
    State(guard): State<Arc<RequestGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    if cors::is_preflight(request.method(), request.headers()) {
        return cors::preflight(request.headers());
    }
    let (challenge, reason) = match guard.token.check(request.headers()) {
        AuthResult::Valid => {
            request.headers_mut().remove(AUTHORIZATION);
            return next.run(request).await;
        }
        AuthResult::Missing => (
            "Bearer",
            "the request needs the server's token: Authorization: Bearer TOKEN",
        ),
        AuthResult::Invalid => (
            "Bearer error=\"invalid_token\"",
            "the token is not the server's; ask its operator for it",
        ),
    };
    let mut refusal = refuse(StatusCode::UNAUTHORIZED, reason);
    refusal
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    refusal
}

/// Reads the body of a request whose method has one, bounded in bytes and in total time. That of
/// any other request is dropped unread.
async fn read_body(
    State(guard): State<Arc<RequestGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = match parts.method {
        Method::POST | Method::PUT | Method::PATCH => match read(body, &guard.limits).await {
            Ok(body) => body,
            Err((status, reason)) => return refuse(status, reason),
        },
        _ => Body::empty(),
    };
    next.run(Request::from_parts(parts, body)).await
}

async fn read(body: Body, limits: &HttpLimits) -> Result<Body, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) = (
        StatusCode::PAYLOAD_TOO_LARGE,
        "the request's body is too long; send less at once",
    );
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(TOO_LONG);
    }
    let whole = Limited::new(body, limits.body_bytes).collect();
    match tokio::time::timeout(limits.body_time, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LONG),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the request's body broke off")),
        Err(_) => Err((
            StatusCode::REQUEST_TIMEOUT,
            "the request's body was too long in coming",
        )),
    }
}
