//! Headers and login settings of a server with an address.

use super::names_secret;
use crate::{
    config::{
        ConfigError,
        paths::Scope,
        problem::config_error,
        raw::RawOAuth,
        source::{Purpose, Source},
    },
    login_file::LoginFile,
};
use agent_host_mcp_client::{LoginTokens, OAuth, check_header_name, check_header_value};
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::{BTreeMap, HashSet},
    num::NonZeroU16,
    path::Path,
    sync::Arc,
};

/// How to log in to a server.
#[derive(Clone, Debug)]
pub(super) struct OAuthSettings {
    client_id: Option<String>,
    pub(super) client_secret: Option<Source>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
    redirect_port: Option<u16>,
}

impl OAuthSettings {
    pub(super) async fn open(&self, url: &str, state_dir: &Path) -> Result<OAuth, ConfigError> {
        Ok(OAuth {
            client_id: self.client_id.clone(),
            client_secret: match &self.client_secret {
                Some(source) => Some(source.read().await?),
                None => None,
            },
            client_metadata_url: self.client_metadata_url.clone(),
            scopes: self.scopes.clone(),
            redirect_port: self.redirect_port,
            store: Arc::new(LoginFile::new(state_dir, url)),
            tokens: LoginTokens::default(),
        })
    }
}

/// The value of a header.
#[derive(Clone, Debug)]
pub(super) enum HeaderSource {
    Literal(String),
    Secret(Source),
}

/// Reads the values of headers.
pub(super) async fn read_headers(
    headers: &[(String, HeaderSource)],
) -> Result<Vec<(String, SecretString)>, ConfigError> {
    let mut read = Vec::new();
    for (name, value) in headers {
        let value = match value {
            HeaderSource::Literal(value) => SecretString::from(value.as_str()),
            HeaderSource::Secret(source) => {
                let value = source.read().await?;
                check_header_value(value.expose_secret()).map_err(|why| source.unusable(&why))?;
                value
            }
        };
        read.push((name.clone(), value));
    }
    Ok(read)
}

/// Resolves `[mcp.oauth]`.
pub(super) fn resolve_oauth(
    server: &str,
    raw: RawOAuth,
    scope: Scope<'_>,
) -> Result<OAuthSettings, ConfigError> {
    let refuse = |key, why: &str, fix: &str| {
        Err(config_error!(
            key,
            "`{key}` of the MCP server `{server}` cannot be used: {why}",
            "{fix}"
        ))
    };
    if raw.client_secret.is_some() && raw.client_id.is_none() {
        let why = "there is no `client-id` that it belongs to";
        return refuse("client-secret", why, "write it, too");
    }
    let is_document = |url: &str| {
        let path = url.strip_prefix("https://");
        path.and_then(|rest| rest.split_once('/'))
            .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty())
    };
    if let Some(url) = &raw.client_metadata_url
        && !is_document(url)
    {
        let why = "it is not the `https://` address of a document";
        return refuse("client-metadata-url", why, "write the whole address");
    }
    let purpose = Purpose {
        what: format!("the client secret of the MCP server `{server}`"),
        setting: "client-secret",
        of: format!("of the MCP server `{server}`"),
    };
    let client_secret = raw.client_secret.as_deref();
    let client_secret = client_secret
        .map(|text| Source::parse(text, "client-secret", purpose, scope))
        .transpose()?;
    Ok(OAuthSettings {
        client_id: raw.client_id,
        client_secret,
        client_metadata_url: raw.client_metadata_url,
        scopes: raw.scopes,
        redirect_port: raw.redirect_port.map(NonZeroU16::get),
    })
}

/// Resolves the headers of a server with an address. `has_token` is true if `Authorization` is the
/// token's.
pub(super) fn resolve_headers(
    server: &str,
    headers: BTreeMap<String, String>,
    has_token: bool,
    scope: Scope<'_>,
) -> Result<Vec<(String, HeaderSource)>, ConfigError> {
    let mut names = HashSet::new();
    let resolve_one = |(name, value): (String, String)| {
        let shown = name.escape_debug();
        let refuse = |why: &str, fix: &str| {
            Err(config_error!(
                "headers",
                "the header `{shown}` of the MCP server `{server}` cannot be set: {why}",
                "{fix}"
            ))
        };
        let lower = name.to_ascii_lowercase();
        if let Err(why) = check_header_name(&name) {
            return refuse(why, "remove it");
        }
        if has_token && lower == "authorization" {
            return refuse("`token` is sent in it", "write one of them");
        }
        if !names.insert(lower) {
            return refuse("it is there twice", "remove one");
        }
        let kinds = ["env:", "file:", "cmd:"];
        let value = if kinds.iter().any(|kind| value.starts_with(kind)) {
            let purpose = Purpose {
                what: format!("the header `{shown}` of the MCP server `{server}`"),
                setting: "headers",
                of: format!("of the MCP server `{server}`"),
            };
            HeaderSource::Secret(Source::parse(&value, "headers", purpose, scope)?)
        } else if names_secret(&name) {
            let why = "by its name it is a secret, which has no place in a file that is shared and committed";
            let fix = "write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and replace what was there)";
            return refuse(why, fix);
        } else if let Err(why) = check_header_value(&value) {
            return refuse(why, "correct its value");
        } else {
            HeaderSource::Literal(value)
        };
        Ok((name, value))
    };
    headers.into_iter().map(resolve_one).collect()
}
