//! Model providers: their servers, keys and capabilities. No request is made, and no key is read,
//! before [`ProviderConfig::open`].

#[cfg(test)]
mod tests;

use super::{
    ConfigError, Environment,
    headers::{self, Headers},
    hints::advice,
    network::NetworkConfig,
    paths::Scope,
    problem::config_error,
    review::{Review, quoted},
    section::{Section as _, section, values},
    source::{Purpose, ValueSource},
};
use agent_host_models::{
    Capabilities, Endpoint, Preset, Provider, RequestExtras, RetryPolicy, SendSettings, Timeouts,
    is_header_name, is_reserved_header,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    num::{NonZeroU32, NonZeroU64},
    path::Path,
    time::Duration,
};

/// The default port of Ollama's server (`OLLAMA_HOST` in its documentation).
const OLLAMA_PORT: u16 = 11434;

/// The longest name of a `[[provider]]`, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// The names of models that are in files.
const RESERVED_NAMES: [&str; 2] = ["script", "replay"];

section! {
    /// `[anthropic]`, `[openai]`, `[openai-compat]`, `[gemini]` and `[ollama]`, which have no `name`
    /// and no `kind`, and `[[provider]]`, which has both. Absent keys have the default of the service.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(super) struct RawProvider {
        /// The name before the colon of `NAME:MODEL`.
        name: Option<String> => pinned;
        /// The preset to start from: a service or wire format.
        // A service has its own address and its own key, as where a model is chosen.
        #[schemars(schema_with = "provider_kind")]
        kind: Option<String> => pinned;
        /// The address of the server, as the provider's own SDK takes it.
        base_url: Option<String> => asks(Network,
            "sends the conversations of {who}, and the key where one is set, to {value}");
        /// The source of the key: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
        api_key [Source]: Option<String> => asks(Private, "reads the key of {who} from {value}");
        /// The header for the key, instead of the service's own.
        key_header: Option<String> =>
            asks(Private, "sends the key of {who} in the header {value}");
        /// Headers of every request: text, or the source of one as in `api-key`.
        headers [Source, Secret]: BTreeMap<String, String> =>
            asks(Network, "sends the header {name} of {who}: {value}");
        /// Query parameters of every request.
        query [Secret]: BTreeMap<String, String> =>
            asks(Network, "adds {name} to the query of {who}: {value}");
        /// True if the model accepts images.
        // A wrong capability leads to a request that the provider refuses.
        vision: Option<bool> => harmless;
        /// True if the model accepts PDF documents.
        documents: Option<bool> => harmless;
        /// True if the model accepts audio.
        audio: Option<bool> => harmless;
        /// True if results of tools may contain files.
        files_in_results: Option<bool> => harmless;
        /// True if the model may call several tools in one reply.
        parallel_calls: Option<bool> => harmless;
        /// True to mark a denied call as an error, where the wire format supports that.
        denied_is_error: Option<bool> => harmless;
        /// Fields and rules of requests in which servers of one wire format differ.
        send: Option<SendSettings> => harmless;
        /// The maximum number of tokens of one reply.
        max_output_tokens: Option<NonZeroU32> =>
            asks(Other, "lets replies of {who} have up to {value} tokens");
        /// The time limit of a connection.
        connect_timeout_seconds: Option<NonZeroU64>, in seconds =>
            at_most(Timeouts::default().connect.as_secs());
        /// The time limit until the answer begins.
        first_chunk_timeout_seconds: Option<NonZeroU64>, in seconds =>
            at_most(Timeouts::default().first_chunk.as_secs());
        /// The time limit of a pause in the answer.
        idle_chunk_timeout_seconds: Option<NonZeroU64>, in seconds =>
            at_most(Timeouts::default().idle_chunk.as_secs());
        /// The time limit of one reply.
        total_timeout_seconds: Option<NonZeroU64>, in seconds =>
            at_most(Timeouts::default().total.as_secs());
        /// The maximum number of retries after a transient failure.
        retries: Option<u32> => at_most(RetryPolicy::default().retries);
    }
}

values!(SendSettings);

/// Returns the schema of `kind` of a `[[provider]]`.
fn provider_kind(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Preset::all().map(|preset| preset.name).collect();
    json_schema!({ "enum": names })
}

/// Demands what a `[[provider]]` asks for.
pub(super) fn demand(raw: &RawProvider, _: &str, review: &mut Review<'_>) {
    let name = quoted(raw.name.as_deref().unwrap_or_default());
    raw.demand_keys(&format!("the [[provider]] {name}"), review);
}

/// A provider as it is configured. Its key is not read yet: listing sessions needs none.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// The name before the colon of `--model NAME:MODEL`.
    pub name: String,
    /// The service that it is, with its wire format.
    pub preset: Preset,
    /// The capabilities of its models.
    pub capabilities: Capabilities,
    /// When a request is retried.
    pub retry: RetryPolicy,
    timeouts: Timeouts,
    /// As it is configured; absent for the provider's own.
    base_url: Option<String>,
    /// Absent where none is configured; not every server needs one.
    key: Option<ValueSource>,
    key_header: Option<String>,
    headers: Headers,
    query: Vec<(String, SecretString)>,
    network: NetworkConfig,
    /// Its section in messages, such as "under [openai-compat]".
    section: String,
    /// True if the configuration has its section.
    has_section: bool,
}

impl ProviderConfig {
    /// Resolves the section of a provider's own service, with the environment for absent keys.
    /// `window_tokens` is the configured window.
    pub(super) fn resolve(
        provider: Provider,
        raw: Option<&RawProvider>,
        window_tokens: Option<u64>,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let name = provider.name();
        let key = raw.and_then(|raw| {
            let name = raw.name.as_ref().map(|_| "name");
            name.or(raw.kind.as_ref().map(|_| "kind"))
        });
        if let Some(key) = key {
            return Err(config_error!(
                &format!("{name}.{key}"),
                "`{key}` cannot be used under [{name}], which is the provider `{name}` itself",
                "remove it, or write the section as [[provider]] with `name` and `kind`"
            ));
        }
        Self::of_preset(Preset::for_provider(provider), raw, window_tokens, scope)
    }

    /// Resolves a service without a `[[provider]]`, or the section of a provider's own service.
    pub(super) fn of_preset(
        preset: Preset,
        raw: Option<&RawProvider>,
        window_tokens: Option<u64>,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let section = if preset.is_own() {
            format!("under [{}]", preset.name)
        } else {
            format!("of a [[provider]] `{}`", preset.name)
        };
        let absent = RawProvider::default();
        let section = Section {
            name: preset.name,
            of: section,
            has_section: raw.is_some(),
            raw: raw.unwrap_or(&absent),
        };
        let resolved = section.resolve(preset, window_tokens, scope);
        resolved.map_err(|error| error.within(preset.name))
    }

    /// Resolves a `[[provider]]`.
    pub(super) fn named(
        raw: &RawProvider,
        window_tokens: Option<u64>,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let name = raw.name.as_deref().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let shown = name.escape_debug();
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_name) {
            return Err(config_error!(
                "name",
                "invalid [[provider]] name `{shown}`",
                "write `name` with at most {MAX_NAME_BYTES} of a-z, 0-9, `-`, `_` and `.`"
            ));
        }
        if Provider::from_name(name).is_some() || RESERVED_NAMES.contains(&name) {
            return Err(config_error!(
                "name",
                "`{shown}` is built in, so a [[provider]] cannot have that name",
                "choose another name, or set the keys under [{shown}] if it is a provider"
            )
            .with_value(name));
        }
        let kind = raw.kind.as_deref().unwrap_or_default();
        let Some(preset) = Preset::from_name(kind) else {
            let known: Vec<&str> = Preset::all().map(|preset| preset.name).collect();
            let shown = kind.escape_debug();
            let reason = format!("unknown [[provider]] `kind` `{shown}`");
            let fix = advice(kind, &known, "there are");
            return Err(ConfigError::new("kind", reason, fix).with_value(kind));
        };
        let section = Section {
            name,
            of: format!("of the [[provider]] `{name}`"),
            has_section: true,
            raw,
        };
        section.resolve(preset, window_tokens, scope)
    }

    /// Reads the key and headers, which may open files or run commands, and takes up to a minute
    /// each. Dropping
    /// the future ends the command.
    ///
    /// # Errors
    /// No base URL is known, or the key is not where it should be.
    pub async fn open(&self) -> Result<Endpoint, ConfigError> {
        let (name, section) = (&self.name, &self.section);
        let base_url = self.base_url().ok_or_else(|| {
            let variable = match self.preset.is_own() {
                true => format!(
                    ", or the variable {},",
                    self.preset.provider.base_url_variable()
                ),
                false => String::new(),
            };
            config_error!(
                &format!("{name}.base-url"),
                "no address is set for the model server of `{name}`",
                "set `base-url` {section} in agent.toml{variable} to an address like \
                 http://127.0.0.1:11434/v1"
            )
        })?;
        let key = match &self.key {
            Some(source) => Some(source.read().await?),
            // Another server than the service's own may want none.
            None if self.preset.wants_key && self.base_url.is_none() => {
                let variable = self.key_source();
                return Err(config_error!(
                    &format!("{name}.api-key"),
                    "there is no key for `{name}`",
                    "set the variable {variable}, or `api-key` {section} in agent.toml"
                ));
            }
            None => None,
        };
        Ok(Endpoint {
            base_url: base_url.to_owned(),
            key,
            key_source: self.key_source(),
            timeouts: self.timeouts,
            extras: RequestExtras {
                key_header: self.key_header.clone(),
                headers: headers::read(&self.headers).await?,
                query: self.query.clone(),
                proxy: self.network.open().await?,
            },
        })
    }

    /// Returns the address of its server, where one is known.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        let configured = self.base_url.as_deref();
        configured.or(self.preset.base_url)
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
        let variable = self.preset.key_variables.first();
        match &self.key {
            Some(source) => source.name(),
            None => (*variable.unwrap_or(&"api-key")).to_owned(),
        }
    }

    /// True if requests go to the service's own address.
    pub(super) fn has_default_address(&self) -> bool {
        self.base_url() == self.preset.base_url
    }

    /// Sends these headers, too, instead of those of the same names.
    pub(super) fn add_headers(&mut self, headers: &Headers) {
        self.headers.extend_from_slice(headers);
    }

    /// Returns the files with the key, headers and the proxy's address, which no guest may see.
    pub(super) fn key_files(&self) -> impl Iterator<Item = &Path> {
        let headers = self.headers.iter().filter_map(|(_, text)| text.source());
        let files = self.key.iter().chain(headers).filter_map(ValueSource::file);
        files.chain(self.network.file())
    }
}

/// The section of a provider.
struct Section<'a> {
    /// The name before the colon of `NAME:MODEL`.
    name: &'a str,
    /// The section in messages, such as "under [openai-compat]".
    of: String,
    /// True if the configuration has it.
    has_section: bool,
    raw: &'a RawProvider,
}

impl Section<'_> {
    /// Resolves the section, with the preset and the environment for absent keys.
    fn resolve(
        self,
        preset: Preset,
        window_tokens: Option<u64>,
        scope: Scope<'_>,
    ) -> Result<ProviderConfig, ConfigError> {
        let raw = self.raw;
        let environment = scope.environment;
        let key = match raw.api_key.as_deref() {
            Some(text) => Some(ValueSource::parse(
                text,
                "api-key",
                self.key_purpose(),
                scope,
            )?),
            None => key_variable(preset, environment)
                .map(|name| ValueSource::variable(name, self.key_purpose(), environment)),
        };
        let of_environment = || {
            let provider = preset.is_own().then_some(preset.provider)?;
            let mut variables = provider.base_url_variables();
            let text = variables.find_map(|name| environment.variable(name))?;
            let is_ollama = provider == Provider::Ollama;
            Some(if is_ollama {
                ollama_url(text)
            } else {
                text.to_owned()
            })
        };
        let default = preset.provider.capabilities();
        let retry = RetryPolicy::default();
        let headers = headers::resolve(&raw.headers, &self.of, check_header, scope)?;
        let query = raw.query.iter();
        let query = query.map(|(name, value)| (name.clone(), SecretString::from(value.as_str())));
        Ok(ProviderConfig {
            name: self.name.to_owned(),
            preset,
            capabilities: Capabilities {
                vision: raw.vision.unwrap_or(default.vision),
                documents: raw.documents.unwrap_or(default.documents),
                audio: raw.audio.unwrap_or(default.audio),
                files_in_results: raw.files_in_results.unwrap_or(default.files_in_results),
                parallel_calls: raw.parallel_calls.unwrap_or(default.parallel_calls),
                denied_is_error: raw.denied_is_error.unwrap_or(default.denied_is_error),
                max_output_tokens: raw.max_output_tokens.or(default.max_output_tokens),
                window_tokens,
                send: raw.send.unwrap_or_default().over(preset.send),
            },
            retry: RetryPolicy {
                retries: raw.retries.unwrap_or(retry.retries),
                ..retry
            },
            timeouts: timeouts(raw),
            base_url: raw.base_url.clone().or_else(of_environment),
            key,
            key_header: self.key_header(preset)?,
            headers,
            query: query.collect(),
            network: scope.network.clone(),
            section: self.of,
            has_section: self.has_section,
        })
    }

    fn key_purpose(&self) -> Purpose {
        Purpose::new("the model server's key", "api-key", self.of.as_str())
    }

    fn key_header(&self, preset: Preset) -> Result<Option<String>, ConfigError> {
        let of = &self.of;
        match &self.raw.key_header {
            Some(name) if !is_header_name(name) => Err(config_error!(
                "key-header",
                "`key-header` {of} is not a header name",
                "write it like `api-key`, or `authorization` for a bearer token",
            )),
            Some(name) => Ok(Some(name.clone())),
            None => Ok(preset.key_header.map(str::to_owned)),
        }
    }
}

/// Says why no model server can be sent this header.
pub(super) fn check_header(name: &str) -> Result<(), &'static str> {
    if is_header_name(name) && !is_reserved_header(name) {
        return Ok(());
    }
    Err(
        "it is not a header name, or the host sets it; put a key in `api-key`, and its header in `key-header`",
    )
}

/// Returns the first of the service's key variables that is set.
fn key_variable(preset: Preset, environment: &Environment) -> Option<&'static str> {
    let mut names = preset.key_variables.iter().copied();
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
