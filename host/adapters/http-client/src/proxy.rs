//! The proxy of requests to models and MCP servers.

#[cfg(test)]
mod tests;

use crate::{ClientError, USER_AGENT, builder, tls_config};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url};
use secrecy::{ExposeSecret as _, SecretString};
use std::net::IpAddr;

/// The proxy of requests that leave this machine.
#[derive(Clone, Debug, Default)]
pub enum ProxySetting {
    /// That of `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, except for the hosts of `NO_PROXY`.
    #[default]
    Environment,
    /// None, whatever the environment has.
    Off,
    /// This one, whatever the environment has.
    Url {
        /// The address, possibly with a name and a password.
        url: SecretString,
        /// The hosts, domains and networks that are asked directly, as in `NO_PROXY`.
        except: Vec<String>,
    },
}

impl ProxySetting {
    /// Returns a client for the server at `url` that goes through this proxy, with the TLS of
    /// [`tls_config`] and the settings of [`builder`] that `configure` completes.
    ///
    /// # Errors
    /// The proxy's address cannot be used, or TLS cannot be set up.
    pub fn client(
        &self,
        url: &Url,
        configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Client, ClientError> {
        let builder = configure(builder(tls_config()?).user_agent(USER_AGENT));
        let client = self.apply(builder, url).and_then(ClientBuilder::build);
        Ok(client.map_err(reqwest::Error::without_url)?)
    }

    /// Sets the proxy of a client for the server at `url`. One on this machine has none, because a
    /// proxy could not reach it.
    fn apply(&self, builder: ClientBuilder, url: &Url) -> Result<ClientBuilder, reqwest::Error> {
        match self {
            _ if is_loopback(url) => Ok(builder.no_proxy()),
            Self::Environment => Ok(builder),
            Self::Off => Ok(builder.no_proxy()),
            Self::Url { url, except } => {
                let proxy = Proxy::all(url.expose_secret()).map_err(reqwest::Error::without_url)?;
                let except = NoProxy::from_string(&except.join(","));
                Ok(builder.proxy(proxy.no_proxy(except)))
            }
        }
    }
}

/// The variables with the address of a proxy, as the client reads them.
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

impl ProxySetting {
    /// Returns the hosts of the proxies that may be used, for a client that checks to which hosts
    /// it connects.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let addresses = match self {
            Self::Environment => VARIABLES
                .into_iter()
                .filter_map(|name| std::env::var(name).ok())
                .collect(),
            Self::Off => Vec::new(),
            Self::Url { url, .. } => vec![url.expose_secret().to_owned()],
        };
        let host = |address: &String| {
            // Without a scheme it is one of `http`, as the client reads it.
            let url = match address.contains("://") {
                true => Url::parse(address),
                false => Url::parse(&format!("http://{address}")),
            };
            Some(url.ok()?.host_str()?.to_owned())
        };
        addresses.iter().filter_map(host).collect()
    }
}

/// True if requests to this URL do not leave this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
