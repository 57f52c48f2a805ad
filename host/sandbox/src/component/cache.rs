//! Compiled components on disk, with their definitions. Loading machine code means running it, so an entry is only as good as
//! the proof that this user's host wrote it: a hash under a key that only this user can read, over the bytes that are loaded.
//!
//! Nothing in here is ever needed: an entry that is missing, foreign, damaged or of another engine is made anew. The entries
//! that were used last stay; the folder may be deleted at any time.

mod entry;
mod files;
mod manage;
mod pipeline;
mod sealed;
#[cfg(test)]
mod tests;

pub use manage::{CacheContent, CachedComponent, CompileCache, Pruned};
pub(crate) use sealed::Sealed;

use crate::{component::code::TrustedCode, engine::fingerprint};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::{id::Digest, tool::ToolDefinition};
use entry::{Head, KEY_BYTES, Key};
use files::Folder;
use std::{fs::FileTimes, io, path::Path, time::SystemTime};
use wasmtime::Engine;

/// The file of the key.
const KEY_FILE: &str = "key";

/// What all entries may take together, in bytes: fifty components the size of Python's.
const MAX_CACHE_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The cache in one folder.
pub(crate) struct Cache {
    folder: Folder,
    key: Key,
    /// Everything about the engine that machine code depends on: version, settings, target.
    engine: [u8; blake3::OUT_LEN],
}

/// An entry whose hash is right.
pub(crate) struct Entry {
    head: Head,
    code: Sealed,
}

impl Cache {
    /// Opens the folder, which is made if it is missing, and the key in it.
    ///
    /// # Errors
    /// When the folder or the key is not this user's alone, or cannot be read or written.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> io::Result<Self> {
        let folder = Folder::make(folder)?;
        let key = match read_key(&folder)? {
            Some(key) => key,
            None => make_key(&folder)?,
        };
        Ok(Self {
            folder,
            key,
            engine: fingerprint(engine),
        })
    }

    /// The entry of the component with this BLAKE3 hash. Everything but its absence is logged.
    pub(crate) fn get(&self, component: blake3::Hash) -> Option<Entry> {
        let name = entry::name(component, &self.engine);
        let found = self
            .folder
            .open_file(&name, entry::MAX_BYTES)
            .and_then(|file| {
                let mut code = Sealed::create()?;
                let head = entry::read(&file, &self.key, component, &mut code)?;
                if head.engine != self.engine {
                    return Err(io::Error::other("it is of another engine"));
                }
                // The time of the last use decides what stays; a folder that cannot be written keeps the old one.
                let _ = file.set_times(FileTimes::new().set_accessed(SystemTime::now()));
                Ok(Entry {
                    head,
                    code: code.seal()?,
                })
            });
        match found {
            Ok(entry) => Some(entry),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(
                    "a compiled tool in the cache is not used, and is made anew: {error}"
                );
                None
            }
        }
    }

    /// Keeps a component, and lets go of those that were not used for longest where there are too many. A cache that cannot be
    /// written is only logged.
    pub(crate) fn put(
        &self,
        component: blake3::Hash,
        digest: Digest,
        definitions: &[ToolDefinition],
        code: &[u8],
    ) {
        let raw: Vec<RawDefinition> = definitions
            .iter()
            .map(RawDefinition::from_checked)
            .collect();
        let kept = serde_json::to_vec(&raw)
            .map_err(io::Error::from)
            .and_then(|definitions| {
                let head = Head {
                    engine: self.engine,
                    digest,
                    definitions,
                };
                let name = entry::name(component, &self.engine);
                let parts = entry::parts(&self.key, component, &head, code);
                self.folder
                    .replace(&name, &parts.each_ref().map(AsRef::as_ref))
            })
            .and_then(|()| manage::evict(&self.folder, MAX_CACHE_BYTES));
        if let Err(error) = kept {
            tracing::warn!("a compiled tool is not kept in the cache: {error}");
        }
    }
}

impl Entry {
    /// The digest of the component.
    pub(crate) fn digest(&self) -> Digest {
        self.head.digest
    }

    /// The machine code.
    pub(crate) fn code(&self) -> TrustedCode<'_> {
        TrustedCode::sealed(&self.code)
    }

    /// The definitions; they are checked again by whoever uses them.
    pub(crate) fn definitions(&self) -> Result<Vec<RawDefinition>, String> {
        self.head.definitions()
    }
}

/// The folder's key, if it has one.
fn read_key(folder: &Folder) -> io::Result<Option<Key>> {
    match folder.read(KEY_FILE, KEY_BYTES as u64) {
        Ok(key) => key.try_into().map(Some).map_err(|_| {
            io::Error::other("the cache's key file does not have 32 bytes; delete the cache folder")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a key. Two hosts that start at once agree on the key of the one that was first.
fn make_key(folder: &Folder) -> io::Result<Key> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    folder.create(KEY_FILE, &key)?;
    read_key(folder)?.ok_or_else(|| io::Error::other("the cache's key was taken away"))
}
