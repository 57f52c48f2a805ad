//! The files of the cache directory. Every file is opened beneath the directory's descriptor
//! without following links, and its owner and mode are read from the open descriptor, so that
//! nothing can change between the check and the use.

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
    process::geteuid,
};
use std::{
    fs::{DirBuilder, File},
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
pub(super) const TEMPORARY: &str = "new-";

/// A directory to which only this user has access.
pub(crate) struct CacheDir(OwnedFd);

impl CacheDir {
    /// Opens the directory; creates it and its parents if they are missing.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(DIR_MODE)
            .create(path)?;
        Self::open(path)
    }

    /// Opens the directory. Other users may own its parents: they can replace the directory, but
    /// not with one that belongs to this user, and entries are trusted only with the key beside
    /// them.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let dir = fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => io::Error::other(format!(
                "the cache directory {} is a link or no directory; name the directory itself",
                path.display()
            )),
            error => error.into(),
        })?;
        let what = format!("the cache directory {}", path.display());
        check_private(&what, &fs::fstat(&dir)?)?;
        Ok(Self(dir))
    }

    /// Reads a file of up to `max_bytes`.
    pub(crate) fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name, max_bytes)?
            .take(max_bytes)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file of up to `max_bytes` for reading.
    pub(crate) fn open_file(&self, name: &str, max_bytes: u64) -> io::Result<File> {
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
    pub(crate) fn files(&self) -> io::Result<Vec<FileInfo>> {
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
    pub(crate) fn remove(&self, name: &str) -> io::Result<bool> {
        match fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file unless it exists.
    pub(crate) fn create_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self.rename_new(name, &[bytes], RenameFlags::NOREPLACE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Replaces a file atomically.
    pub(crate) fn replace(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.rename_new(name, parts, RenameFlags::empty())
    }

    fn rename_new(&self, name: &str, parts: &[&[u8]], flags: RenameFlags) -> io::Result<()> {
        let temporary = self.write_temporary(parts)?;
        fs::renameat_with(&self.0, &temporary, &self.0, name, flags).map_err(|error| {
            let _ = fs::unlinkat(&self.0, &temporary, AtFlags::empty());
            error.into()
        })
    }

    /// Writes a file under a random name and returns the name.
    fn write_temporary(&self, parts: &[&[u8]]) -> io::Result<String> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{TEMPORARY}{}", hex::encode(random));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.0, &name, flags, Mode::from_raw_mode(FILE_MODE))?;
        let mut file = File::from(file);
        for part in parts {
            if let Err(error) = file.write_all(part) {
                let _ = fs::unlinkat(&self.0, &name, AtFlags::empty());
                return Err(error);
            }
        }
        Ok(name)
    }
}

/// A file of the directory.
#[derive(Clone, Debug)]
pub(crate) struct FileInfo {
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
    pub(crate) modified: SystemTime,
    /// The access time, which the cache sets.
    pub(crate) last_used: SystemTime,
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
