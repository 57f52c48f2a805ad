//! The address, key and timeouts of a model server, as configured. Checks them; opens no
//! connection.

#[cfg(test)]
mod tests;

use crate::{provider::Provider, wire::KeyHeader};
use agent_host_http_client::{ProxySetting, is_loopback};
use agent_host_types::{
    model::{ModelError, ModelErrorKind},
    reason::Reason,
};
use reqwest::{Url, header::HeaderName};
use secrecy::SecretString;
use std::time::Duration;

/// A model server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The base URL, up to and including the API version, such as `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// The key; absent for a server that needs none.
    pub key: Option<SecretString>,
    /// The setting of the key, such as `OPENAI_COMPAT_API_KEY`. Error texts name it.
    pub key_source: String,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// The additions to every request.
    pub extras: RequestExtras,
}

/// The additions of one server to every request. Their values are in no URL, error text or
/// recording.
#[derive(Clone, Debug, Default)]
pub struct RequestExtras {
    /// The header with the key instead of that of the wire format: `authorization` for a bearer
    /// token, any other for the bare key.
    pub key_header: Option<String>,
    /// Headers, by name.
    pub headers: Vec<(String, SecretString)>,
    /// The parameters of the query, by name.
    pub query: Vec<(String, SecretString)>,
    /// The proxy of its requests.
    pub proxy: ProxySetting,
}

/// The headers that the transport and the host set, in lower case; those of the key and of each
/// wire format are refused besides.
const RESERVED_HEADERS: [&str; 17] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// True if the host sets this header itself for some provider, in any case of letters.
#[must_use]
pub fn is_reserved_header(name: &str) -> bool {
    let of_wires = Provider::ALL.into_iter().flat_map(|provider| {
        let wire = provider.wire();
        let key = match wire.key_header {
            KeyHeader::Named(name) => Some(name),
            KeyHeader::Bearer => None,
        };
        wire.headers.iter().map(|(name, _)| *name).chain(key)
    });
    RESERVED_HEADERS
        .into_iter()
        .chain(of_wires)
        .any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// True if this can be the name of a header.
#[must_use]
pub fn is_header_name(name: &str) -> bool {
    HeaderName::try_from(name).is_ok()
}

/// The timeouts of a model server. Each wait has its own, since two minutes are normal for loading
/// a model but not for connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// From the request to the first bytes of the response body; a local server loads its model in
    /// this time.
    pub first_chunk: Duration,
    /// Between two pieces of a response.
    pub idle_chunk: Duration,
    /// For one reply in all, retries and waits included.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_chunk: Duration::from_secs(300),
            idle_chunk: Duration::from_secs(120),
            total: Duration::from_secs(1_800),
        }
    }
}

/// Why an endpoint cannot be used. The text quotes no key, user name, password or query.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The base URL cannot be used.
    #[error(
        "The base URL of the model server {0}. Set it to the server's address including the API version, such as \
         `http://127.0.0.1:11434/v1`."
    )]
    BaseUrl(#[from] Reason),
    /// The key of this setting cannot be sent in a header.
    #[error(
        "The key in {0} contains characters that cannot be sent. Set {0} to only the key, on one line."
    )]
    Key(String),
    /// This header of the configuration cannot be sent.
    #[error(
        "The header `{}` for the model server cannot be sent: its name or value contains characters that are not \
         allowed in headers. Correct `headers` or `key-header` in agent.toml.",
        .0.escape_debug()
    )]
    Header(String),
    /// The HTTP client cannot be built.
    #[error(transparent)]
    Client(ModelError),
}

impl From<EndpointError> for ModelError {
    fn from(error: EndpointError) -> Self {
        let kind = match error {
            EndpointError::BaseUrl(_) | EndpointError::Header(_) => ModelErrorKind::InvalidRequest,
            EndpointError::Key(_) => ModelErrorKind::Unauthorized,
            EndpointError::Client(error) => return error,
        };
        Self::new(kind, error.to_string())
    }
}

/// True if a base URL is a loopback address, so that requests do not leave this machine. False for
/// an invalid URL.
#[must_use]
pub fn is_on_this_machine(base_url: &str) -> bool {
    Url::parse(base_url.trim()).is_ok_and(|url| is_loopback(&url))
}

impl Endpoint {
    /// Appends a path and query, which begin without a slash, to the base URL.
    ///
    /// # Errors
    /// The base URL cannot be used.
    pub(crate) fn url(&self, path: &str) -> Result<Url, Reason> {
        let base = self.base_url.trim();
        if base.is_empty() {
            return Err("is empty".into());
        }
        let parse = |url: &str| Url::parse(url).map_err(|error| format!("is not a URL ({error})"));
        let url = parse(base)?;
        if !url.username().is_empty() || url.password().is_some() {
            let key = &self.key_source;
            return Err(Reason::from(format!(
                "contains a user name or a password; a key belongs in {key}"
            )));
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err("does not begin with http:// or https://".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("contains a `?` or a `#`".into());
        }
        let joined = format!("{}/{path}", url.as_str().trim_end_matches('/'));
        Ok(parse(&joined)?)
    }
}

/// Returns an endpoint without a key.
#[cfg(test)]
pub(crate) fn test_endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        base_url: base_url.to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        timeouts: Timeouts::default(),
        extras: RequestExtras::default(),
    }
}
