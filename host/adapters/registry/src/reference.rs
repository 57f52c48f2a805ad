//! References to artifacts: `oci://HOST[:PORT]/NAME[:TAG][@sha256:HEX]`, in the grammar of
//! [distribution](https://pkg.go.dev/github.com/distribution/reference).

#[cfg(test)]
mod tests;

use agent_host_types::{id::Digest, reason::Reason};
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr, str::FromStr};

/// The scheme before a reference.
const SCHEME: &str = "oci://";

/// The longest host and name together, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The longest tag, in bytes.
const MAX_TAG_BYTES: usize = 128;

/// The tag of a reference without tag and digest.
const DEFAULT_TAG: &str = "latest";

/// The reasons for which a text is not a reference are ends of sentences that begin with the text.
const OTHER_SCHEME: &str = "does not begin with `oci://`; write `oci://HOST/NAME:TAG`, such as \
    `oci://ghcr.io/acme/resize:1.2.0`";
const NO_NAME: &str = "has no name after the host; write `oci://HOST/NAME:TAG`";
const INVALID_DIGEST: &str =
    "has no valid digest; write `@sha256:` and 64 lower-case hexadecimal digits";

/// A reference to an artifact in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Reference {
    /// The host in lower case; an IPv6 address in brackets.
    host: String,
    port: Option<u16>,
    name: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// Returns host and port as credentials and policies name them, such as `ghcr.io` or
    /// `127.0.0.1:5000`.
    #[must_use]
    pub fn registry(&self) -> String {
        match self.port {
            None => self.host.clone(),
            Some(port) => format!("{}:{port}", self.host),
        }
    }

    /// Returns the name in the registry, such as `acme/resize`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns registry and name, without tag and digest.
    #[must_use]
    pub fn repository(&self) -> String {
        format!("{}/{}", self.registry(), self.name)
    }

    /// Returns the tag; `latest` if there is neither tag nor digest.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        match (&self.tag, &self.digest) {
            (Some(tag), _) => Some(tag),
            (None, None) => Some(DEFAULT_TAG),
            (None, Some(_)) => None,
        }
    }

    /// Returns the digest of the manifest, if the reference has one.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the reference to one manifest, with the tag for readers.
    #[must_use]
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self {
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// Returns the reference with another tag, and without a digest.
    ///
    /// # Errors
    /// It is no tag.
    pub fn with_tag(&self, tag: &str) -> Result<Self, Reason> {
        Ok(Self {
            tag: Some(parse_tag(tag)?),
            digest: None,
            ..self.clone()
        })
    }

    /// True if the registry is on this machine, which may be reached without encryption.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Returns scheme, host and port of the registry's API, without a slash at the end.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_loopback() { "http" } else { "https" };
        // The name that users know has no API of its own.
        let registry = match (&*self.host, self.port) {
            ("docker.io" | "index.docker.io", None) => "registry-1.docker.io".to_owned(),
            _ => self.registry(),
        };
        format!("{scheme}://{registry}")
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.repository())?;
        if let Some(tag) = self.tag() {
            write!(f, ":{tag}")?;
        }
        match self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

impl TryFrom<String> for Reference {
    type Error = Reason;

    fn try_from(text: String) -> Result<Self, Reason> {
        text.parse()
    }
}

impl FromStr for Reference {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        check_characters(text)?;
        let rest = text.strip_prefix(SCHEME).ok_or(OTHER_SCHEME)?;
        let (authority, path) = rest.split_once('/').ok_or(NO_NAME)?;
        if authority.contains('@') {
            return Err(
                "contains a user name; credentials are read from Docker's configuration".into(),
            );
        }
        let (host, port) = parse_authority(authority)?;
        let (path, digest) = match path.split_once('@') {
            None => (path, None),
            Some((path, digest)) => (path, Some(parse_digest(digest)?)),
        };
        let (name, tag) = match path.split_once(':') {
            None => (path, None),
            Some((name, tag)) => (name, Some(parse_tag(tag)?)),
        };
        if authority.len() + 1 + name.len() > MAX_NAME_BYTES {
            return Err(format!("is longer than {MAX_NAME_BYTES} bytes before its tag").into());
        }
        if name.is_empty() {
            return Err(NO_NAME.into());
        }
        if !name.split('/').all(is_name_part) {
            return Err(format!(
                "has no valid name: `{name}`; names are lower-case letters, digits, `.`, `_` and `-` between `/`"
            )
            .into());
        }
        Ok(Self {
            host,
            port,
            name: name.to_owned(),
            tag,
            digest,
        })
    }
}

/// Refuses a character outside printable ASCII, which may look like another one.
pub(crate) fn check_characters(text: &str) -> Result<(), Reason> {
    match text.chars().find(|c| !c.is_ascii_graphic()) {
        None => Ok(()),
        Some(other) => Err(format!(
            "contains the character {} (U+{:04X}), which may look like another one; write the address in plain ASCII \
             letters",
            other.escape_debug(),
            u32::from(other)
        )
        .into()),
    }
}

fn parse_digest(text: &str) -> Result<Digest, Reason> {
    match text.split_once(':') {
        Some(("sha256", digits)) if !digits.contains(|c: char| c.is_ascii_uppercase()) => {
            text.parse().map_err(|_| INVALID_DIGEST.into())
        }
        Some(("sha256", _)) | None => Err(INVALID_DIGEST.into()),
        Some((other, _)) => {
            Err(format!("has a digest of `{other}`; only sha256 is supported").into())
        }
    }
}

fn parse_authority(text: &str) -> Result<(String, Option<u16>), Reason> {
    let invalid = |host: &str| Reason::from(format!("has no valid host: `{host}`"));
    let (host, port) = match text.strip_prefix('[') {
        // The brackets of an IPv6 address keep its colons apart from that of the port.
        Some(rest) => {
            let (inner, after) = rest.split_once(']').ok_or_else(|| invalid(text))?;
            let address = inner.parse::<std::net::Ipv6Addr>();
            let address = address.map_err(|_| invalid(text))?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':').unwrap_or(after)),
            };
            (format!("[{address}]"), port)
        }
        None => {
            let (host, port) = match text.split_once(':') {
                None => (text, None),
                Some((host, port)) => (host, Some(port)),
            };
            if !host.split('.').all(is_host_label) || is_odd_number(host) {
                return Err(invalid(host));
            }
            (host.to_ascii_lowercase(), port)
        }
    };
    let port = match port {
        None => None,
        Some(digits) => {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            let port = digits.parse().ok().filter(|port| is_number && *port > 0);
            let invalid = || format!("has no valid port: `{digits}`; ports are 1 to 65535");
            Some(port.ok_or_else(invalid)?)
        }
    };
    Ok((host, port))
}

fn is_host_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !label.is_empty()
        && label.len() <= 63
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// True for a host that URL parsers read as an IPv4 address in another form than four decimal
/// numbers, such as `0x7f.1`: their last label is a number.
fn is_odd_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .get(..2)
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    is_number && host.parse::<std::net::Ipv4Addr>().is_err()
}

/// True for letters and digits, with single separators (`.`, `_`, `__`, or dashes) between them.
fn is_name_part(part: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    let mut separators = part.split(|c: char| u8::try_from(c).is_ok_and(is_letter));
    let ends_are_letters = part.bytes().next().is_some_and(is_letter)
        && part.bytes().next_back().is_some_and(is_letter);
    ends_are_letters && separators.all(is_separator)
}

fn parse_tag(text: &str) -> Result<String, Reason> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_tag = text.bytes().next().is_some_and(is_word)
        && text.len() <= MAX_TAG_BYTES
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'));
    match is_tag {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "has no valid tag: `{text}`; tags are 1 to 128 letters, digits, `_`, `.` and `-`"
        )
        .into()),
    }
}
