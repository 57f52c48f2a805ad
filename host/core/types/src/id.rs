//! Identifiers and digests, each a type of its own.

#[cfg(test)]
mod tests;

use crate::reason::Reason;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    borrow::Cow,
    fmt,
    io::{self, BufWriter},
    str::FromStr,
};

/// The id of a session: a UUID version 7, so that ids sort by creation time. That of an agent's
/// session is made of its call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SessionId(#[schemars(with = "String")] uuid::Uuid);

impl SessionId {
    /// Creates an id from the clock and the system's random source.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7())
    }

    /// Makes an id of the first half of a hash: a UUID version 8.
    #[must_use]
    pub fn from_hash(hash: [u8; 32]) -> Self {
        let mut bytes = [0; 16];
        for (byte, of_hash) in bytes.iter_mut().zip(hash) {
            *byte = of_hash;
        }
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
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

/// The id of a tool call, unique in its session. Providers choose these ids; the loop renames a
/// duplicate.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A SHA-256 digest; as text `sha256:` and 64 hexadecimal digits, as in OCI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// Hashes what is written to it.
struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Digest {
    /// Computes the digest of the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digests everything that a reader returns, without holding it in memory.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_reader(reader: &mut impl io::Read) -> io::Result<Self> {
        let mut hasher = HashWriter(Sha256::new());
        io::copy(reader, &mut hasher)?;
        Ok(Self(hasher.0.finalize().into()))
    }

    /// Digests the compact JSON form of a value, without holding all of it in memory.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn of_json<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        // Buffered: a serializer writes a few bytes at a time.
        let mut hasher = BufWriter::new(HashWriter(Sha256::new()));
        serde_json::to_writer(&mut hasher, value)?;
        let hasher = hasher
            .into_inner()
            .map_err(|error| serde_json::Error::io(error.into_error()))?;
        Ok(Self(hasher.0.finalize().into()))
    }

    /// Returns the hash.
    #[must_use]
    pub fn into_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Wraps a hash of another function, such as a keyed one.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 hexadecimal digits without the algorithm's name.
    #[must_use]
    pub fn hex(&self) -> String {
        let mut digits = [0; 64];
        // The lengths fit. Unlike `hex::encode`, this does not write digit by digit.
        let _ = hex::encode_to_slice(self.0, &mut digits);
        String::from_utf8_lossy(&digits).into_owned()
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

impl FromStr for Digest {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "a digest is `sha256:` and 64 hexadecimal digits";
        let digits = text.strip_prefix("sha256:").ok_or(FORM)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| FORM)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A SHA-256 digest, as in OCI.",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        })
    }
}

/// Computes the digest of a JSON value written with sorted keys, so that the order of keys does not
/// matter.
#[must_use]
pub fn json_digest(value: &serde_json::Value) -> Digest {
    // serde_json sorts the keys of objects unless its feature `preserve_order` is on; a test checks
    // that it is off.
    Digest::of(value.to_string().as_bytes())
}

/// Computes the [`json_digest`] of an object, such as the arguments of a call, without a copy.
#[must_use]
pub fn object_digest(object: &serde_json::Map<String, serde_json::Value>) -> Digest {
    // JSON values can always be written to memory.
    Digest::of(&serde_json::to_vec(object).unwrap_or_default())
}
