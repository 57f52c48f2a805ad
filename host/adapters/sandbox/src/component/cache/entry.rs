//! The format of an entry: a hash under the cache's key, and what it covers: the engine, the
//! component's digest, its definitions, what it lacks, its skill and its machine code. The file's name is another
//! hash of the component. The keyed hash covers it, too, so that a renamed entry does not pass for
//! another component's.

use super::pipeline;
use crate::component::{extism, skill::MAX_SKILL_BYTES};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::id::Digest;
use std::{
    fs::File,
    io::{self, Read, Write},
};

pub(super) const KEY_BYTES: usize = blake3::KEY_LEN;
pub(super) type EntryKey = [u8; KEY_BYTES];

/// The version of the format, and of the rules by which definitions are validated.
const FORMAT: &[u8] = b"agent-host cache entry 5";

/// The largest entry, in bytes.
pub(super) const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The bound on definitions, in bytes. Valid ones have less.
const MAX_DEFINITIONS_BYTES: u64 = 64 * 1024 * 1024;

/// The digits of the engine and the format in a file's name.
const ENGINE_DIGITS: usize = 16;

/// The parts of an entry before the machine code.
pub(super) struct EntryHeader {
    /// The fingerprint of the engine.
    pub(super) engine: [u8; 32],
    pub(super) digest: Digest,
    /// [`Described::tools`], as JSON.
    pub(super) definitions: Vec<u8>,
    /// [`Described::left_out`], as JSON.
    pub(super) left_out: Vec<u8>,
    /// [`Described::skill`].
    pub(super) skill: Vec<u8>,
}

/// The texts of a component, as it gave them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    pub(crate) tools: Vec<RawDefinition>,
    /// Its parts and requests that are not offered: exported functions that the machine code does not
    /// have, each with the reason, and those of a component of ACT.
    pub(crate) left_out: Vec<String>,
    /// The archive of its skill; empty if it has none.
    pub(crate) skill: Vec<u8>,
}

impl EntryHeader {
    pub(super) fn tools(&self) -> serde_json::Result<Vec<RawDefinition>> {
        serde_json::from_slice(&self.definitions)
    }

    pub(super) fn left_out(&self) -> serde_json::Result<Vec<String>> {
        serde_json::from_slice(&self.left_out)
    }
}

/// Returns the file name of an entry. One of another engine or format has another name, so it is
/// not found, and removed once it is the least recently used.
pub(super) fn name(component: blake3::Hash, engine: &[u8; 32]) -> String {
    // The code of a plugin has the kernel's in it.
    let maker = blake3::hash(&[FORMAT, engine, extism::KERNEL].concat()).to_hex();
    let maker: String = maker.chars().take(ENGINE_DIGITS).collect();
    format!("{}-{maker}", component.to_hex())
}

/// Returns the component in a file name; absent for other files.
pub(super) fn component(name: &str) -> Option<blake3::Hash> {
    let (component, engine) = name.split_once('-')?;
    let digits = engine.len() == ENGINE_DIGITS && engine.chars().all(|c| c.is_ascii_hexdigit());
    blake3::Hash::from_hex(component).ok().filter(|_| digits)
}

/// Returns the bytes of an entry before its machine code.
pub(super) fn prefix(
    key: &EntryKey,
    component: blake3::Hash,
    header: &EntryHeader,
    code: &[u8],
) -> Vec<u8> {
    let digest = header.digest.to_string().into_bytes();
    let parts = [
        digest.as_slice(),
        &header.definitions,
        &header.left_out,
        &header.skill,
    ];
    let lengths = parts.map(|part| (part.len() as u64).to_le_bytes());
    let (engine, lengths) = (header.engine.as_slice(), lengths.as_flattened());
    let start = [engine, lengths, &parts.concat()].concat();
    let mut hasher = keyed_hasher(key, component);
    let hash = hasher.update(&start).update(code).finalize();
    [hash.as_bytes().as_slice(), &start].concat()
}

/// Reads an entry once and streams its machine code to `code`, which is valid only if this
/// succeeds.
///
/// # Errors
/// The file cannot be read, or no host with this key wrote it for this component.
pub(super) fn read(
    file: &File,
    key: &EntryKey,
    component: blake3::Hash,
    code: &mut (impl Write + Send),
) -> io::Result<EntryHeader> {
    let mut file = file;
    let mut hash = [0; blake3::OUT_LEN];
    file.read_exact(&mut hash)?;
    let mut rest = HashingReader {
        file,
        hasher: keyed_hasher(key, component),
    };
    let engine = rest.array()?;
    let digest_bytes = u64::from_le_bytes(rest.array()?);
    let definitions_bytes = u64::from_le_bytes(rest.array()?);
    let left_out_bytes = u64::from_le_bytes(rest.array()?);
    let skill_bytes = u64::from_le_bytes(rest.array()?);
    let digest = rest.read_exactly(digest_bytes, 128)?;
    let definitions = rest.read_exactly(definitions_bytes, MAX_DEFINITIONS_BYTES)?;
    let left_out = rest.read_exactly(left_out_bytes, MAX_DEFINITIONS_BYTES)?;
    let skill = rest.read_exactly(skill_bytes, MAX_SKILL_BYTES as u64)?;
    pipeline::copy(&mut rest, code)?;
    // Compared in constant time.
    if rest.hasher.finalize() != blake3::Hash::from(hash) {
        return Err(invalid());
    }
    let digest = String::from_utf8(digest)
        .ok()
        .and_then(|text| text.parse().ok());
    Ok(EntryHeader {
        engine,
        digest: digest.ok_or_else(invalid)?,
        definitions,
        left_out,
        skill,
    })
}

fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is damaged, or was not written by this host",
    )
}

/// Returns the keyed hash of the format and the component.
fn keyed_hasher(key: &EntryKey, component: blake3::Hash) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(FORMAT).update(component.as_bytes());
    hasher
}

/// Hashes the bytes of a file as they are read.
struct HashingReader<'a> {
    file: &'a File,
    hasher: blake3::Hasher,
}

impl HashingReader<'_> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads exactly `count` bytes, at most `max`; `count` is not authenticated yet.
    fn read_exactly(&mut self, count: u64, max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.take(count.min(max)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != count {
            return Err(invalid());
        }
        Ok(bytes)
    }
}

impl Read for HashingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..size).unwrap_or_default());
        Ok(size)
    }
}
