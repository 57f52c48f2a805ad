//! The HTTP transport: bundled roots, no proxy, and no redirection to another origin, which would
//! receive the token and the conversation.

use reqwest::{Client, StatusCode, Url, redirect::Policy};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::ExponentialBackoff,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The attempts to reopen the stream of server messages, with pauses growing to [`LONGEST_PAUSE`].
const STREAM_ATTEMPTS: usize = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

const MAX_REDIRECTS: usize = 3;

/// Returns the transport to the server at `url`.
///
/// # Errors
/// The defect of the URL or the token, as a fragment.
pub(crate) fn transport(
    url: &str,
    token: Option<&SecretString>,
    concurrent_calls: NonZeroUsize,
) -> Result<StreamableHttpClientTransport<Client>, String> {
    let url: Url = url
        .parse()
        .map_err(|error| format!("its address: {error}"))?;
    let client = client(&url)?;
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(STREAM_ATTEMPTS);
    backoff.max_delay = Some(LONGEST_PAUSE);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_sse_event_size(super::lines::MAX_MESSAGE_BYTES)
        // One more, for `tools/list`.
        .max_concurrent_requests(concurrent_calls.get().saturating_add(1));
    config.retry_config = Arc::new(backoff);
    if let Some(token) = token {
        config = config.auth_header(token.expose_secret());
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn client(url: &Url) -> Result<Client, String> {
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("agent-host/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(within(url))
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .build()
        .map_err(|error| error.without_url().to_string())
}

/// Follows redirections within one origin, and only those that keep a POST a POST.
fn within(url: &Url) -> Policy {
    let origin = url.origin();
    Policy::custom(move |attempt| {
        let keeps_method = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let stays = attempt.url().origin() == origin;
        if keeps_method && stays && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}
