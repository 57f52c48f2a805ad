//! The keys whose signatures count for components of a registry: `[[publisher]]`.

#[cfg(test)]
mod tests;

use super::{
    ConfigError,
    lists::{check_name, check_unique},
    network::NetworkConfig,
    paths::Scope,
    problem::{config_error, resolve_all},
    review::{Danger, Review, all_quoted, quoted},
    section::{section, values},
};
use crate::trusted_file::{self, FileError};
use agent_host_registry::{ClientConfig, CredentialSource, PublicKey, Reference, Remote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, path::PathBuf};

/// The maximum size of the file of a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 * 1024;

section! {
    /// `[[publisher]]`.
    #[derive(Eq)]
    pub(super) struct RawPublisher {
        /// The name in messages.
        name: String => together;
        /// The components: `HOST/NAME`, `HOST/PREFIX/*`, `HOST/*`, or `*` for all.
        components: Vec<String> => together;
        /// The files of the public keys, one of which must have signed.
        #[serde(default)]
        keys [Path]: Vec<String> => together;
        /// Whether a signature is needed.
        #[serde(default)]
        accept: RawAccept => together;
    }
}

values!(RawAccept);

/// Demands every publisher: it decides which components count as signed.
pub(super) fn demand(raw: &RawPublisher, _: &str, review: &mut Review<'_>) {
    let (who, which, keys) = (
        quoted(&raw.name),
        all_quoted(&raw.components),
        all_quoted(&raw.keys),
    );
    for key in &raw.keys {
        review.reach(key);
    }
    review.demand(
        Danger::Unchecked,
        match raw.accept {
            RawAccept::Signed => {
                format!("accepts {which} if signed by {who} with the keys in {keys}")
            }
            RawAccept::Digest => format!("accepts {which} from {who} without a signature"),
            RawAccept::None => format!("refuses {which} from {who}"),
        },
    );
}

/// `accept`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawAccept {
    /// A component that one of `keys` signed.
    #[default]
    Signed,
    /// A component that the user accepted by its digest.
    Digest,
    /// No component.
    None,
}

/// How components from registries are pulled, and which of them are accepted.
#[derive(Clone, Debug)]
pub(crate) struct RegistriesConfig {
    pub(crate) publishers: Vec<Publisher>,
    pub(super) network: NetworkConfig,
    pub(super) credentials: CredentialSource,
}

impl RegistriesConfig {
    /// Reads the address of the proxy, and returns the settings of a client.
    ///
    /// # Errors
    /// It is not where it should be, or is not an address.
    pub(crate) async fn open(&self) -> Result<ClientConfig, ConfigError> {
        Ok(ClientConfig {
            proxy: self.network.open().await?,
            credentials: self.credentials.clone(),
        })
    }

    /// Returns the files that no guest may reach: keys, and credentials.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let keys = self.publishers.iter().flat_map(|it| &it.files);
        let credentials = self.credentials.docker_config.iter();
        keys.chain(credentials).cloned().collect()
    }
}

/// A publisher of components.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) name: String,
    patterns: Vec<String>,
    pub(crate) accepts: Accepts,
    /// The files of its keys, which no guest may change.
    pub(super) files: Vec<PathBuf>,
}

/// The components of a publisher that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Those that one of these keys signed.
    Signed(Vec<PublicKey>),
    /// Those that the user accepted by digest.
    Digest,
    /// None.
    None,
}

impl Publisher {
    /// True if a component is one of the publisher's.
    pub(crate) fn has(&self, remote: &Remote) -> bool {
        let repository = remote.repository();
        self.patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => repository.starts_with(prefix),
                None => *pattern == repository,
            })
    }
}

/// Resolves the publishers, and reads their keys.
///
/// # Errors
/// The publishers that cannot be used.
pub(super) fn resolve(
    raw: Vec<RawPublisher>,
    scope: Scope<'_>,
) -> Result<Vec<Publisher>, ConfigError> {
    let mut names = HashSet::new();
    resolve_all("publisher", raw, |raw| {
        check_name(&raw.name, "the publisher name `", "`", "[[publisher]]")?;
        check_unique(&mut names, &raw.name, "publishers", "messages")?;
        resolve_one(raw, scope)
    })
}

fn resolve_one(raw: RawPublisher, scope: Scope<'_>) -> Result<Publisher, ConfigError> {
    let name = raw.name;
    if let Some(wrong) = raw.components.iter().find(|pattern| !is_pattern(pattern)) {
        let shown = wrong.escape_debug();
        return Err(config_error!(
            "components",
            "`{shown}` of the publisher `{name}` does not name any components",
            "write `HOST/NAME`, `HOST/PREFIX/*`, `HOST/*` or `*`, without `oci://` and without a tag"
        )
        .with_value(wrong.as_str()));
    }
    if raw.components.is_empty() {
        return Err(config_error!(
            "components",
            "the publisher `{name}` has no components and would accept nothing",
            "add some, such as `ghcr.io/acme/*`"
        ));
    }
    let signed = raw.accept == RawAccept::Signed;
    if signed == raw.keys.is_empty() {
        let (why, fix) = match signed {
            true => (
                "accepts signed components but has no keys",
                "list the file of a public key in `keys`, or set `accept = \"digest\"`",
            ),
            false => (
                "has keys, but `accept` says that no signature is needed",
                "remove one of the two",
            ),
        };
        return Err(config_error!(
            "keys",
            "the publisher `{name}` {why}",
            "{fix}"
        ));
    }
    let mut files = Vec::new();
    let mut keys = Vec::new();
    for written in &raw.keys {
        let path = scope.resolve_path("keys", written)?;
        let shown = path.display();
        let text = trusted_file::read(&path, MAX_KEY_BYTES).map_err(|error| {
            let FileError { reason, fix, .. } = error;
            config_error!("keys", "cannot read the key {shown}: {reason}", "{fix}")
        })?;
        let key = text.parse::<PublicKey>().map_err(|error| {
            config_error!(
                "keys",
                "{shown} is not a public key: {error}",
                "name a file with a P-256 or Ed25519 key in PEM"
            )
        })?;
        keys.push(key);
        files.push(path);
    }
    Ok(Publisher {
        name,
        patterns: raw.components,
        accepts: match raw.accept {
            RawAccept::Signed => Accepts::Signed(keys),
            RawAccept::Digest => Accepts::Digest,
            RawAccept::None => Accepts::None,
        },
        files,
    })
}

/// True for `*`, or a repository whose last part may be `*`.
fn is_pattern(pattern: &str) -> bool {
    let repository = match pattern.strip_suffix('*') {
        Some("") => return true,
        // A part in its place, so that what is before it is checked.
        Some(prefix) if prefix.ends_with('/') => format!("{prefix}x"),
        Some(_) => return false,
        None => pattern.to_owned(),
    };
    let reference = format!("oci://{repository}").parse::<Reference>();
    reference.is_ok_and(|reference| reference.repository() == repository)
}
