//! Model providers: their servers, keys and capabilities. No request is made, and no key is read,
//! before [`ProviderConfig::open`].

#[cfg(test)]
mod tests;

use super::{
    ConfigError, Environment,
    paths::Scope,
    problem::config_error,
    raw::RawProvider,
    source::{Purpose, Source},
};
use agent_host_models::{Capabilities, Endpoint, Provider, RetryPolicy, Timeouts};
use std::{
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU64,
    path::Path,
    time::Duration,
};

/// The default port of Ollama's server (`OLLAMA_HOST` in its documentation).
const OLLAMA_PORT: u16 = 11434;

/// A provider as it is configured. Its key is not read yet: listing sessions needs none.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// The provider.
    pub provider: Provider,
    /// The capabilities of its models.
    pub capabilities: Capabilities,
    /// When a request is retried.
    pub retry: RetryPolicy,
    timeouts: Timeouts,
    /// As it is configured; absent for the provider's own.
    base_url: Option<String>,
    /// Absent where none is configured; not every server needs one.
    key: Option<Source>,
    /// True if the configuration has its section.
    has_section: bool,
}

impl ProviderConfig {
    /// Resolves the provider's section, with the environment for absent keys. `window_tokens` is
    /// the configured window.
    pub(super) fn resolve(
        provider: Provider,
        raw: Option<&RawProvider>,
        window_tokens: Option<u64>,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let environment = scope.environment;
        let has_section = raw.is_some();
        let raw = raw.cloned().unwrap_or_default();
        let purpose = || Purpose {
            what: "the model server's key".to_owned(),
            setting: "api-key",
            of: format!("under [{}]", provider.name()),
        };
        let key = match raw.api_key.as_deref() {
            Some(text) => {
                let key = format!("{}.api-key", provider.name());
                Some(Source::parse(text, &key, purpose(), scope)?)
            }
            None => key_variable(provider, environment)
                .map(|name| Source::variable(name, purpose(), environment)),
        };
        let of_environment = || {
            let mut variables = provider.base_url_variables();
            let text = variables.find_map(|name| environment.variable(name))?;
            let is_ollama = provider == Provider::Ollama;
            Some(if is_ollama {
                ollama_url(text)
            } else {
                text.to_owned()
            })
        };
        let default = provider.capabilities();
        let retry = RetryPolicy::default();
        Ok(Self {
            provider,
            capabilities: Capabilities {
                vision: raw.vision.unwrap_or(default.vision),
                documents: raw.documents.unwrap_or(default.documents),
                files_in_results: raw.files_in_results.unwrap_or(default.files_in_results),
                parallel_calls: raw.parallel_calls.unwrap_or(default.parallel_calls),
                denied_is_error: raw.denied_is_error.unwrap_or(default.denied_is_error),
                max_output_tokens: raw.max_output_tokens.or(default.max_output_tokens),
                window_tokens,
            },
            retry: RetryPolicy {
                retries: raw.retries.unwrap_or(retry.retries),
                ..retry
            },
            timeouts: timeouts(&raw),
            base_url: raw.base_url.or_else(of_environment),
            key,
            has_section,
        })
    }

    /// Reads the key, which may open a file or run a command, and takes up to a minute. Dropping
    /// the future ends the command.
    ///
    /// # Errors
    /// No base URL is known, or the key is not where it should be.
    pub async fn open(&self) -> Result<Endpoint, ConfigError> {
        let provider = self.provider;
        let base_url = self.base_url().ok_or_else(|| {
            let (name, variable) = (provider.name(), provider.base_url_variable());
            config_error!(
                &format!("{name}.base-url"),
                "it is not known where the model server of `{name}` is",
                "set `base-url` under [{name}] in agent.toml, or the variable {variable}, to an \
                 address like http://127.0.0.1:11434/v1"
            )
        })?;
        let key = match &self.key {
            Some(source) => Some(source.read().await?),
            // Another server than the provider's own may want none.
            None if provider.wants_key() && self.base_url.is_none() => {
                let (name, variable) = (provider.name(), self.key_source());
                return Err(config_error!(
                    &format!("{name}.api-key"),
                    "there is no key for `{name}`",
                    "set the variable {variable}, or `api-key` under [{name}] in agent.toml"
                ));
            }
            None => None,
        };
        Ok(Endpoint {
            base_url: base_url.to_owned(),
            key,
            key_source: self.key_source(),
            timeouts: self.timeouts,
        })
    }

    /// Returns the address of its server, where one is known.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        let configured = self.base_url.as_deref();
        configured.or_else(|| self.provider.default_base_url())
    }

    /// True if the source of its key is known.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// True if a section, a key or an address of it is configured.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.has_section || self.key.is_some() || self.base_url.is_some()
    }

    /// Returns the source of its key, or the variable that is looked for: never the key itself.
    #[must_use]
    pub fn key_source(&self) -> String {
        let variable = self.provider.key_variables().first();
        match &self.key {
            Some(source) => source.name(),
            None => (*variable.unwrap_or(&"api-key")).to_owned(),
        }
    }

    /// Returns the file with the key, which no guest may see.
    pub(super) fn key_file(&self) -> Option<&Path> {
        self.key.as_ref()?.file()
    }
}

/// Returns the first of the provider's key variables that is set.
pub(super) fn key_variable(provider: Provider, environment: &Environment) -> Option<&'static str> {
    let mut names = provider.key_variables().iter().copied();
    names.find(|name| environment.variable(name).is_some())
}

fn timeouts(raw: &RawProvider) -> Timeouts {
    let default = Timeouts::default();
    let seconds = |configured: Option<NonZeroU64>, default| {
        configured.map_or(default, |seconds| Duration::from_secs(seconds.get()))
    };
    Timeouts {
        connect: seconds(raw.connect_timeout_seconds, default.connect),
        first_chunk: seconds(raw.first_chunk_timeout_seconds, default.first_chunk),
        idle_chunk: seconds(raw.idle_chunk_timeout_seconds, default.idle_chunk),
        total: seconds(raw.total_timeout_seconds, default.total),
    }
}

/// Returns the base URL of an `OLLAMA_HOST` value as Ollama's own client reads it: scheme, host,
/// port and path are optional, a scheme without a port means the port of the scheme, and an
/// unspecified address means this machine.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest, default_port) = match host.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        // Reported when it is used.
        Some(_) => return host.to_owned(),
        None => ("http", host, OLLAMA_PORT),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The colons of an IPv6 address are in brackets, or it has no port.
    let bare = authority.trim_matches(['[', ']']).parse::<IpAddr>();
    let (name, port) = match (bare, authority.rsplit_once(':')) {
        (Err(_), Some((name, port))) => (name, port.parse().unwrap_or(default_port)),
        (Ok(_), _) | (Err(_), None) => (authority, default_port),
    };
    let name = name.trim_matches(['[', ']']);
    let name = match name.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(address)) => address.to_string(),
        Err(_) if name.is_empty() => Ipv4Addr::LOCALHOST.to_string(),
        Err(_) => name.to_owned(),
    };
    let url = format!("{scheme}://{name}:{port}/{path}");
    url.trim_end_matches('/').to_owned()
}
