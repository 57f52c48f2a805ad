//! Headers and login settings of a server with an address.

use super::raw::RawOAuth;
use crate::{
    config::{
        ConfigError,
        headers::{self, Headers},
        paths::Scope,
        problem::config_error,
        source::{Purpose, ValueSource},
    },
    login_file::LoginFile,
};
use agent_host_mcp_client::{LoginTokens, OAuth, check_header_name};
use std::{collections::BTreeMap, num::NonZeroU16, path::Path, sync::Arc};

/// How to log in to a server.
#[derive(Clone, Debug)]
pub(super) struct OAuthSettings {
    client_id: Option<String>,
    pub(super) client_secret: Option<ValueSource>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
    redirect_port: Option<u16>,
    assume_pkce: bool,
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
            assume_pkce: self.assume_pkce,
            store: Arc::new(LoginFile::new(state_dir, url)),
            tokens: LoginTokens::default(),
        })
    }
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
            "invalid `{key}` of the MCP server `{server}`: {why}",
            "{fix}"
        ))
    };
    if raw.client_secret.is_some() && raw.client_id.is_none() {
        let why = "it needs a `client-id`";
        return refuse("client-secret", why, "set that, too");
    }
    let is_document = |url: &str| {
        let path = url.strip_prefix("https://");
        path.and_then(|rest| rest.split_once('/'))
            .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty())
    };
    if let Some(url) = &raw.client_metadata_url
        && !is_document(url)
    {
        let why = "it is not the `https://` URL of a document";
        return refuse("client-metadata-url", why, "write the full address");
    }
    let of = format!("of the MCP server `{server}`");
    let purpose = Purpose::new(format!("the client secret {of}"), "client-secret", of);
    let client_secret = raw.client_secret.as_deref();
    let client_secret = client_secret
        .map(|text| ValueSource::parse(text, "client-secret", purpose, scope))
        .transpose()?;
    Ok(OAuthSettings {
        client_id: raw.client_id,
        client_secret,
        client_metadata_url: raw.client_metadata_url,
        scopes: raw.scopes,
        redirect_port: raw.redirect_port.map(NonZeroU16::get),
        assume_pkce: raw.assume_pkce,
    })
}

/// Resolves the headers of a server with an address. `has_token` is true if `Authorization` is the
/// token's.
pub(super) fn resolve_headers(
    server: &str,
    raw: &BTreeMap<String, String>,
    has_token: bool,
    scope: Scope<'_>,
) -> Result<Headers, ConfigError> {
    let check_name = |name: &str| match check_header_name(name) {
        Ok(()) if has_token && name.eq_ignore_ascii_case("authorization") => {
            Err("`token` is sent in the same header; set only one of them")
        }
        checked => checked,
    };
    headers::resolve(
        raw,
        &format!("of the MCP server `{server}`"),
        check_name,
        scope,
    )
}
