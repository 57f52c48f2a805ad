//! The HTTP transport: bundled roots, no proxy, and no redirection to another origin, which would
//! receive the token and the conversation.

use agent_host_http_client::{USER_AGENT, builder, same_origin_redirects, tls_config};
use reqwest::{Client, Url};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::ExponentialBackoff,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The bounds of the search for the first event of another transport.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const PROBED_BYTES: usize = 8 * 1024;

/// The attempts to reopen the stream of server messages, with pauses growing to [`LONGEST_PAUSE`].
const STREAM_ATTEMPTS: usize = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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

/// Whether a GET of the URL yields the event with which the HTTP+SSE transport of 2024-11-05 begins
/// (<https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>).
pub(crate) async fn speaks_http_sse(url: &str, token: Option<&SecretString>) -> bool {
    let probe = async {
        let url: Url = url.parse().ok()?;
        let mut request = client(&url).ok()?.get(url);
        request = request.header("accept", "text/event-stream");
        if let Some(token) = token {
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

fn client(url: &Url) -> Result<Client, String> {
    builder(tls_config().map_err(|error| error.to_string())?)
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(same_origin_redirects(url))
        .no_proxy()
        .build()
        .map_err(|error| error.without_url().to_string())
}
