//! `headers`: of model servers, of models and of MCP servers.

use super::{
    ConfigError,
    paths::Scope,
    problem::{config_error, key_path},
    source::{Purpose, Source, names_secret},
};
use agent_host_mcp_client::check_header_value;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::{BTreeMap, HashSet};

/// Headers by name.
pub(super) type Headers = Vec<(String, HeaderText)>;

/// The value of a configured header.
#[derive(Clone, Debug)]
pub(super) enum HeaderText {
    /// As it is written; it may be a secret all the same.
    Literal(SecretString),
    /// From a source.
    Source(Source),
}

impl HeaderText {
    /// Returns the source of a value that is not written in the configuration.
    pub(super) fn source(&self) -> Option<&Source> {
        match self {
            Self::Literal(_) => None,
            Self::Source(source) => Some(source),
        }
    }
}

/// Resolves headers. `of` names what sends them; `check_name` says why it cannot send one. Errors
/// do not repeat a value, which may be a secret.
pub(super) fn resolve(
    raw: &BTreeMap<String, String>,
    of: &str,
    check_name: impl Fn(&str) -> Result<(), &'static str>,
    scope: Scope<'_>,
) -> Result<Headers, ConfigError> {
    let mut names = HashSet::new();
    let mut headers = Headers::with_capacity(raw.len());
    for (name, text) in raw {
        let key = format!("headers.{}", key_path(name));
        let shown = name.escape_debug();
        let refuse = |why: &str, fix: &str| {
            let what = format!("the header `{shown}` {of} cannot be set");
            Err(config_error!(&key, "{what}: {why}", "{fix}"))
        };
        if let Err(why) = check_name(name) {
            return refuse(why, "remove it");
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return refuse("it is there twice", "remove one");
        }
        let kinds = ["env:", "file:", "cmd:"];
        let text = if kinds.iter().any(|kind| text.starts_with(kind)) {
            let purpose = Purpose {
                what: format!("the header `{shown}` {of}"),
                setting: "headers",
                of: of.to_owned(),
            };
            HeaderText::Source(Source::parse(text, &key, purpose, scope)?)
        } else if names_secret(name) {
            let why = "by its name it is a secret, which has no place in a file that is shared and committed";
            let fix = "write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and replace what was there)";
            return refuse(why, fix);
        } else if let Err(why) = check_header_value(text) {
            return refuse(why, "correct its value");
        } else {
            HeaderText::Literal(SecretString::from(text.as_str()))
        };
        headers.push((name.clone(), text));
    }
    Ok(headers)
}

/// Reads the values of headers.
pub(super) async fn read(
    headers: &[(String, HeaderText)],
) -> Result<Vec<(String, SecretString)>, ConfigError> {
    let mut read = Vec::with_capacity(headers.len());
    for (name, text) in headers {
        let value = match text {
            HeaderText::Literal(value) => value.clone(),
            HeaderText::Source(source) => {
                let value = source.read().await?;
                check_header_value(value.expose_secret()).map_err(|why| source.unusable(&why))?;
                value
            }
        };
        read.push((name.clone(), value));
    }
    Ok(read)
}
