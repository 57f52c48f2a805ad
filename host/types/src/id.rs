//! Identifiers. Each is a type of its own, so that one cannot be passed for another.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{fmt, io::BufWriter, str::FromStr};

/// A session: UUID version 7, so that ids sort by the time of their making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(uuid::Uuid);

impl SessionId {
    /// Makes a new id from the clock and the system's random source.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7())
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A tool call, unique in its session. Providers make these ids; the loop renames one that comes twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 digest of some bytes; as text `sha256:` and 64 hexadecimal digits, as OCI writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digests the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digests the compact JSON form of a value, without holding all of it in memory.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn of_json<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        // Buffered: a serializer writes a few bytes at a time.
        let mut hasher = BufWriter::new(Sha256::new());
        serde_json::to_writer(&mut hasher, value)?;
        let hasher = hasher
            .into_inner()
            .map_err(|error| serde_json::Error::io(error.into_error()))?;
        Ok(Self(hasher.finalize().into()))
    }

    /// Takes a hash that another function made, such as a keyed one.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 64 hexadecimal digits without the algorithm's name.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("a digest is `sha256:` and 64 hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").ok_or(NotADigest)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| NotADigest)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The digest of a JSON value, independent of the order in which keys were written: objects are written with sorted keys.
#[must_use]
pub fn json_digest(value: &serde_json::Value) -> Digest {
    // serde_json keeps objects in a sorted map, unless its feature `preserve_order` is on; a test holds this.
    Digest::of(value.to_string().as_bytes())
}
