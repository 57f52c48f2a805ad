//! Compiled components on disk, with their definitions and skills. Loading machine code means
//! running it, so an entry counts only with proof that a host of this user wrote it: a hash of the
//! loaded bytes under a key that only this user can read.
//!
//! The cache is optional: an entry that is missing, damaged, written by another host or for another
//! engine is replaced. The least recently used entries are evicted, and the directory may be
//! deleted at any time.

mod entry;
mod manage;
mod pipeline;
mod sealed;
#[cfg(test)]
mod tests;

pub use agent_host_cache_dir::Pruned;
pub(crate) use entry::Described;
pub use manage::{CacheContent, CachedComponent, CompileCache};
pub(crate) use sealed::Sealed;

use agent_host_cache_dir::{CacheDir, mark_used};
use agent_host_types::id::Digest;
use entry::{EntryHeader, EntryKey, KEY_BYTES};
use std::{io, path::Path};

const KEY_FILE: &str = "key";

pub(crate) struct Cache {
    dir: CacheDir,
    key: EntryKey,
    engine: [u8; blake3::OUT_LEN],
    /// The bound on all entries together.
    max_bytes: u64,
}

/// An entry with a valid hash.
pub(crate) struct CacheEntry {
    pub(crate) digest: Digest,
    /// The caller validates it.
    pub(crate) described: Described,
    pub(crate) code: Sealed,
}

impl Cache {
    /// Opens the directory and its key for engines with the fingerprint; creates what is missing.
    ///
    /// # Errors
    /// Other users have access to the directory or the key, or it cannot be read or written.
    pub(crate) fn open(path: &Path, engine: [u8; 32], max_bytes: u64) -> io::Result<Self> {
        let dir = CacheDir::create(path)?;
        let key = match read_key(&dir)? {
            Some(key) => key,
            None => create_key(&dir)?,
        };
        Ok(Self {
            dir,
            key,
            engine,
            max_bytes,
        })
    }

    /// Returns the entry of the component with this BLAKE3 hash. Logs errors.
    pub(crate) fn get(&self, component: blake3::Hash) -> Option<CacheEntry> {
        let name = entry::name(component, &self.engine);
        let found = self
            .dir
            .open_file(&name, entry::MAX_BYTES)
            .and_then(|file| {
                let mut code = Sealed::create()?;
                let header = entry::read(&file, &self.key, component, &mut code)?;
                if header.engine != self.engine {
                    return Err(io::Error::other("it was compiled for another engine"));
                }
                mark_used(&file);
                Ok(CacheEntry {
                    digest: header.digest,
                    described: Described {
                        tools: header.tools()?,
                        left_out: header.left_out()?,
                        skill: header.skill,
                    },
                    code: Sealed::seal(code)?,
                })
            });
        match found {
            Ok(entry) => Some(entry),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(
                    "a compiled tool in the cache is unusable and is compiled again: {error}"
                );
                None
            }
        }
    }

    /// Stores a component and evicts the least recently used ones beyond the bound. Logs errors.
    pub(crate) fn put(
        &self,
        component: blake3::Hash,
        digest: Digest,
        described: &Described,
        code: &[u8],
    ) {
        let stored = serde_json::to_vec(&described.tools)
            .map_err(io::Error::from)
            .and_then(|definitions| {
                let left_out = serde_json::to_vec(&described.left_out)?;
                let header = EntryHeader {
                    engine: self.engine,
                    digest,
                    definitions,
                    left_out,
                    skill: described.skill.clone(),
                };
                let name = entry::name(component, &self.engine);
                let prefix = entry::prefix(&self.key, component, &header, code);
                self.dir.replace(&name, &[&prefix, code])
            })
            .and_then(|()| manage::evict(&self.dir, self.max_bytes));
        if let Err(error) = stored {
            tracing::warn!("a compiled tool was not saved in the cache: {error}");
        }
    }
}

/// Reads the key; absent if there is none.
fn read_key(dir: &CacheDir) -> io::Result<Option<EntryKey>> {
    match dir.read(KEY_FILE, KEY_BYTES as u64) {
        Ok(key) => key.try_into().map(Some).map_err(|_| {
            io::Error::other(
                "the cache's key file does not have 32 bytes; delete the cache directory",
            )
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a key. Two hosts that start at once agree on the key of the first.
fn create_key(dir: &CacheDir) -> io::Result<EntryKey> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    dir.create_file(KEY_FILE, &key)?;
    read_key(dir)?.ok_or_else(|| io::Error::other("the cache's key was deleted"))
}
