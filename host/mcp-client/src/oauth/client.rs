//! The HTTP client of OAuth. The addresses come from a server's metadata, so it reaches encrypted or
//! local ones only, follows no redirection, and connects to public addresses and those of the
//! network in which the MCP server itself is.

use agent_host_engine::policy::{AddressClass, classify};
use agent_host_http_client::{ProxySetting, USER_AGENT, builder, tls_config};
use reqwest::{
    Client, ClientBuilder, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a response, in bytes; metadata and tokens have some KiB.
const MAX_BODY_BYTES: usize = 256 * 1024;

pub(super) struct OAuthHttp {
    client: Client,
    reachable: Arc<Reachable>,
}

/// The addresses that may be connected to.
#[derive(Clone)]
struct Reachable {
    /// The classes of addresses.
    classes: Vec<AddressClass>,
    /// The proxies, whatever their addresses are: the user named them.
    proxies: Vec<String>,
}

impl Reachable {
    /// Returns that for the server at `url`.
    async fn of(url: &Url, proxy: &ProxySetting) -> Result<Self, String> {
        let mut classes = vec![AddressClass::Public];
        let own = addresses(url).await;
        let own = own.map_err(|error| format!("its address is not known: {error}"))?;
        classes.extend(
            own.into_iter()
                .map(classify)
                .filter(|class| matches!(class, AddressClass::Loopback | AddressClass::Private)),
        );
        Ok(Self {
            classes,
            proxies: proxy.hosts(),
        })
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.classes.contains(&classify(address))
    }

    /// Checks an address before a request: a host name is checked once it is resolved.
    fn check(&self, url: &Url) -> Result<(), String> {
        let literal = literal(url);
        let is_local = literal.map(classify) == Some(AddressClass::Loopback)
            || url.host_str() == Some("localhost");
        let is_encrypted = url.scheme() == "https";
        if !(is_encrypted || is_local && url.scheme() == "http") {
            return Err(format!("`{url}` is neither https nor on this machine"));
        }
        if literal.is_some_and(|address| !self.allows(address)) {
            return Err(format!(
                "`{url}` is in a network in which its server is not"
            ));
        }
        Ok(())
    }
}

impl Resolve for Reachable {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.clone();
        Box::pin(async move {
            let is_proxy = allowed.proxies.iter().any(|host| host == name.as_str());
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found
                .filter(|address| is_proxy || allowed.allows(address.ip()))
                .collect();
            if found.is_empty() {
                let why = "it has no address in a network that may be reached";
                return Err(io::Error::other(why).into());
            }
            Ok::<Addrs, _>(Box::new(found.into_iter()))
        })
    }
}

/// Returns the address of a URL whose host is one.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

async fn addresses(url: &Url) -> io::Result<Vec<IpAddr>> {
    if let Some(address) = literal(url) {
        return Ok(vec![address]);
    }
    let host = url.host_str().unwrap_or_default();
    let found = tokio::net::lookup_host((host, 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

impl OAuthHttp {
    /// Creates the client for the server at `url`.
    ///
    /// # Errors
    /// The address is invalid or unknown, as a fragment.
    pub(super) async fn new(url: &str, proxy: &ProxySetting) -> Result<Self, String> {
        let url: Url = url
            .parse()
            .map_err(|error| format!("its address: {error}"))?;
        let reachable = Arc::new(Reachable::of(&url, proxy).await?);
        // Follows no redirection: rmcp does, for metadata and within an origin.
        let builder = builder(tls_config().map_err(|error| error.to_string())?)
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .dns_resolver(Arc::clone(&reachable));
        let client = proxy.apply(builder, &url).and_then(ClientBuilder::build);
        let client = client.map_err(|error| error.without_url().to_string())?;
        Ok(Self { client, reachable })
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            self.reachable.check(request.url())?;
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

#[cfg(test)]
mod tests {
    use super::{AddressClass, ProxySetting, Reachable};
    use pretty_assertions::assert_eq;
    use reqwest::Url;

    #[tokio::test]
    async fn discovered_address_is_encrypted_or_local_and_reachable() {
        let public = "https://93.184.215.14/mcp";
        let (local, private) = ("http://127.0.0.1:1/mcp", "https://10.0.0.1/mcp");
        let cases = [
            (public, "https://auth.example/token", true),
            (public, "http://auth.example/token", false),
            (public, "https://93.184.215.15/", true),
            (public, "https://169.254.169.254/", false),
            (public, "https://10.0.0.2/", false),
            (public, "https://127.0.0.1/", false),
            (public, "http://127.0.0.1/", false),
            (public, "https://[::1]/", false),
            (public, "https://[::ffff:10.0.0.1]/", false),
            (public, "file:///etc/passwd", false),
            (local, "http://127.0.0.1:2/token", true),
            (local, "http://localhost:2/token", true),
            (local, "http://[::1]:2/token", true),
            (local, "http://auth.example/token", false),
            (local, "https://10.0.0.2/", false),
            (private, "https://10.0.0.2/", true),
            (private, "https://169.254.169.254/", false),
            (private, "http://10.0.0.2/", false),
        ];
        for (server, url, expected) in cases {
            let server_url = server.parse().unwrap();
            let reachable = Reachable::of(&server_url, &ProxySetting::Off);
            let reachable = reachable.await.unwrap();
            let url: Url = url.parse().unwrap();
            assert_eq!(reachable.check(&url).is_ok(), expected, "{server} {url}");
        }
    }

    /// A name is checked by the addresses that it has.
    #[tokio::test]
    async fn name_of_another_network_is_not_connected_to() {
        use reqwest::dns::Resolve as _;
        let name = || "localhost".parse().unwrap();
        let public = Reachable {
            classes: vec![AddressClass::Public],
            proxies: vec!["proxy.example".to_owned()],
        };
        assert!(public.resolve(name()).await.is_err());
        let local = Reachable {
            classes: vec![AddressClass::Public, AddressClass::Loopback],
            ..public.clone()
        };
        assert!(local.resolve(name()).await.is_ok());
        // The proxy may be anywhere.
        let proxied = Reachable {
            proxies: vec!["localhost".to_owned()],
            ..public
        };
        assert!(proxied.resolve(name()).await.is_ok());
    }
}
