//! Components that are not on this machine: in a registry, or at an address with its digest.

use crate::{PinnedUrl, Reference};
use agent_host_types::reason::Reason;
use std::{fmt, str::FromStr};

/// The beginnings of texts that are meant as a remote component, and not as a file.
const SCHEMES: [&str; 3] = ["oci://", "https://", "http://"];

/// Where a remote component is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Remote {
    /// In a registry.
    Registry(Reference),
    /// At an address.
    Url(PinnedUrl),
}

impl Remote {
    /// True if the text is meant as a remote component: it begins with `oci://`, `https://` or
    /// `http://`.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// True if the text names exactly one component, by a digest.
    #[must_use]
    pub fn is_by_digest(&self) -> bool {
        match self {
            Self::Registry(reference) => reference.digest().is_some(),
            Self::Url(_) => true,
        }
    }

    /// Returns host and name, as publishers are configured for, such as `ghcr.io/acme/resize`.
    #[must_use]
    pub fn repository(&self) -> String {
        match self {
            Self::Registry(reference) => reference.repository(),
            Self::Url(url) => format!("{}{}", url.host(), url.url().path()),
        }
    }

    /// Returns a name for the component: the last part of its own, without the ending `.wasm`. A
    /// dot, which names of tools do not have, becomes `-`.
    #[must_use]
    pub fn short_name(&self) -> String {
        let path = match self {
            Self::Registry(reference) => reference.name(),
            Self::Url(url) => url.url().path().trim_end_matches(".wasm"),
        };
        let last = path.rsplit('/').next().unwrap_or_default();
        last.replace('.', "-")
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => reference.fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

impl FromStr for Remote {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        match text.starts_with("http") {
            true => text.parse().map(Self::Url),
            false => text.parse().map(Self::Registry),
        }
    }
}

impl From<Reference> for Remote {
    fn from(reference: Reference) -> Self {
        Self::Registry(reference)
    }
}
