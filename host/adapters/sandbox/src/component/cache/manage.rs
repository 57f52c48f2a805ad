//! Lists and prunes the cache for its operator.

use super::{
    entry::{self, EntryKey},
    read_key,
};
use crate::{
    config::WasiVersion,
    engine::{Compilers, Layout},
};
use agent_host_cache_dir::{CacheDir, FileInfo, Pruned};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::id::Digest;
use std::{fmt, io, path::Path, time::SystemTime};

/// The compile cache in one directory.
pub struct CompileCache {
    dir: CacheDir,
    /// Without a key, no entry is trusted.
    key: Option<EntryKey>,
    /// The fingerprints of this program's engines.
    engines: Vec<[u8; 32]>,
}

/// A compiled component in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedComponent {
    /// The name of the file.
    pub file: String,
    /// The size of the file.
    pub size_bytes: u64,
    /// When it was compiled.
    pub compiled_at: SystemTime,
    /// When it was last loaded.
    pub last_used: SystemTime,
    /// The content of the file.
    pub content: CacheContent,
}

/// The content of a cache file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheContent {
    /// A component.
    Component {
        /// The digest of the component.
        digest: Digest,
        /// The names of its tools.
        tools: Vec<String>,
        /// True if this build can load the entry.
        current: bool,
    },
    /// Damaged, or written by another host; none of it is trusted.
    Damaged,
}

impl CompileCache {
    /// Opens the directory; `None` if it does not exist.
    ///
    /// # Errors
    /// Other users have access to the directory or its key, or it cannot be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let dir = match CacheDir::open(path) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let key = read_key(&dir)?;
        let kinds = Layout::ALL
            .into_iter()
            .flat_map(|layout| WasiVersion::ALL.map(|wasi| Compilers::new(layout, wasi)));
        let engines = kinds.flatten().map(|engines| engines.fingerprint());
        Ok(Some(Self {
            dir,
            key,
            engines: engines.collect(),
        }))
    }

    /// Lists the entries, the most recently used first. Reads and verifies every file.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> io::Result<Vec<CachedComponent>> {
        let mut files = self.dir.files()?;
        files.sort_by(|one, other| (other.last_used, &one.name).cmp(&(one.last_used, &other.name)));
        let entries = files.into_iter().filter_map(|file| self.inspect(file));
        Ok(entries.collect())
    }

    /// Removes entries that this build cannot load, damaged ones, and abandoned incomplete files.
    /// With `max_bytes`, also removes the least recently used entries beyond it; with zero, all.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub fn prune(&self, max_bytes: Option<u64>) -> io::Result<Pruned> {
        let mut useless = Vec::new();
        for file in self.dir.files()? {
            let is_useless = match self.inspect(file.clone()).map(|found| found.content) {
                Some(CacheContent::Component { current, .. }) => !current,
                Some(CacheContent::Damaged) => true,
                None => file.is_abandoned(),
            };
            if is_useless {
                useless.push(file);
            }
        }
        let mut pruned = self.dir.remove_all(&useless)?;
        if let Some(max_bytes) = max_bytes {
            let more = evict(&self.dir, max_bytes)?;
            pruned.files += more.files;
            pruned.bytes += more.bytes;
        }
        Ok(pruned)
    }

    /// Inspects a file; absent for files that are not named as entries.
    fn inspect(&self, file: FileInfo) -> Option<CachedComponent> {
        let component = entry::component(&file.name)?;
        Some(CachedComponent {
            content: self
                .read(&file.name, component)
                .unwrap_or(CacheContent::Damaged),
            file: file.name,
            size_bytes: file.size_bytes,
            compiled_at: file.modified,
            last_used: file.last_used,
        })
    }

    fn read(&self, name: &str, component: blake3::Hash) -> Option<CacheContent> {
        let file = self.dir.open_file(name, entry::MAX_BYTES).ok()?;
        let header = entry::read(&file, self.key.as_ref()?, component, &mut io::sink()).ok()?;
        let tools = header.tools().ok()?;
        Some(CacheContent::Component {
            digest: header.digest,
            tools: tools.into_iter().map(RawDefinition::into_name).collect(),
            current: self.engines.contains(&header.engine),
        })
    }
}

impl fmt::Debug for CompileCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never prints the key.
        f.debug_struct("CompileCache").finish_non_exhaustive()
    }
}

/// Removes the least recently used entries beyond `max_bytes`.
pub(super) fn evict(dir: &CacheDir, max_bytes: u64) -> io::Result<Pruned> {
    dir.evict(max_bytes, |name| entry::component(name).is_some())
}
