//! The cache as its operator sees it: what is in it, and what goes.

use super::{
    entry::{self, Key},
    files::{FileInfo, Folder},
    read_key,
};
use crate::engine::{Layout, compiling, fingerprint};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::id::Digest;
use std::{
    fmt, io,
    path::Path,
    time::{Duration, SystemTime},
};

/// How old a file is that a host began to write and left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);

/// The compile cache in one folder.
pub struct CompileCache {
    folder: Folder,
    /// Absent when the folder has none, and then no entry can be believed.
    key: Option<Key>,
    /// The fingerprints of this program's engines.
    engines: Vec<[u8; 32]>,
}

/// A compiled component in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedComponent {
    /// The name of its file.
    pub file: String,
    /// The size of the file.
    pub bytes: u64,
    /// When it was compiled.
    pub made: SystemTime,
    /// When it was loaded last.
    pub used: SystemTime,
    /// What it is.
    pub content: CacheContent,
}

/// What a file of the cache is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheContent {
    /// A component.
    Component {
        /// The digest of the component.
        digest: Digest,
        /// The names of its tools.
        tools: Vec<String>,
        /// Whether it is for an engine of this program; if not, for one of another version, setting or processor.
        current: bool,
    },
    /// It is damaged, or was not written by this host. Nothing in it is believed.
    Damaged,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl CompileCache {
    /// Opens the folder; absent when there is none.
    ///
    /// # Errors
    /// When the folder or its key is not this user's alone, or cannot be read.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let folder = match Folder::open(folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let key = read_key(&folder)?;
        let engines = [Layout::Reserved, Layout::Compact]
            .into_iter()
            .filter_map(|layout| compiling(layout).ok())
            .map(|engine| fingerprint(&engine))
            .collect();
        Ok(Some(Self {
            folder,
            key,
            engines,
        }))
    }

    /// What is in it, the one that was used last first. Reads every file whole, and believes only those whose hash is right.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<CachedComponent>> {
        let mut files = self.folder.files()?;
        files.sort_by(|one, other| other.used.cmp(&one.used).then(one.name.cmp(&other.name)));
        Ok(files
            .into_iter()
            .filter_map(|file| self.look(file))
            .collect())
    }

    /// Removes what this program cannot use: entries of other engines and damaged ones, and what was left behind half written.
    /// With `max_bytes`, removes those that were not used for longest, too, until the rest has no more bytes; with zero, all.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn prune(&self, max_bytes: Option<u64>) -> io::Result<Pruned> {
        let mut gone = Vec::new();
        for file in self.folder.files()? {
            let useless = match self.look(file.clone()).map(|found| found.content) {
                Some(CacheContent::Component { current, .. }) => !current,
                Some(CacheContent::Damaged) => true,
                None => file.is_left_behind(),
            };
            if useless {
                gone.push(file);
            }
        }
        let mut pruned = remove(&self.folder, &gone)?;
        if let Some(max_bytes) = max_bytes {
            let more = remove(&self.folder, &surplus(&self.folder, max_bytes)?)?;
            pruned.files += more.files;
            pruned.bytes += more.bytes;
        }
        Ok(pruned)
    }

    /// Absent for what is no entry by its name: the key, a file that is being written, somebody else's.
    fn look(&self, file: FileInfo) -> Option<CachedComponent> {
        let component = entry::component(&file.name)?;
        Some(CachedComponent {
            content: self
                .read(&file.name, component)
                .unwrap_or(CacheContent::Damaged),
            file: file.name,
            bytes: file.bytes,
            made: file.made,
            used: file.used,
        })
    }

    fn read(&self, name: &str, component: blake3::Hash) -> Option<CacheContent> {
        let file = self.folder.open_file(name, entry::MAX_BYTES).ok()?;
        let head = entry::read(&file, self.key.as_ref()?, component, &mut io::sink()).ok()?;
        let tools = head.definitions().ok()?;
        Some(CacheContent::Component {
            digest: head.digest,
            tools: tools.into_iter().map(RawDefinition::into_name).collect(),
            current: self.engines.contains(&head.engine),
        })
    }
}

impl fmt::Debug for CompileCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is nobody's business.
        f.debug_struct("CompileCache").finish_non_exhaustive()
    }
}

impl FileInfo {
    /// A temporary file of a host that ended before it was complete.
    fn is_left_behind(&self) -> bool {
        self.is_temporary()
            && SystemTime::now()
                .duration_since(self.made)
                .is_ok_and(|age| age > LEFT_BEHIND)
    }
}

/// Removes the entries that were not used for longest, until the rest has no more than so many bytes.
pub(super) fn evict(folder: &Folder, max_bytes: u64) -> io::Result<()> {
    remove(folder, &surplus(folder, max_bytes)?).map(|_| ())
}

fn surplus(folder: &Folder, max_bytes: u64) -> io::Result<Vec<FileInfo>> {
    let mut entries = folder.files()?;
    entries.retain(|file| entry::component(&file.name).is_some());
    entries.sort_by_key(|file| file.used);
    let mut total: u64 = entries.iter().map(|file| file.bytes).sum();
    let too_many = entries.iter().take_while(|file| {
        let over = total > max_bytes;
        total = total.saturating_sub(file.bytes);
        over
    });
    let count = too_many.count();
    entries.truncate(count);
    Ok(entries)
}

fn remove(folder: &Folder, files: &[FileInfo]) -> io::Result<Pruned> {
    let mut pruned = Pruned::default();
    for file in files {
        if folder.remove(&file.name)? {
            pruned.files += 1;
            pruned.bytes += file.bytes;
        }
    }
    Ok(pruned)
}
