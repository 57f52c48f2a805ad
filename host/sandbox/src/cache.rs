//! Compiled components on disk, with their definitions. Loading machine code means running it, so an entry is only as good as
//! the proof that this user's host wrote it: a hash under a key that only this user can read, over the bytes that are loaded.
//!
//! Nothing in here is ever needed: an entry that is missing, foreign, damaged or of another engine is made anew. Entries are
//! never removed; the folder may be deleted at any time.

mod files;
#[cfg(test)]
mod tests;

use crate::{code::TrustedCode, definitions::RawDefinition, engine::fingerprint};
use agent_host_core::{id::Digest, tool::ToolDefinition};
use files::Folder;
use std::{io, path::Path};
use wasmtime::Engine;

/// The file of the key, and its size in bytes.
const KEY_FILE: &str = "key";
const KEY_BYTES: usize = blake3::KEY_LEN;

/// The version of an entry's form, and of the rules that definitions were checked by.
const FORMAT: &[u8] = b"agent-host cache entry 1";

/// The hash at the start of an entry, and the size of the definitions that follows it, in bytes.
const HASH_BYTES: usize = blake3::OUT_LEN;
const LENGTH_BYTES: usize = size_of::<u64>();

/// The largest entry, in bytes: machine code of the largest component that is loaded.
const MAX_ENTRY_BYTES: u64 = 1024 * 1024 * 1024;

/// The cache in one folder.
pub(crate) struct Cache {
    folder: Folder,
    key: [u8; KEY_BYTES],
    /// Everything about the engine that machine code depends on: version, settings, target.
    engine: [u8; blake3::OUT_LEN],
}

/// An entry whose hash is right.
pub(crate) struct Entry {
    bytes: Vec<u8>,
    /// Where the machine code begins.
    code: usize,
}

impl Cache {
    /// Opens the folder, which is made if it is missing, and the key in it.
    ///
    /// # Errors
    /// When the folder or the key is not this user's alone, or cannot be read or written.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> io::Result<Self> {
        let folder = Folder::open(folder)?;
        let key = read_or_make_key(&folder)?;
        Ok(Self {
            folder,
            key,
            engine: fingerprint(engine),
        })
    }

    /// The entry of a component. Everything but its absence is logged.
    pub(crate) fn get(&self, digest: Digest) -> Option<Entry> {
        let name = self.entry_name(digest);
        let bytes = match self.folder.read(&name, MAX_ENTRY_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!("a compiled tool in the cache is not used: {error}");
                return None;
            }
        };
        let entry = self.check(digest, bytes);
        if entry.is_none() {
            tracing::warn!(
                "a compiled tool in the cache was not written by this host and is made anew"
            );
        }
        entry
    }

    /// Keeps a component. A cache that cannot be written is only logged.
    pub(crate) fn put(&self, digest: Digest, definitions: &[ToolDefinition], code: &[u8]) {
        let raw: Vec<RawDefinition> = definitions
            .iter()
            .map(RawDefinition::from_checked)
            .collect();
        let kept = serde_json::to_vec(&raw)
            .map_err(io::Error::from)
            .and_then(|definitions| {
                let length = (definitions.len() as u64).to_le_bytes();
                let parts: [&[u8]; 3] = [&length, &definitions, code];
                let hash = self.hash(digest, &parts);
                self.folder.replace(
                    &self.entry_name(digest),
                    &[hash.as_bytes(), &length, &definitions, code],
                )
            });
        if let Err(error) = kept {
            tracing::warn!("a compiled tool is not kept in the cache: {error}");
        }
    }

    fn check(&self, digest: Digest, bytes: Vec<u8>) -> Option<Entry> {
        let (hash, body) = bytes.split_at_checked(HASH_BYTES)?;
        let hash = blake3::Hash::from_slice(hash).ok()?;
        // The comparison takes the same time wherever the two differ.
        if hash != self.hash(digest, &[body]) {
            return None;
        }
        let (length, rest) = body.split_at_checked(LENGTH_BYTES)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        if length > rest.len() {
            return None;
        }
        Some(Entry {
            code: HASH_BYTES + LENGTH_BYTES + length,
            bytes,
        })
    }

    /// The keyed hash of an entry's body. The component and the engine are hashed, too, so that an entry cannot be passed off
    /// as another one's by renaming its file.
    fn hash(&self, digest: Digest, body: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher
            .update(FORMAT)
            .update(digest.hex().as_bytes())
            .update(&self.engine);
        for part in body {
            hasher.update(part);
        }
        hasher.finalize()
    }

    fn entry_name(&self, digest: Digest) -> String {
        let engine: String = hex::encode(self.engine).chars().take(16).collect();
        format!("{}-{engine}", digest.hex())
    }
}

impl Entry {
    /// The machine code.
    pub(crate) fn code(&self) -> TrustedCode<'_> {
        TrustedCode::assert(self.bytes.get(self.code..).unwrap_or_default())
    }

    /// The definitions; they are checked again by whoever uses them.
    pub(crate) fn definitions(&self) -> Result<Vec<RawDefinition>, String> {
        let json = self
            .bytes
            .get(HASH_BYTES + LENGTH_BYTES..self.code)
            .unwrap_or_default();
        serde_json::from_slice(json).map_err(|error| error.to_string())
    }
}

fn read_or_make_key(folder: &Folder) -> io::Result<[u8; KEY_BYTES]> {
    let wrong = |_| {
        io::Error::other("the cache's key file does not have 32 bytes; delete the cache folder")
    };
    match folder.read(KEY_FILE, KEY_BYTES as u64) {
        Ok(key) => return key.try_into().map_err(wrong),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    // Two hosts that start at once agree on the key of the one that was first.
    folder.create(KEY_FILE, &key)?;
    folder
        .read(KEY_FILE, KEY_BYTES as u64)?
        .try_into()
        .map_err(wrong)
}
