//! The checks that a request passes before it reaches a route, as layers around the routes.

use crate::{HttpLimits, HttpOptions, Token, allowed::check_host, allowed::check_origin, cors};
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use http::{
    Method, StatusCode,
    header::{AUTHORIZATION, CONNECTION, ORIGIN, WWW_AUTHENTICATE},
};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::sync::Arc;

/// A refused request: a response with a short text, after which the connection is closed.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    status: StatusCode,
    reason: &'static str,
    /// The `WWW-Authenticate` field.
    challenge: Option<&'static str>,
}

impl Refusal {
    /// Makes a refusal.
    #[must_use]
    pub const fn new(status: StatusCode, reason: &'static str) -> Self {
        Self {
            status,
            reason,
            challenge: None,
        }
    }

    /// Returns the status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.status
    }

    /// Returns the reason, a short text.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        self.reason
    }

    /// Makes the response of it with another body than the reason.
    pub fn with_body(self, body: impl IntoResponse) -> Response {
        let close = [(CONNECTION, "close")];
        let challenge = self.challenge.map(|text| [(WWW_AUTHENTICATE, text)]);
        (self.status, close, challenge, body).into_response()
    }

    /// Makes the refusal of a token that the server does not know, or not any more.
    #[must_use]
    pub const fn invalid_token() -> Self {
        Self {
            challenge: Some("Bearer error=\"invalid_token\""),
            ..Self::new(
                StatusCode::UNAUTHORIZED,
                "the token is not the server's; ask its operator for it",
            )
        }
    }

    /// Makes the refusal of a request without a token.
    pub(crate) const fn no_token() -> Self {
        Self {
            challenge: Some("Bearer"),
            ..Self::new(
                StatusCode::UNAUTHORIZED,
                "the request needs the server's token: Authorization: Bearer TOKEN",
            )
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.with_body(self.reason)
    }
}

/// Puts the checks around the routes of a router, and those of the source alone around the open
/// ones.
pub(crate) fn protect(router: Router, open: Router, options: HttpOptions) -> Router {
    let options = Arc::new(options);
    // The layer that is added last runs first. Layers of routes run after the path is matched: a
    // client that gets a 401 for an unknown path looks for a way to log in there.
    router
        .route_layer(DefaultBodyLimit::disable())
        .route_layer(from_fn_with_state(Arc::clone(&options), authenticate))
        .merge(open.layer(DefaultBodyLimit::disable()))
        .layer(from_fn_with_state(options, check_source))
}

/// Checks `Host` and `Origin`, against DNS rebinding and requests from foreign web pages.
async fn check_source(
    State(options): State<Arc<HttpOptions>>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri().clone();
    let passed = pass_source(&options, request, next).await;
    passed.unwrap_or_else(|refusal| (options.refused)(&uri, refusal))
}

async fn pass_source(
    options: &HttpOptions,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let headers = request.headers();
    let host = check_host(
        request.uri(),
        headers,
        &options.allowed_hosts,
        options.default_port,
    )?;
    let is_cross_origin = check_origin(headers, &host, &options.allowed_origins)?;
    let origin = headers.get(ORIGIN).filter(|_| is_cross_origin).cloned();
    let mut response = next.run(request).await;
    if let Some(origin) = origin {
        cors::allow(&mut response, origin, &options.exposed_headers);
    }
    Ok(response)
}

/// Checks the token and removes it, since no route needs it and an absent value cannot be logged;
/// then reads the body of a request whose method has one. That of any other request is dropped.
async fn authenticate(
    State(options): State<Arc<HttpOptions>>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri().clone();
    let passed = pass_token(&options, request, next).await;
    passed.unwrap_or_else(|refusal| (options.refused)(&uri, refusal))
}

async fn pass_token(
    options: &HttpOptions,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    if cors::is_preflight(request.method(), request.headers()) {
        return Ok(cors::preflight(request.headers()));
    }
    let token = Token::of_request(request.headers())?;
    request.headers_mut().remove(AUTHORIZATION);
    options
        .access
        .admit(token, request.extensions_mut())
        .await?;
    let (parts, body) = request.into_parts();
    let body = match parts.method {
        Method::POST | Method::PUT | Method::PATCH => read(body, &options.limits).await?,
        _ => Body::empty(),
    };
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Reads a body, bounded in bytes and in total time.
async fn read(body: Body, limits: &HttpLimits) -> Result<Body, Refusal> {
    const TOO_LONG: Refusal = Refusal::new(
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
        Ok(Err(_)) => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "the request's body was interrupted",
        )),
        Err(_) => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request's body took too long to arrive",
        )),
    }
}
