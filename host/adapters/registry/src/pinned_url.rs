//! Addresses of components with their digests: `https://HOST/PATH#sha256=HEX`. The digest is what
//! such a component is known by; nothing else shows that it is the one that was meant.

#[cfg(test)]
mod tests;

use agent_host_http_client::is_loopback;
use agent_host_types::id::Digest;
use reqwest::Url;
use std::{fmt, str::FromStr};

/// The longest address, in bytes.
const MAX_BYTES: usize = 2048;

/// The key of the digest in the fragment.
const KEY: &str = "sha256=";

/// The address of a component, and the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinnedUrl {
    /// The address without the fragment.
    url: Url,
    digest: Digest,
}

/// Why a text is not such an address. The texts are the ends of sentences that begin with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinnedUrlError {
    /// It has a character outside printable ASCII, which may look like another one.
    #[error(
        "contains the character {} (U+{:04X}), which may look like another one; write the address in plain ASCII \
         letters",
        .0.escape_debug(), u32::from(*.0)
    )]
    Character(char),
    /// It is not an address of a file.
    #[error("is not an address; write `https://HOST/PATH#sha256=HEX`")]
    Form,
    /// It is not encrypted and not on this machine.
    #[error("is neither https nor on this machine")]
    Scheme,
    /// It has a user name or a password.
    #[error("contains a user name; files that need credentials are not loaded")]
    UserName,
    /// It has no digest.
    #[error(
        "has no digest, so nothing proves that it is the file you mean; get the digest from its publisher, such as \
         from the SHA256SUMS of a release, or from a trusted copy with `sha256sum FILE`, and append it to the \
         address: `#sha256=HEX`"
    )]
    NoDigest,
    /// The digest is not one.
    #[error("has no valid digest; write `#sha256=` and 64 lower-case hexadecimal digits")]
    Digest,
    /// It is too long.
    #[error("is longer than {MAX_BYTES} bytes")]
    TooLong,
}

impl PinnedUrl {
    /// Returns the address, without the digest.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the digest of the component.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns host and port, such as `example.com` or `127.0.0.1:5000`.
    #[must_use]
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            None => host.to_owned(),
            Some(port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for PinnedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{KEY}{}", self.url, self.digest.hex())
    }
}

impl FromStr for PinnedUrl {
    type Err = PinnedUrlError;

    fn from_str(text: &str) -> Result<Self, PinnedUrlError> {
        if text.len() > MAX_BYTES {
            return Err(PinnedUrlError::TooLong);
        }
        if let Some(other) = text.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(PinnedUrlError::Character(other));
        }
        let mut url: Url = text.parse().map_err(|_| PinnedUrlError::Form)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(PinnedUrlError::UserName);
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err(PinnedUrlError::Scheme),
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(PinnedUrlError::Form);
        }
        let fragment = url.fragment().unwrap_or_default();
        if fragment.is_empty() {
            return Err(PinnedUrlError::NoDigest);
        }
        let hex = fragment.strip_prefix(KEY).ok_or(PinnedUrlError::Digest)?;
        if hex.contains(|c: char| c.is_ascii_uppercase()) {
            return Err(PinnedUrlError::Digest);
        }
        let digest = format!("sha256:{hex}").parse();
        let digest = digest.map_err(|_| PinnedUrlError::Digest)?;
        url.set_fragment(None);
        Ok(Self { url, digest })
    }
}
