//! `[network]`: the proxy of requests to models and MCP servers.

use super::{
    ConfigError,
    paths::Scope,
    problem::config_error,
    review::{Danger, Review, quoted},
    section::section,
    source::{ConfigText, Purpose, ValueSource},
};
use agent_host_http_client::ProxySetting;
use std::path::Path;

section! {
    /// `[network]`.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(super) struct RawNetwork {
        /// The address of the proxy, its source as in `api-key`, or `off`.
        proxy [Source]: Option<String> => together;
        /// Hosts, domains and networks to connect to directly.
        no_proxy: Vec<String> => together;
    }
}

/// Demands the proxy.
pub(super) fn demand(raw: &RawNetwork, _: &str, review: &mut Review<'_>) {
    let Some(proxy) = raw.proxy.as_deref().map(quoted) else {
        return;
    };
    let except = match raw.no_proxy.as_slice() {
        [] => String::new(),
        hosts => format!(", except to {}", quoted(&hosts.join(", "))),
    };
    review.demand(
        Danger::Network,
        format!("sends requests to models and MCP servers through the proxy {proxy}{except}"),
    );
}

/// The proxy as it is configured. Its address is not read yet.
#[derive(Clone, Debug, Default)]
pub(super) enum NetworkConfig {
    #[default]
    Environment,
    Off,
    Proxy {
        address: ConfigText,
        except: Vec<String>,
    },
}

impl NetworkConfig {
    /// Reads the address of the proxy.
    ///
    /// # Errors
    /// It is not where it should be, or is not an address.
    pub(super) async fn open(&self) -> Result<ProxySetting, ConfigError> {
        let (address, except) = match self {
            Self::Environment => return Ok(ProxySetting::Environment),
            Self::Off => return Ok(ProxySetting::Off),
            Self::Proxy { address, except } => (address, except),
        };
        Ok(ProxySetting::Url {
            url: address.read().await?,
            except: except.clone(),
        })
    }

    /// Returns the file with the address, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Proxy { address, .. } => address.file(),
            Self::Environment | Self::Off => None,
        }
    }
}

/// Resolves `[network]`.
pub(super) fn resolve(raw: RawNetwork, scope: Scope<'_>) -> Result<NetworkConfig, ConfigError> {
    let address = match raw.proxy {
        Some(text) if text == "off" => return Ok(NetworkConfig::Off),
        None if raw.no_proxy.is_empty() => return Ok(NetworkConfig::Environment),
        None => {
            return Err(config_error!(
                "network.no-proxy",
                "`no-proxy` needs `proxy`, which is not set",
                "set `proxy`, too; for a proxy from the environment, use NO_PROXY"
            ));
        }
        Some(text) if ValueSource::is_meant(&text) => {
            let purpose = Purpose::new("the proxy's address", "proxy", "of [network]");
            ConfigText::Source(ValueSource::parse(&text, "network.proxy", purpose, scope)?)
        }
        Some(text) => literal(text)?,
    };
    Ok(NetworkConfig::Proxy {
        address,
        except: raw.no_proxy,
    })
}

/// Checks an address that is written in the configuration. Errors do not repeat it, because it may
/// have a password.
fn literal(text: String) -> Result<ConfigText, ConfigError> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match authority {
        Some(authority) if authority.contains('@') => Err(config_error!(
            "network.proxy",
            "`proxy` contains a user name or a password, which does not belong in a file that is shared and committed",
            "write `env:NAME`, `file:PATH` or `cmd:COMMAND` for the whole address"
        )),
        Some(authority) if !authority.is_empty() => Ok(ConfigText::Literal(text.into())),
        _ => Err(config_error!(
            "network.proxy",
            "`proxy` is not the address of an HTTP proxy",
            "write it like `http://proxy.example:3128`, or `off` for none"
        )),
    }
}
