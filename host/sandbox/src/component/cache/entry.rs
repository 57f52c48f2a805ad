//! The form of an entry: a hash under the folder's key, and what it covers, which is the engine, the component's digest, its
//! definitions and its machine code. The name of the file says which component it is by another hash, which the first covers,
//! too, so that an entry cannot be passed off as another one's by renaming its file.

use super::pipeline;
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::id::Digest;
use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Write},
};

/// The folder's key.
pub(super) const KEY_BYTES: usize = blake3::KEY_LEN;
pub(super) type Key = [u8; KEY_BYTES];

/// The version of this form, and of the rules that definitions were checked by.
const FORMAT: &[u8] = b"agent-host cache entry 2";

/// The largest entry, in bytes: machine code of the largest component that is loaded.
pub(super) const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The most definitions, in bytes. What is checked has less.
const MAX_DEFINITIONS_BYTES: u64 = 64 * 1024 * 1024;

/// The digits of the engine's fingerprint in a file's name.
const ENGINE_DIGITS: usize = 16;

/// What an entry has beside machine code.
pub(super) struct Head {
    /// The fingerprint of the engine.
    pub(super) engine: [u8; 32],
    /// The digest of the component.
    pub(super) digest: Digest,
    /// The definitions, as JSON.
    pub(super) definitions: Vec<u8>,
}

impl Head {
    pub(super) fn definitions(&self) -> Result<Vec<RawDefinition>, String> {
        serde_json::from_slice(&self.definitions).map_err(|error| error.to_string())
    }
}

/// The name of the file.
pub(super) fn name(component: blake3::Hash, engine: &[u8; 32]) -> String {
    let engine: String = hex::encode(engine).chars().take(ENGINE_DIGITS).collect();
    format!("{}-{engine}", component.to_hex())
}

/// The component that a file's name is of; absent when it is not the name of an entry.
pub(super) fn component(name: &str) -> Option<blake3::Hash> {
    let (component, engine) = name.split_once('-')?;
    let digits = engine.len() == ENGINE_DIGITS && engine.chars().all(|c| c.is_ascii_hexdigit());
    blake3::Hash::from_hex(component).ok().filter(|_| digits)
}

/// An entry's bytes, in their order.
pub(super) fn parts<'a>(
    key: &Key,
    component: blake3::Hash,
    head: &'a Head,
    code: &'a [u8],
) -> [Cow<'a, [u8]>; 6] {
    let digest = head.digest.to_string().into_bytes();
    let lengths = [digest.len() as u64, head.definitions.len() as u64];
    let lengths: Vec<u8> = lengths.into_iter().flat_map(u64::to_le_bytes).collect();
    let mut hasher = seeded(key, component);
    for part in [
        &head.engine,
        lengths.as_slice(),
        &digest,
        &head.definitions,
        code,
    ] {
        hasher.update(part);
    }
    [
        hasher.finalize().as_bytes().to_vec().into(),
        head.engine.as_slice().into(),
        lengths.into(),
        digest.into(),
        head.definitions.as_slice().into(),
        code.into(),
    ]
}

/// Reads an entry once, from begin to end, and gives its machine code to `code` as it passes. What was given is good only when
/// this returns without an error.
///
/// # Errors
/// When the file cannot be read, or was not written by a host with this key for this component.
pub(super) fn read(
    file: &File,
    key: &Key,
    component: blake3::Hash,
    code: &mut (impl Write + Send),
) -> io::Result<Head> {
    let mut file = file;
    let mut hash = [0; blake3::OUT_LEN];
    file.read_exact(&mut hash)?;
    let mut rest = Hashing {
        file,
        hasher: seeded(key, component),
    };
    let engine = rest.array()?;
    let digest_bytes = u64::from_le_bytes(rest.array()?);
    let definitions_bytes = u64::from_le_bytes(rest.array()?);
    let digest = rest.exactly(digest_bytes, 128)?;
    let definitions = rest.exactly(definitions_bytes, MAX_DEFINITIONS_BYTES)?;
    pipeline::copy(&mut rest, code)?;
    // The comparison takes the same time wherever the two differ.
    if rest.hasher.finalize() != blake3::Hash::from(hash) {
        return Err(foreign());
    }
    let digest = String::from_utf8(digest)
        .ok()
        .and_then(|text| text.parse().ok());
    Ok(Head {
        engine,
        digest: digest.ok_or_else(foreign)?,
        definitions,
    })
}

fn foreign() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is damaged, or was not written by this host",
    )
}

/// The keyed hash, before what the file has.
fn seeded(key: &Key, component: blake3::Hash) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(FORMAT).update(component.as_bytes());
    hasher
}

/// A file whose bytes are hashed as they are read.
struct Hashing<'a> {
    file: &'a File,
    hasher: blake3::Hasher,
}

impl Hashing<'_> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// So many bytes. Their number is not to be believed yet.
    fn exactly(&mut self, count: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.take(count.min(most)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != count {
            return Err(foreign());
        }
        Ok(bytes)
    }
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..size).unwrap_or_default());
        Ok(size)
    }
}
