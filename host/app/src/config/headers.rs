//! `headers`: of model servers, of models and of MCP servers.

use super::{
    ConfigError,
    paths::Scope,
    problem::{config_error, key_path},
    source::{ConfigText, Purpose, ValueSource, names_secret},
};
use agent_host_mcp_client::check_header_value;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::{BTreeMap, HashSet};

/// Headers by name.
pub(super) type Headers = Vec<(String, ConfigText)>;

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
            let what = format!("cannot set the header `{shown}` {of}");
            Err(config_error!(&key, "{what}: {why}", "{fix}"))
        };
        if let Err(why) = check_name(name) {
            return refuse(why, "remove it");
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return refuse("it occurs twice", "remove one");
        }
        let text = if ValueSource::is_meant(text) {
            let purpose = Purpose::new(format!("the header `{shown}` {of}"), "headers", of);
            ConfigText::Source(ValueSource::parse(text, &key, purpose, scope)?)
        } else if names_secret(name) {
            let why = "its name says that it is a secret, which does not belong in a file that is shared and committed";
            let fix =
                "write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and change the exposed value)";
            return refuse(why, fix);
        } else if let Err(why) = check_header_value(text) {
            return refuse(why, "correct its value");
        } else {
            ConfigText::Literal(text.as_str().into())
        };
        headers.push((name.clone(), text));
    }
    Ok(headers)
}

/// Reads the values of headers.
pub(super) async fn read(
    headers: &[(String, ConfigText)],
) -> Result<Vec<(String, SecretString)>, ConfigError> {
    let mut read = Vec::with_capacity(headers.len());
    for (name, text) in headers {
        let value = text.read().await?;
        if let ConfigText::Source(source) = text {
            check_header_value(value.expose_secret()).map_err(|why| source.unusable(&why))?;
        }
        read.push((name.clone(), value));
    }
    Ok(read)
}
