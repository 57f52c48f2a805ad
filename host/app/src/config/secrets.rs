//! Secrets of tools: `[[secret]]` says where each is and to which server it may be sent; `secrets =
//! [..]` of a tool or of `[grants]`, and `--grant secret:NAME`, say which tools may use it. A
//! secret without a grant is never read.

use super::{
    ConfigError,
    hints::nearest,
    http_grants,
    lists::{check_name, check_unique},
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    section::section,
    source::{Purpose, ValueSource},
};
use agent_host_engine::policy::{AddressClass, SecretGrant, classify};
use agent_host_sandbox::Secrets;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    net::IpAddr,
    path::Path,
};

section! {
    /// `[[secret]]`.
    #[derive(Eq)]
    pub struct SecretSection {
        /// The name in `secret://NAME`.
        name: String => together;
        /// `env:NAME`, `file:PATH` or `cmd:COMMAND`.
        from [Source]: String => together;
        /// `SCHEME://HOST[:PORT]`, the only server that gets it.
        audience: String => together;
        /// True if it may also be used in a query.
        #[serde(default)]
        in_query: bool => together;
    }
}

/// Demands a secret.
pub(super) fn demand(raw: &SecretSection, _: &str, review: &mut Review<'_>) {
    if !review.is_offline() {
        let query = if raw.in_query { ", in queries too" } else { "" };
        let (name, from, audience) = (quoted(&raw.name), quoted(&raw.from), quoted(&raw.audience));
        review.demand(
            Danger::reading(&raw.from, Danger::Private),
            format!("reads the secret {name} from {from} and sends it to {audience}{query}"),
        );
    }
}

/// Demands the use of the secret of this name.
pub(super) fn demand_use(name: &str, who: &str, review: &mut Review<'_>) {
    if !review.is_offline() {
        let name = quoted(name);
        review.demand(Danger::Private, format!("lets {who} use the secret {name}"));
    }
}

/// A configured secret that is not read yet.
#[derive(Clone, Debug)]
pub(super) struct SecretConfig {
    /// The grant that tools get.
    grant: SecretGrant,
    source: ValueSource,
}

impl SecretConfig {
    /// Returns the file that it is in, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source.file()
    }
}

/// Reads the secrets of these names.
pub(super) async fn read(
    secrets: &[SecretConfig],
    names: &BTreeSet<&str>,
) -> Result<Secrets, ConfigError> {
    let mut values = BTreeMap::new();
    for secret in secrets {
        if names.contains(secret.grant.name.as_str()) {
            let value = secret.source.read().await?;
            Secrets::check(&value).map_err(|error| secret.source.unusable(&error))?;
            values.insert(secret.grant.name.clone(), value);
        }
    }
    Secrets::new(values).map_err(|error| {
        let reason = format!("cannot use the secrets: {error}");
        ConfigError::new("secret", reason, "grant fewer of them")
    })
}

/// Resolves `[[secret]]`. Nothing is read from their sources.
pub(super) fn resolve(
    raw: Vec<SecretSection>,
    scope: Scope<'_>,
) -> Result<Vec<SecretConfig>, ConfigError> {
    let mut names = HashSet::new();
    resolve_all("secret", raw, |raw| {
        let (name, written) = (raw.name, raw.audience);
        check_name(&name, "the name `", "` of a secret", "[[secret]]")?;
        check_unique(&mut names, &name, "secrets", &format!("`secret://{name}`"))?;
        let what = format!("the secret `{name}`");
        let purpose = Purpose::new(what.as_str(), "from", format!("of {what}"));
        resolve_steps! {
            server = audience(&name, &written);
            source = ValueSource::parse(&raw.from, "from", purpose, scope);
        }
        let (scheme, host, port) = server;
        let grant = SecretGrant {
            name,
            scheme,
            host,
            port,
            in_query: raw.in_query,
        };
        Ok(SecretConfig { grant, source })
    })
}

/// Resolves the names in the list `secrets` to grants. `place` is the list in messages, such as
/// "[grants]".
pub(super) fn granted(
    secrets: &[SecretConfig],
    names: Vec<String>,
    place: &str,
) -> Result<Vec<SecretGrant>, ConfigError> {
    let mut grants = Vec::new();
    resolve_all("secrets", names, |name| {
        add(&mut grants, secrets, "", &name, place)
    })?;
    Ok(grants)
}

/// Adds the grant of one secret by its name, once.
pub(super) fn add(
    grants: &mut Vec<SecretGrant>,
    secrets: &[SecretConfig],
    key: &str,
    name: &str,
    place: &str,
) -> Result<(), ConfigError> {
    let all = || secrets.iter().map(|secret| &secret.grant);
    let Some(grant) = all().find(|grant| grant.name == name) else {
        let known: Vec<&str> = all().map(|grant| grant.name.as_str()).collect();
        let shown = name.escape_debug();
        let fix = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it, with its source and the server that may receive it".to_owned(),
        };
        return Err(config_error!(
            key,
            "the secret `{shown}` is granted in {place}, but there is no [[secret]] with this name",
            "{fix}"
        )
        .with_value(name));
    };
    if !grants.contains(grant) {
        grants.push(grant.clone());
    }
    Ok(())
}

/// Returns scheme, host and port of the only server that gets the secret.
fn audience(name: &str, written: &str) -> Result<(String, String, u16), ConfigError> {
    let refuse = |why: &str| {
        let shown = written.escape_debug();
        config_error!(
            "audience",
            "invalid audience `{shown}` of the secret `{name}`: {why}",
            "write it like `https://api.example.com` or `https://api.example.com:8443`"
        )
        .with_value(written)
    };
    // In the syntax of a grant, but complete and of one server.
    let grant = http_grants::from_argument(written);
    let grant = grant.map_err(|error| refuse(&error.to_string()))?;
    let Some(scheme) = grant.scheme else {
        return Err(refuse("it does not start with `https://`"));
    };
    let host = grant.host;
    if host.contains('*') || !grant.methods.is_empty() || grant.path_prefix.is_some() {
        return Err(refuse(
            "it must name one whole server, without wildcard, method or path",
        ));
    }
    // The route to a name crosses networks of others. Addresses that are not public stay on this
    // machine or its network.
    let is_near = |host: &str| {
        host.parse::<IpAddr>()
            .is_ok_and(|address| classify(address) != AddressClass::Public)
    };
    if scheme == "http" && !is_near(&host) {
        return Err(refuse(
            "the secret would be sent unencrypted; `http://` is only for addresses of this machine and its network, such as \
             `http://127.0.0.1:8080`",
        ));
    }
    let port = grant
        .port
        .unwrap_or(if scheme == "https" { 443 } else { 80 });
    Ok((scheme, host, port))
}
