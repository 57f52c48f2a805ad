//! The HTTP client of OAuth. The addresses come from a server's metadata, so it reaches encrypted
//! or local ones only, follows no redirection, and connects to public addresses and those of the
//! network in which the MCP server itself is.

use agent_host_http_client::{ProxySetting, Reachable};
use agent_host_types::reason::Reason;
use reqwest::{Client, Url};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use std::{sync::Arc, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a response, in bytes; metadata and tokens have some KiB.
const MAX_BODY_BYTES: usize = 256 * 1024;

pub(super) struct OAuthHttp {
    client: Client,
    reachable: Arc<Reachable>,
}

impl OAuthHttp {
    /// Creates the client for the server at `url`.
    ///
    /// # Errors
    /// The address is invalid, or TLS or the proxy cannot be set up; as a fragment.
    pub(super) async fn new(url: &str, proxy: &ProxySetting) -> Result<Self, Reason> {
        let url: Url = url
            .parse()
            .map_err(|error| format!("its address: {error}"))?;
        let reachable = Arc::new(Reachable::for_server(&url, proxy).await);
        // Follows no redirection: rmcp does, for metadata and within an origin.
        let client = proxy.client(&url, |client| {
            let client = client.connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT);
            client.dns_resolver(Arc::clone(&reachable))
        });
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { client, reachable })
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            let url = request.url();
            let checked = self.reachable.check(url);
            checked.map_err(|reason| format!("`{url}` {reason}"))?;
            let mut response = self.client.execute(request).await?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                if body.len() + chunk.len() > MAX_BODY_BYTES {
                    return Err(format!("it has more than {MAX_BODY_BYTES} bytes").into());
                }
                body.extend_from_slice(&chunk);
            }
            Ok(answer.body(body)?)
        })
    }
}
