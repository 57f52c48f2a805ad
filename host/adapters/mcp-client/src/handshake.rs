//! The errors of a handshake, and what they lead to.

use crate::{
    config::{Reach, ServerConfig},
    connection::SHOWN_BYTES,
    error::ConnectError,
    http, oauth,
};
use agent_host_engine::text;
use rmcp::{
    model::ErrorCode, service::ClientInitializeError, transport::auth::WWWAuthenticateParams,
};

/// Returns the error of a handshake that took too long; `detail` is a clause that begins with `, `.
pub(crate) fn timeout_error(config: &ServerConfig, detail: &str) -> ConnectError {
    ConnectError::Silent {
        server: config.name.clone(),
        seconds: config.connect_timeout.as_secs(),
        detail: text::sanitize(&config.redact(detail), SHOWN_BYTES),
    }
}

/// Returns the error of a server that wants a login, and notes the scopes that it wants; `None` if
/// its token is configured.
fn login_error(config: &ServerConfig, challenge: &str) -> Option<ConnectError> {
    let Reach::Http(endpoint) = &config.reach else {
        return None;
    };
    endpoint.oauth.as_ref()?;
    let server = config.name.clone();
    let challenge = WWWAuthenticateParams::parse(challenge, &endpoint.url.parse().ok()?);
    if challenge.is_insufficient_scope()
        && let Err(error) = oauth::want_scopes(endpoint, &challenge.scope.unwrap_or_default())
    {
        tracing::warn!("the login of the MCP server `{server}`: {error}");
    }
    Some(ConnectError::Login { server })
}

pub(crate) fn handshake_error(
    config: &ServerConfig,
    error: &ClientInitializeError,
    detail: &str,
) -> HandshakeError {
    // The server knows the older way alone, or none.
    let reason = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        error => error,
    };
    let told = ConnectError::Unusable {
        server: config.name.clone(),
        why: text::sanitize(&config.redact(&with_sources(reason)), SHOWN_BYTES),
        detail: text::sanitize(&config.redact(detail), SHOWN_BYTES),
    };
    match error {
        ClientInitializeError::ExpectedInitResult(_) => HandshakeError::UnexpectedResult(told),
        error if refuses_initialize(error) => HandshakeError::NoInitialize(told),
        _ => HandshakeError::Other(told),
    }
}

/// Returns the error of a handshake with a web server.
pub(crate) async fn web_error(
    config: &ServerConfig,
    error: &ClientInitializeError,
) -> HandshakeError {
    let challenge = error.auth_challenge();
    if let Some(login) = challenge.and_then(|text| login_error(config, text)) {
        return login.into();
    }
    if let Reach::Http(endpoint) = &config.reach
        && http::speaks_http_sse(endpoint).await
    {
        let server = config.name.clone();
        return ConnectError::HttpSse { server }.into();
    }
    handshake_error(config, error, "")
}

/// Whether the server refused `initialize` as of an unsupported version: it had taken
/// `server/discover`, which the library gives up after 10 seconds.
pub(crate) fn refuses_initialize(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            refuses_initialize(fallback)
        }
        _ => false,
    }
}

/// The reason why there is no connection.
pub(crate) enum HandshakeError {
    /// The server answered with a result of another kind.
    UnexpectedResult(ConnectError),
    /// The server refuses `initialize`.
    NoInitialize(ConnectError),
    Other(ConnectError),
}

impl From<HandshakeError> for ConnectError {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::UnexpectedResult(error)
            | HandshakeError::NoInitialize(error)
            | HandshakeError::Other(error) => error,
        }
    }
}

impl From<ConnectError> for HandshakeError {
    fn from(error: ConnectError) -> Self {
        Self::Other(error)
    }
}

/// Formats an error with its sources.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
