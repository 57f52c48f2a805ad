//! The providers' sections: where each one's server and key are, and what its models take. Nothing is asked, and no key is read,
//! before [`ProviderConfig::open`].

#[cfg(test)]
mod tests;

use super::{
    ConfigError, Environment, RawProvider,
    source::{Purpose, Source},
};
use agent_host_models::{Capabilities, Endpoint, Provider, RetryPolicy, Timeouts};
use std::{
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU64,
    path::Path,
    time::Duration,
};

/// Where Ollama's server listens (`OLLAMA_HOST` in its documentation).
const OLLAMA_PORT: u16 = 11434;

/// A provider as it is configured, before it was needed: listing sessions needs no key.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// Which.
    pub provider: Provider,
    /// What its models can take.
    pub capabilities: Capabilities,
    /// When its server is asked again.
    pub retry: RetryPolicy,
    timeouts: Timeouts,
    /// As it was configured; absent for the provider's own.
    base_url: Option<String>,
    /// Absent where there is none; a server without keys needs none.
    key: Option<Source>,
    /// Whether the configuration has a section of it.
    has_section: bool,
}

impl ProviderConfig {
    /// What the provider's section says, and where it is silent, the environment. `window_tokens` is what the file says of the
    /// model's window; `base` is where the path of a key's file begins.
    pub(super) fn resolve(
        provider: Provider,
        raw: Option<&RawProvider>,
        window_tokens: Option<u64>,
        base: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let has_section = raw.is_some();
        let raw = raw.cloned().unwrap_or_default();
        let purpose = || Purpose {
            what: "the model server's key".to_owned(),
            setting: "api-key",
            of: format!("under [{}]", provider.name()),
        };
        let key = match raw.api_key.as_deref() {
            Some(text) => Some(Source::parse(text, purpose(), base, environment)?),
            None => key_variable(provider, environment)
                .map(|name| Source::variable(name, purpose(), environment)),
        };
        let of_environment = || {
            let text = environment.variable(provider.base_url_variable())?;
            Some(match provider {
                Provider::Ollama => ollama_url(text),
                Provider::Anthropic
                | Provider::OpenAi
                | Provider::OpenAiCompat
                | Provider::Gemini => text.to_owned(),
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

    /// Reads the key, which may open a file or run a command, and takes up to a minute. Dropping the future ends the command.
    ///
    /// # Errors
    /// When no base URL is known, or the key is not where it should be.
    pub async fn open(&self) -> Result<Endpoint, ConfigError> {
        let provider = self.provider;
        let base_url = self.base_url().ok_or_else(|| {
            ConfigError::new(format!(
                "it is not known where the model server of `{0}` is; set `base-url` under [{0}] in agent.toml, or the variable \
                 {1}, to an address like http://127.0.0.1:11434/v1",
                provider.name(),
                provider.base_url_variable()
            ))
        })?;
        let key = match &self.key {
            Some(source) => Some(source.read().await?),
            // Another server than the provider's own may want none.
            None if provider.wants_key() && self.base_url.is_none() => {
                return Err(ConfigError::new(format!(
                    "there is no key for `{0}`; set the variable {1}, or `api-key` under [{0}] in agent.toml",
                    provider.name(),
                    self.key_source()
                )));
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

    /// Where its server is; absent where nothing says so.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        let configured = self.base_url.as_deref();
        configured.or_else(|| self.provider.default_base_url())
    }

    /// Whether it is known where a key of it is.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Whether anything at all says that it is to be used.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.has_section || self.key.is_some() || self.base_url.is_some()
    }

    /// Where its key is, or would be looked for: a variable, a file or a command, never the key.
    #[must_use]
    pub fn key_source(&self) -> String {
        let variable = self.provider.key_variables().first();
        match &self.key {
            Some(source) => source.name(),
            None => (*variable.unwrap_or(&"api-key")).to_owned(),
        }
    }

    /// The file with the key, which no guest may see.
    pub(super) fn key_file(&self) -> Option<&Path> {
        self.key.as_ref()?.file()
    }
}

/// The first of the provider's variables for a key that is set.
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

/// The base URL that `OLLAMA_HOST` means to Ollama's own client: scheme, host, port and path may each be left out, a scheme without
/// a port means the port of the scheme, and the address on which a server listens everywhere means this machine.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest, default_port) = match host.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        // Whatever it is, it is told when it is used.
        Some(_) => return host.to_owned(),
        None => ("http", host, OLLAMA_PORT),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The colons of an IPv6 address are within brackets, or it has no port.
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
