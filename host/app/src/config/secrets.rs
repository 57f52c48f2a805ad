//! Secrets for tools: `[[secret]]` says where each is and to whom it may be sent; `secrets = [..]` of a tool or of `[grants]`
//! and `--grant secret:NAME` say who may use it. One that is granted to nobody is never read.

use super::{
    Config, ConfigError, Environment, RawSecret, http_grants,
    parse::nearest,
    source::{Purpose, Source},
};
use agent_host_engine::policy::{AddressClass, HttpGrant, SecretGrant, classify};
use agent_host_sandbox::Secrets;
use agent_host_types::tool::is_tool_name;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::Path,
};

/// A configured secret, before it was needed.
#[derive(Clone, Debug)]
pub(super) struct SecretConfig {
    /// What a tool gets that is granted it.
    grant: SecretGrant,
    source: Source,
}

impl SecretConfig {
    /// The file that it is in, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source.file()
    }
}

impl Config {
    /// Reads the secrets of these names, each from its source, which may open files and run commands. Dropping the future ends a
    /// command.
    ///
    /// # Errors
    /// One of them is not where it should be, or cannot be sent or found again.
    pub async fn read_secrets(&self, names: &BTreeSet<&str>) -> Result<Secrets, ConfigError> {
        let mut values = BTreeMap::new();
        for secret in &self.secrets {
            if names.contains(secret.grant.name.as_str()) {
                let value = secret.source.read().await?;
                Secrets::check(&value).map_err(|error| secret.source.unusable(&error))?;
                values.insert(secret.grant.name.clone(), value);
            }
        }
        Secrets::new(values).map_err(|error| {
            ConfigError::new(format!(
                "the secrets cannot be used: {error}; grant fewer of them"
            ))
        })
    }
}

/// The secrets of the configuration. Nothing is read from their sources.
pub(super) fn from_raw(
    raw: Vec<RawSecret>,
    base: &Path,
    environment: &Environment,
) -> Result<Vec<SecretConfig>, ConfigError> {
    let mut secrets = Vec::<SecretConfig>::new();
    for raw in raw {
        let RawSecret {
            name,
            from,
            audience: written,
            in_query,
        } = raw;
        if !is_tool_name(&name) {
            return Err(ConfigError::new(format!(
                "the name `{}` of a secret cannot be used: names have 1 to 64 letters of A to Z, digits, `_` and `-`; \
                 change `name` under [[secret]]",
                name.escape_debug()
            )));
        }
        if secrets.iter().any(|secret| secret.grant.name == name) {
            return Err(ConfigError::new(format!(
                "two secrets have the name `{name}`, and `secret://{name}` could not tell them apart; change `name` of one"
            )));
        }
        let (scheme, host, port) = audience(&name, &written)?;
        let purpose = Purpose {
            what: format!("the secret `{name}`"),
            setting: "from",
            of: format!("of the secret `{name}`"),
        };
        let source = Source::parse(&from, purpose, base, environment)?;
        let grant = SecretGrant {
            name,
            scheme,
            host,
            port,
            in_query,
        };
        secrets.push(SecretConfig { grant, source });
    }
    Ok(secrets)
}

/// The grants of secrets by their names. `place` is where the names stand, such as "[grants]".
pub(super) fn granted(
    secrets: &[SecretConfig],
    names: &[String],
    place: &str,
) -> Result<Vec<SecretGrant>, ConfigError> {
    let mut grants = Vec::new();
    for name in names {
        add(&mut grants, secrets, name, place)?;
    }
    Ok(grants)
}

/// Adds the grant of one secret by its name, once.
pub(super) fn add(
    grants: &mut Vec<SecretGrant>,
    secrets: &[SecretConfig],
    name: &str,
    place: &str,
) -> Result<(), ConfigError> {
    let all = || secrets.iter().map(|secret| &secret.grant);
    let Some(grant) = all().find(|grant| grant.name == name) else {
        let known: Vec<&str> = all().map(|grant| grant.name.as_str()).collect();
        let advice = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it, with where it is and to whom it may be sent".to_owned(),
        };
        return Err(ConfigError::new(format!(
            "the secret `{}` is granted in {place}, and there is no [[secret]] of this name; {advice}",
            name.escape_debug()
        )));
    };
    if !grants.contains(grant) {
        grants.push(grant.clone());
    }
    Ok(())
}

/// Scheme, host and port of the only server that gets the secret.
fn audience(name: &str, written: &str) -> Result<(String, String, u16), ConfigError> {
    let refuse = |why: &str| {
        ConfigError::new(format!(
            "the audience `{}` of the secret `{name}` cannot be used: {why}; write it like `https://api.example.com` or \
             `https://api.example.com:8443`",
            written.escape_debug()
        ))
    };
    // The same spelling as a grant's, but complete and of one server.
    let HttpGrant {
        scheme,
        host,
        port,
        methods,
        path_prefix,
    } = http_grants::from_argument(written).map_err(|error| refuse(&error.to_string()))?;
    let Some(scheme) = scheme else {
        return Err(refuse("it does not begin with `https://`"));
    };
    if host.contains('*') || !methods.is_empty() || path_prefix.is_some() {
        return Err(refuse(
            "it is the whole of one server: no wildcard, method or path",
        ));
    }
    // The way to a name leads over networks of others. Addresses that are not public do not leave this machine or its network.
    let near = |host: &str| {
        host.parse::<IpAddr>()
            .is_ok_and(|address| classify(address) != AddressClass::Public)
    };
    if scheme == "http" && !near(&host) {
        return Err(refuse(
            "the secret would be sent unencrypted; `http://` is only for addresses of this machine and its network, such as \
             `http://127.0.0.1:8080`",
        ));
    }
    let port = port.unwrap_or(if scheme == "https" { 443 } else { 80 });
    Ok((scheme, host, port))
}
