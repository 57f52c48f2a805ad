//! The HTTP transport. It follows no redirection to another origin, which would receive the token
//! and the conversation.

use crate::{
    config::{Endpoint, ServerConfig},
    headers,
};
use agent_host_http_client::{ClientError, ProxySetting, same_origin_redirects};
use agent_host_types::reason::Reason;
use reqwest::{Client, Url};
use rmcp::transport::{
    StreamableHttpClientTransport,
    auth::{AuthClient, AuthError, AuthorizationManager},
    common::client_side_sse::ExponentialBackoff,
    streamable_http_client::{
        AuthRequiredError, InsufficientScopeError, StreamableHttpClientTransportConfig,
    },
};
use secrecy::ExposeSecret as _;
use std::{sync::Arc, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The bounds of the search for the first event of another transport.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const PROBED_BYTES: usize = 8 * 1024;

/// The attempts to reopen the stream of server messages, with pauses growing to [`LONGEST_PAUSE`].
const STREAM_ATTEMPTS: usize = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Returns the transport to a server that has no login.
///
/// # Errors
/// The defect of the address or a header, as a fragment.
pub(crate) fn transport(
    endpoint: &Endpoint,
    config: &ServerConfig,
) -> Result<StreamableHttpClientTransport<Client>, Reason> {
    let (client, mut settings) = settings(endpoint, config)?;
    if let Some(token) = &endpoint.token {
        settings = settings.auth_header(token.expose_secret());
    }
    Ok(StreamableHttpClientTransport::with_client(client, settings))
}

/// Returns the transport to a server with this login.
///
/// # Errors
/// Those of [`transport`].
pub(crate) fn authorized(
    endpoint: &Endpoint,
    config: &ServerConfig,
    manager: AuthorizationManager,
) -> Result<StreamableHttpClientTransport<AuthClient<Client>>, Reason> {
    let (client, settings) = settings(endpoint, config)?;
    let client = AuthClient::new(client, manager);
    Ok(StreamableHttpClientTransport::with_client(client, settings))
}

fn settings(
    endpoint: &Endpoint,
    config: &ServerConfig,
) -> Result<(Client, StreamableHttpClientTransportConfig), Reason> {
    let url: Url = endpoint
        .url
        .parse()
        .map_err(|error| format!("its address: {error}"))?;
    let client = client(&url, &endpoint.proxy).map_err(|error| error.to_string())?;
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(STREAM_ATTEMPTS);
    backoff.max_delay = Some(LONGEST_PAUSE);
    let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_sse_event_size(super::lines::MAX_MESSAGE_BYTES)
        // One more, for `tools/list`.
        .max_concurrent_requests(config.concurrent_calls.get().saturating_add(1))
        .custom_headers(headers::sent(&endpoint.headers)?);
    settings.retry_config = Arc::new(backoff);
    Ok((client, settings))
}

/// The demand of a server for a login.
pub(crate) enum Challenge {
    /// It knows no token of ours.
    Login,
    /// The token does not allow the request, and these scopes would.
    Scopes(String),
}

/// Returns the demand for a login in an error of a request.
pub(crate) fn challenge(error: &(dyn std::error::Error + 'static)) -> Option<Challenge> {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<AuthRequiredError>() {
            return Some(Challenge::Login);
        }
        if let Some(error) = error.downcast_ref::<InsufficientScopeError>() {
            let scopes = error.required_scope.clone();
            return Some(Challenge::Scopes(scopes.unwrap_or_default()));
        }
        if let Some(AuthError::AuthorizationRequired) = error.downcast_ref() {
            return Some(Challenge::Login);
        }
        next = error.source();
    }
    None
}

/// Whether a GET of the URL yields the event with which the HTTP+SSE transport of 2024-11-05 begins
/// (<https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>).
pub(crate) async fn speaks_http_sse(endpoint: &Endpoint) -> bool {
    let probe = async {
        let url: Url = endpoint.url.parse().ok()?;
        let mut request = client(&url, &endpoint.proxy).ok()?.get(url);
        request = request.header("accept", "text/event-stream");
        for (name, value) in headers::sent(&endpoint.headers).ok()? {
            request = request.header(name, value);
        }
        if let Some(token) = &endpoint.token {
            request = request.bearer_auth(token.expose_secret());
        }
        let mut response = request.send().await.ok()?;
        let mut begin = Vec::new();
        while begin.len() < PROBED_BYTES {
            begin.extend_from_slice(&response.chunk().await.ok()??);
            let text = String::from_utf8_lossy(&begin);
            let mut lines = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            if let Some(event) = lines.find_map(|line| line.strip_prefix("event:")) {
                return Some(event.trim() == "endpoint");
            }
        }
        None
    };
    let probed = tokio::time::timeout(PROBE_TIMEOUT, probe).await;
    probed.ok().flatten() == Some(true)
}

/// Returns the client for the server at `url`.
pub(crate) fn client(url: &Url, proxy: &ProxySetting) -> Result<Client, ClientError> {
    let redirects = same_origin_redirects(url);
    proxy.client(url, |client| {
        client.connect_timeout(CONNECT_TIMEOUT).redirect(redirects)
    })
}
