//! Credentials for registries: from a variable, or from Docker's configuration, which is only read.

#[cfg(test)]
mod tests;

use crate::helper;
use agent_host_types::reason::Reason;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fmt::Display,
    fs::File,
    io::{self, Read as _},
    path::PathBuf,
};

/// The maximum size of Docker's configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// The name of Docker's own registry in its configuration.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// Where credentials are looked for; the first that has some for a registry counts.
#[derive(Clone, Debug, Default)]
pub struct CredentialSource {
    /// The value of a variable: `HOST=NAME:PASSWORD`, several with spaces between them.
    pub variable: Option<SecretString>,
    /// Docker's `config.json`, which may not exist.
    pub docker_config: Option<PathBuf>,
}

/// The name under which helpers return an identity token.
const IDENTITY_TOKEN: &str = "<token>";

/// The credentials for one registry.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) name: String,
    /// The password, or the identity token.
    pub(crate) secret: SecretString,
    /// True for an identity token: a refresh token of OAuth, which the issuer of tokens takes in
    /// place of name and password.
    pub(crate) is_identity_token: bool,
    /// Where they are from, for messages.
    pub(crate) source: String,
}

/// The reason for which the variable cannot be used.
const NOT_A_LIST: &str =
    "AGENT_HOST_REGISTRY_CREDENTIALS is not a list of `HOST=NAME:PASSWORD` separated by spaces";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DockerConfig {
    auths: BTreeMap<String, DockerAuth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerAuth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl CredentialSource {
    /// Returns the credentials for a registry, such as `ghcr.io`; absent if there are none.
    ///
    /// # Errors
    /// A source has another form, or a helper fails.
    pub(crate) async fn find(&self, registry: &str) -> Result<Option<Credentials>, Reason> {
        if let Some(found) = self.in_variable(registry)? {
            return Ok(Some(found));
        }
        let Some(config) = self.docker()? else {
            return Ok(None);
        };
        let server = match registry {
            "docker.io" | "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
            other => other,
        };
        let helper = config.cred_helpers.get(server);
        let helper = helper.or(Some(&config.creds_store).filter(|name| !name.is_empty()));
        if let Some(helper) = helper
            && let Some((name, password)) = helper::ask(helper, server).await?
        {
            return Ok(Some(Credentials {
                is_identity_token: name == IDENTITY_TOKEN,
                name,
                secret: password,
                source: format!("docker-credential-{helper}"),
            }));
        }
        let mut auths = config.auths.iter();
        let found = auths.find(|(key, _)| *key == server || host_of(key) == host_of(server));
        match found {
            None => Ok(None),
            Some((_, auth)) => self.of_auth(auth),
        }
    }

    fn in_variable(&self, registry: &str) -> Result<Option<Credentials>, Reason> {
        let Some(text) = &self.variable else {
            return Ok(None);
        };
        let mut found = None;
        for entry in text.expose_secret().split_ascii_whitespace() {
            let (host, pair) = entry.split_once('=').ok_or(NOT_A_LIST)?;
            let (name, password) = pair.split_once(':').ok_or(NOT_A_LIST)?;
            if host == registry && found.is_none() {
                found = Some(Credentials {
                    name: name.to_owned(),
                    secret: SecretString::from(password),
                    is_identity_token: false,
                    source: "AGENT_HOST_REGISTRY_CREDENTIALS".to_owned(),
                });
            }
        }
        Ok(found)
    }

    fn docker(&self) -> Result<Option<DockerConfig>, Reason> {
        let Some(path) = &self.docker_config else {
            return Ok(None);
        };
        let fault = |why: &dyn Display| Reason::from(format!("{}: {why}", path.display()));
        // Before it is opened: a pipe would block.
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(fault(&"it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(&error)),
        }
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| fault(&error))?;
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            let why = format!("it is longer than {MAX_CONFIG_BYTES} bytes");
            return Err(fault(&why));
        }
        // The text of the error would repeat what is in the file.
        let config = serde_json::from_slice(&bytes)
            .map_err(|_| fault(&"it is not a Docker configuration"))?;
        Ok(Some(config))
    }

    fn of_auth(&self, auth: &DockerAuth) -> Result<Option<Credentials>, Reason> {
        let source = self.docker_config.clone().unwrap_or_default();
        let source = source.display().to_string();
        let is_set = |text: &&String| !text.is_empty();
        if let Some(token) = auth.identitytoken.as_ref().filter(is_set) {
            return Ok(Some(Credentials {
                name: IDENTITY_TOKEN.to_owned(),
                secret: SecretString::from(token.as_str()),
                is_identity_token: true,
                source,
            }));
        }
        let pair = match auth.auth.as_ref().filter(is_set) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .and_then(|text| {
                    let (name, password) = text.split_once(':')?;
                    let password = password.trim_end_matches('\0');
                    Some((name.to_owned(), SecretString::from(password)))
                })
                .map(Some)
                .ok_or_else(|| {
                    format!("{source}: one of its `auth` values is not base64 of `NAME:PASSWORD`")
                })?,
            None => {
                let password = auth.password.clone().map(SecretString::from);
                auth.username.clone().zip(password)
            }
        };
        Ok(pair.map(|(name, secret)| Credentials {
            is_identity_token: name == IDENTITY_TOKEN,
            name,
            secret,
            source,
        }))
    }
}

impl Credentials {
    /// Returns the name of the user, if it is known.
    pub(crate) fn user_name(&self) -> Option<String> {
        (!self.is_identity_token).then(|| self.name.clone())
    }
}

/// Returns the host and port of a key of `auths`, which may be a URL.
fn host_of(key: &str) -> &str {
    let rest = key.strip_prefix("https://").unwrap_or(key);
    let rest = rest.strip_prefix("http://").unwrap_or(rest);
    rest.split('/').next().unwrap_or_default()
}
