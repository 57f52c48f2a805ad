//! Addresses of components with their digests: `https://HOST/PATH#sha256=HEX`. The digest is what
//! such a component is known by; nothing else shows that it is the one that was meant.

#[cfg(test)]
mod tests;

use agent_host_http_client::is_loopback;
use agent_host_types::{id::Digest, reason::Reason};
use reqwest::Url;
use std::{fmt, str::FromStr};

/// The longest address, in bytes.
const MAX_BYTES: usize = 2048;

/// The key of the digest in the fragment.
const KEY: &str = "sha256=";

/// The reasons for which a text is not such an address are ends of sentences that begin with it.
const NOT_AN_ADDRESS: &str = "is not an address; write `https://HOST/PATH#sha256=HEX`";
const NO_DIGEST: &str = "has no digest, so nothing proves that it is the file you mean; get the digest from its \
    publisher, such as from the SHA256SUMS of a release, or from a trusted copy with `sha256sum FILE`, and append it \
    to the address: `#sha256=HEX`";
const INVALID_DIGEST: &str =
    "has no valid digest; write `#sha256=` and 64 lower-case hexadecimal digits";

/// The address of a component, and the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinnedUrl {
    /// The address without the fragment.
    url: Url,
    digest: Digest,
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
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        if text.len() > MAX_BYTES {
            return Err(format!("is longer than {MAX_BYTES} bytes").into());
        }
        crate::reference::check_characters(text)?;
        let mut url: Url = text.parse().map_err(|_| NOT_AN_ADDRESS)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("contains a user name; files that need credentials are not loaded".into());
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err("is neither https nor on this machine".into()),
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(NOT_AN_ADDRESS.into());
        }
        let fragment = url.fragment().unwrap_or_default();
        if fragment.is_empty() {
            return Err(NO_DIGEST.into());
        }
        let hex = fragment.strip_prefix(KEY).ok_or(INVALID_DIGEST)?;
        if hex.contains(|c: char| c.is_ascii_uppercase()) {
            return Err(INVALID_DIGEST.into());
        }
        let digest = format!("sha256:{hex}").parse();
        let digest = digest.map_err(|_| INVALID_DIGEST)?;
        url.set_fragment(None);
        Ok(Self { url, digest })
    }
}
