//! Newer versions of the components that were pulled from registries.

use crate::{
    config::{ComponentSource, Config},
    distribution::connect,
    error::HostError,
    lock_file::LockFile,
    packages::{open_blobs, registry_error},
};
use agent_host_registry::{Reference, Remote, Resolved, newer_tag, parse_version};
use agent_host_types::{
    id::Digest,
    lock::{Lock, LockedOrigin},
    reason::Reason,
};
use futures_util::{StreamExt as _, stream};
use std::cmp::Ordering;

/// The annotation with the version of a component.
const VERSION: &str = "org.opencontainers.image.version";

/// The maximum of registries' answers that are waited for at once.
const MAX_CONCURRENT: usize = 8;

/// A component of a registry beside what its registry has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryStatus {
    /// Its name in the configuration.
    pub name: String,
    /// Its reference in the configuration.
    pub reference: Reference,
    /// The pinned manifest; absent if it was never accepted.
    pub pinned: Option<Version>,
    /// The manifest that the tag names now, or why it is not known.
    pub current: Result<Version, Reason>,
    /// The tag of the newest version after the reference's own, if its tag is a version. It is text
    /// of the registry.
    pub newer_tag: Option<String>,
}

/// A manifest, and the version that it says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The version. It is text of the publisher.
    pub version: Option<String>,
}

impl RegistryStatus {
    /// True if the tag names something else than what is pinned.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        match (&self.pinned, &self.current) {
            (Some(pinned), Ok(current)) => pinned.manifest != current.manifest,
            (None, _) | (_, Err(_)) => false,
        }
    }
}

impl Version {
    fn of(resolved: &Resolved) -> Self {
        Self {
            manifest: resolved.digest,
            version: resolved.manifest.annotations.get(VERSION).cloned(),
        }
    }

    /// True if `next` is an older version than this one, or says no more which version it is.
    /// Versions are compared by [their specification](https://semver.org); others are not older.
    #[must_use]
    pub fn is_downgrade(&self, next: &Self) -> bool {
        match (self.version.as_deref(), next.version.as_deref()) {
            (None, _) => false,
            (Some(own), None) => parse_version(own).is_some(),
            (Some(own), Some(next)) => match (parse_version(own), parse_version(next)) {
                (Some(own), Some(next)) => next.cmp_precedence(&own) == Ordering::Less,
                (Some(_), None) => true,
                (None, _) => false,
            },
        }
    }
}

/// Returns the components from registries, each with its name in the configuration.
pub fn registry_components(config: &Config) -> impl Iterator<Item = (&str, &Reference)> {
    let tools = config.tools.iter().map(|tool| (&tool.name, &tool.source));
    let hooks = config.hooks.iter().map(|hook| (&hook.name, &hook.source));
    tools
        .chain(hooks)
        .filter_map(|(name, source)| match source {
            ComponentSource::Remote(remote) => match remote.as_ref() {
                Remote::Registry(reference) => Some((name.as_str(), reference)),
                Remote::Url(_) => None,
            },
            ComponentSource::Builtin(_) | ComponentSource::File(_) => None,
        })
}

/// Asks the registries what they have of the configured components now. Pulls no component.
///
/// # Errors
/// `agent.lock` or the cache cannot be read. That a registry does not answer is in its row.
pub async fn outdated(config: &Config) -> Result<Vec<RegistryStatus>, HostError> {
    let lock = LockFile::open(config)?.map_or_else(Lock::default, |file| file.lock);
    let asked = registry_components(config).map(|(name, reference)| {
        let pin = lock.tool.get(name).and_then(|it| it.registry.clone());
        status(config, name, reference, pin)
    });
    let rows: Vec<_> = stream::iter(asked).buffered(MAX_CONCURRENT).collect().await;
    rows.into_iter().collect()
}

async fn status(
    config: &Config,
    name: &str,
    reference: &Reference,
    pin: Option<LockedOrigin>,
) -> Result<RegistryStatus, HostError> {
    let pinned = match pin {
        None => None,
        Some(pin) => {
            let (blobs, _) = open_blobs(config)?;
            let kept = Resolved::kept(&reference.with_digest(pin.manifest), &blobs);
            let kept = kept.map_err(|source| registry_error(name, &source))?;
            let unknown = Version {
                manifest: pin.manifest,
                version: None,
            };
            Some(kept.as_ref().map_or(unknown, Version::of))
        }
    };
    let current = version_of(config, name, reference).await;
    let tags = match (&current, reference.tag().and_then(parse_version)) {
        (Ok(_), Some(_)) => tags(config, name, reference).await.unwrap_or_default(),
        _ => Vec::new(),
    };
    let newer_tag = newer_tag(reference.tag().unwrap_or_default(), &tags);
    Ok(RegistryStatus {
        name: name.to_owned(),
        reference: reference.clone(),
        pinned,
        current: current.map_err(|error| error.to_string().into()),
        newer_tag: newer_tag.map(str::to_owned),
    })
}

async fn tags(
    config: &Config,
    name: &str,
    reference: &Reference,
) -> Result<Vec<String>, HostError> {
    let client = connect(config, reference).await?;
    let tags = client.tags(reference).await;
    tags.map_err(|source| registry_error(name, &source))
}

/// Returns the manifest that a reference names, and its version. `name` is for messages.
///
/// # Errors
/// It cannot be read.
pub async fn version_of(
    config: &Config,
    name: &str,
    reference: &Reference,
) -> Result<Version, HostError> {
    let fault = |source| registry_error(name, &source);
    let (blobs, _) = open_blobs(config)?;
    if let Some(kept) = Resolved::kept(reference, &blobs).map_err(fault)? {
        return Ok(Version::of(&kept));
    }
    let client = connect(config, reference).await?;
    let resolved = client.resolve(reference, &blobs).await.map_err(fault)?;
    Ok(Version::of(&resolved))
}

#[cfg(test)]
mod tests {
    use super::{Digest, Version};
    use pretty_assertions::assert_eq;

    #[test]
    fn older_or_missing_version_is_a_downgrade() {
        let version = |text: Option<&str>| Version {
            manifest: Digest::of(b""),
            version: text.map(str::to_owned),
        };
        let cases = [
            (Some("1.2.0"), Some("1.2.0"), false),
            (Some("1.2.0"), Some("1.10.0"), false),
            (Some("1.10.0"), Some("1.9.0"), true),
            (Some("v2.0.0"), Some("1.0.0"), true),
            (Some("2.0.0"), Some("2.0.0-rc.1"), true),
            (Some("1.0.0+a"), Some("1.0.0+b"), false),
            (Some("1.0.0"), None, true),
            (Some("1.0.0"), Some("newest"), true),
            (Some("nightly"), Some("1.0.0"), false),
            (None, Some("0.1.0"), false),
            (None, None, false),
        ];
        for (own, next, expected) in cases {
            let found = version(own).is_downgrade(&version(next));
            assert_eq!(found, expected, "{own:?} {next:?}");
        }
    }
}
