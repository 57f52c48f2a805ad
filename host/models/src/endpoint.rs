//! Where a model server is and how long to wait for it. Checks what the configuration says; opens no connection.

#[cfg(test)]
mod tests;

use crate::http::is_loopback;
use agent_host_types::model::{ModelError, ModelErrorKind};
use reqwest::Url;
use secrecy::SecretString;
use std::time::Duration;

/// A model server as configuration names it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address up to and including the version, such as `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// The key; absent for a server that wants none.
    pub key: Option<SecretString>,
    /// Where a person sets the key, such as `OPENAI_COMPAT_API_KEY`. Error texts name it.
    pub key_source: String,
    /// How long to wait.
    pub timeouts: Timeouts,
}

/// How long to wait for a model server. Each wait has its own bound, since a model that loads for two minutes is well while
/// a connection that takes two minutes is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// From the request to the first bytes of the answer; a local server loads its model in this time.
    pub first_chunk: Duration,
    /// Between two pieces of an answer.
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

/// Whether a base URL is one of this machine, so that nothing that is sent there leaves it. What is no URL is none.
#[must_use]
pub fn is_on_this_machine(base_url: &str) -> bool {
    Url::parse(base_url.trim()).is_ok_and(|url| is_loopback(&url))
}

impl Endpoint {
    /// The address of one operation of the server. `path` begins without a slash.
    ///
    /// # Errors
    /// `invalid-request` where the base URL is not one; the text quotes no user name, password or query.
    pub(crate) fn url(&self, path: &str) -> Result<Url, ModelError> {
        const HINT: &str = "Set it to the server's address up to the version, such as `http://127.0.0.1:11434/v1`.";
        let refuse = |why: String| {
            let text = format!("The base URL of the model server {why}. {HINT}");
            ModelError::new(ModelErrorKind::InvalidRequest, text)
        };
        let base = self.base_url.trim();
        if base.is_empty() {
            return Err(refuse("is empty".to_owned()));
        }
        let url = Url::parse(base).map_err(|error| refuse(format!("is not a URL ({error})")))?;
        if !url.username().is_empty() || url.password().is_some() {
            let source = &self.key_source;
            return Err(refuse(format!(
                "holds a user name or a password; a key belongs in {source}"
            )));
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(refuse("does not begin with http:// or https://".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("has a `?` or a `#` in it".to_owned()));
        }
        let joined = format!("{}/{path}", url.as_str().trim_end_matches('/'));
        Url::parse(&joined).map_err(|error| refuse(format!("cannot be extended ({error})")))
    }
}
