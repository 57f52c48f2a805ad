//! A cache directory that only its user reaches. Every file is opened beneath the directory's
//! descriptor without following links, and its owner and mode are read from the open descriptor, so
//! that nothing can change between the check and the use.
//!
//! ```
//! use agent_host_cache_dir::CacheDir;
//!
//! # let parent = tempfile::tempdir()?;
//! let dir = CacheDir::create(&parent.path().join("cache"))?;
//! dir.replace("entry", &[b"con", b"tent"])?;
//! assert_eq!(dir.read("entry", 100)?, b"content");
//! // Evicts the least recently used entries beyond 0 bytes: all.
//! assert_eq!(dir.evict(0, |name| name == "entry")?.files, 1);
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(test)]
mod tests;

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
    process::geteuid,
};
use std::{
    fs::{DirBuilder, File, FileTimes},
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::fs::DirBuilderExt as _},
    path::Path,
    time::{Duration, SystemTime},
};

/// The modes of the directory and of its files: no access for other users.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The permission bits of other users.
const OTHERS: u32 = 0o077;

/// The prefix of the names of incomplete files.
const TEMPORARY: &str = "new-";

/// The age of an incomplete file that no process writes any more.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// A directory to which only this user has access.
#[derive(Debug)]
pub struct CacheDir(OwnedFd);

impl CacheDir {
    /// Opens the directory; creates it and its parents if they are missing.
    ///
    /// # Errors
    /// Those of [`Self::open`], and that it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(DIR_MODE)
            .create(path)?;
        Self::open(path)
    }

    /// Opens the directory. Other users may own its parents: they can replace the directory, but
    /// not with one that belongs to this user, and the caller has to check what a file holds.
    ///
    /// # Errors
    /// There is none, it is a link or no directory, or other users have access to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let dir = fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => io::Error::other(format!(
                "the cache directory {} is a link or not a directory; name the directory itself",
                path.display()
            )),
            error => error.into(),
        })?;
        let what = format!("the cache directory {}", path.display());
        check_private(&what, &fs::fstat(&dir)?)?;
        Ok(Self(dir))
    }

    /// Reads a file of up to `max_bytes`.
    ///
    /// # Errors
    /// Those of [`Self::open_file`], and that it cannot be read.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name, max_bytes)?
            .take(max_bytes)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file of up to `max_bytes` for reading.
    ///
    /// # Errors
    /// There is none, it is no regular file, it is larger, or other users have access to it.
    pub fn open_file(&self, name: &str, max_bytes: u64) -> io::Result<File> {
        // NONBLOCK refuses a pipe instead of waiting for it; with NOATIME, inspecting is not using.
        let flags = OFlags::RDONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOATIME
            | OFlags::CLOEXEC;
        let file =
            fs::openat(&self.0, name, flags, Mode::empty()).map_err(|error| match error {
                // NOATIME is for the owner only.
                Errno::PERM => io::Error::other("the file belongs to another user"),
                error => error.into(),
            })?;
        let stat = fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_private("the file", &stat)?;
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > max_bytes {
            return Err(io::Error::other("the file is too large"));
        }
        Ok(file.into())
    }

    /// Lists the files, without those that are deleted meanwhile.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn files(&self) -> io::Result<Vec<FileInfo>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                    files.push(FileInfo {
                        name: name.to_owned(),
                        size_bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                        modified: time(stat.st_mtime, stat.st_mtime_nsec),
                        last_used: time(stat.st_atime, stat.st_atime_nsec),
                    });
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(files)
    }

    /// Removes a file; returns false if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        match fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file unless it exists.
    ///
    /// # Errors
    /// The file cannot be written; nothing of it is left then.
    pub fn create_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self.rename_new(name, &[bytes], RenameFlags::NOREPLACE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Replaces a file atomically.
    ///
    /// # Errors
    /// The file cannot be written; the old one is left then.
    pub fn replace(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.rename_new(name, parts, RenameFlags::empty())
    }

    fn rename_new(&self, name: &str, parts: &[&[u8]], flags: RenameFlags) -> io::Result<()> {
        let mut new = self.new_file()?;
        for part in parts {
            new.write_all(part)?;
        }
        new.rename(name, flags)
    }

    /// Starts a file under a random name, to be written in pieces.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new_file(&self) -> io::Result<NewFile<'_>> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{TEMPORARY}{}", hex::encode(random));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.0, &name, flags, Mode::from_raw_mode(FILE_MODE))?;
        Ok(NewFile {
            dir: self,
            file: file.into(),
            name: Some(name),
        })
    }

    /// Removes the least recently used files beyond `max_bytes`, of those that `is_entry` names.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub fn evict(&self, max_bytes: u64, is_entry: impl Fn(&str) -> bool) -> io::Result<Pruned> {
        let mut entries = self.files()?;
        entries.retain(|file| is_entry(&file.name));
        entries.sort_by_key(|file| file.last_used);
        let mut total: u64 = entries.iter().map(|file| file.size_bytes).sum();
        let surplus = entries.iter().take_while(|file| {
            let over = total > max_bytes;
            total = total.saturating_sub(file.size_bytes);
            over
        });
        let count = surplus.count();
        entries.truncate(count);
        self.remove_all(&entries)
    }

    /// Removes these files, and counts those that were there.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn remove_all(&self, files: &[FileInfo]) -> io::Result<Pruned> {
        let mut pruned = Pruned::default();
        for file in files {
            if self.remove(&file.name)? {
                pruned.files += 1;
                pruned.bytes += file.size_bytes;
            }
        }
        Ok(pruned)
    }
}

/// Marks a file as used now, for eviction. A read-only directory keeps the old time.
pub fn mark_used(file: &File) {
    let _ = file.set_times(FileTimes::new().set_accessed(SystemTime::now()));
}

/// A file that no one sees before it is renamed. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile<'a> {
    dir: &'a CacheDir,
    file: File,
    /// Absent once it is renamed.
    name: Option<String>,
}

impl NewFile<'_> {
    /// Appends bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Gives the file its name, in place of an existing file.
    ///
    /// # Errors
    /// The directory cannot be written; nothing of the file is left then.
    pub fn finish(self, name: &str) -> io::Result<()> {
        self.rename(name, RenameFlags::empty())
    }

    fn rename(mut self, name: &str, flags: RenameFlags) -> io::Result<()> {
        if let Some(temporary) = &self.name {
            fs::renameat_with(&self.dir.0, temporary, &self.dir.0, name, flags)?;
            self.name = None;
        }
        Ok(())
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::unlinkat(&self.dir.0, name, AtFlags::empty());
        }
    }
}

/// The removed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Their number.
    pub files: u64,
    /// Their total size.
    pub bytes: u64,
}

/// A file of the directory.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// The name.
    pub name: String,
    /// The size, in bytes.
    pub size_bytes: u64,
    /// When it was written.
    pub modified: SystemTime,
    /// The access time, which [`mark_used`] sets.
    pub last_used: SystemTime,
}

impl FileInfo {
    /// True for an incomplete file of a process that ended.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.name.starts_with(TEMPORARY)
            && SystemTime::now()
                .duration_since(self.modified)
                .is_ok_and(|age| age > ABANDONED_AGE)
    }
}

/// Converts a time of `stat`, whose number types differ between architectures.
fn time(seconds: impl TryInto<u64>, nanoseconds: impl TryInto<u32>) -> SystemTime {
    let seconds = seconds.try_into().unwrap_or_default();
    let nanoseconds = nanoseconds.try_into().unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

fn check_private(what: &str, stat: &Stat) -> io::Result<()> {
    if stat.st_uid != geteuid().as_raw() {
        return Err(io::Error::other(format!("{what} belongs to another user")));
    }
    if stat.st_mode & OTHERS != 0 {
        return Err(io::Error::other(format!(
            "{what} can be reached by other users (mode {:o}); delete it, or remove their permissions",
            stat.st_mode & 0o777
        )));
    }
    Ok(())
}
