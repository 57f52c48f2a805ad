//! The state directory: made for this user alone, and checked before anything in it is trusted. The
//! mode of a directory that exists is never changed.

use crate::error::StoreError;
use rustix::{
    fs::{Mode, OFlags},
    process::geteuid,
};
use std::{
    fs::{DirBuilder, File, Metadata},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// The name of the database in the state directory.
const DATABASE: &str = "agent-host.db";
/// The name of the directory with the session locks in the state directory.
const LOCKS: &str = "locks";
/// The name of the file with the key of continuations in the state directory.
const KEY: &str = "continuation.key";
/// The name of the file with the key that signs rows in the state directory.
const ROWS_KEY: &str = "rows.key";

/// A state directory that has passed its checks.
#[derive(Debug)]
pub(crate) struct StateDir {
    /// The database file, with all symbolic links in its path resolved.
    pub(crate) database: PathBuf,
    /// The directory with one lock file for each session.
    pub(crate) locks: PathBuf,
    /// The file with the key of continuations. It may not exist yet.
    pub(crate) key: PathBuf,
    /// The file with the key that signs rows. It may not exist yet.
    pub(crate) rows_key: PathBuf,
}

impl StateDir {
    /// Makes what is missing and checks what is there.
    pub(crate) fn open(state_dir: &Path) -> Result<Self, StoreError> {
        let root = private_dir(state_dir)?;
        let locks = private_dir(&root.join(LOCKS))?;
        let database = root.join(DATABASE);
        private_file(&database)?;
        Ok(Self {
            database,
            locks,
            key: root.join(KEY),
            rows_key: root.join(ROWS_KEY),
        })
    }
}

/// Returns the file with the key that signs rows in a state directory, which is made if it is missing
/// and checked otherwise.
pub(crate) fn rows_key_path(state_dir: &Path) -> Result<PathBuf, StoreError> {
    Ok(private_dir(state_dir)?.join(ROWS_KEY))
}

/// Makes the directory with mode 0700 if it is missing, and refuses one that another user could
/// change.
fn private_dir(path: &Path) -> Result<PathBuf, StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| StoreError::io(path, "create the state directory", error))?;
    let failed = |error| StoreError::io(path, "open the state directory", error);
    let path = path.canonicalize().map_err(failed)?;
    check_owner(&path, &path.metadata().map_err(failed)?)?;
    Ok(path)
}

/// Makes the file with mode 0600 if it is missing, before SQLite would make it with the process's
/// umask. SQLite gives its side files the same mode.
fn private_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(path, "open the journal", error);
    make_private(path, &open_private(path).map_err(failed)?)
}

/// Refuses a file that another user could have changed, and removes the permissions of other users.
pub(crate) fn make_private(path: &Path, file: &File) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(path, "read the mode of the file", error);
    let found = file.metadata().map_err(failed)?;
    check_owner(path, &found)?;
    if found.mode() & 0o077 != 0 {
        let mode = std::fs::Permissions::from_mode(0o600);
        file.set_permissions(mode).map_err(failed)?;
    }
    Ok(())
}

/// Opens a file for reading and writing, making it with mode 0600. A symbolic link in its place is
/// refused, and so is everything but a regular file: a pipe or a device would block its reader.
pub(crate) fn open_private(path: &Path) -> Result<File, io::Error> {
    let flags = OFlags::CREATE | OFlags::RDWR;
    open_regular(path, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens a regular file for reading; refuses the same as [`open_private`].
pub(crate) fn open_to_read(path: &Path) -> Result<File, io::Error> {
    open_regular(path, OFlags::RDONLY, Mode::empty())
}

fn open_regular(path: &Path, flags: OFlags, mode: Mode) -> Result<File, io::Error> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file: File = rustix::fs::open(path, flags, mode)?.into();
    // Checked on the descriptor, so that it cannot be another file by now.
    if !file.metadata()?.is_file() {
        let why = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    Ok(file)
}

/// Identifies a file regardless of its path: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Identifies an open file by its metadata.
    pub(crate) fn from_metadata(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }

    /// Identifies the file at a path; a symbolic link is not followed.
    pub(crate) fn at(path: &Path) -> Result<Self, io::Error> {
        Ok(Self::from_metadata(&path.symlink_metadata()?))
    }
}

/// Refuses a file or directory that another user owns or that every user may write to.
fn check_owner(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    let user = geteuid().as_raw();
    let (owner, mode) = (found.uid(), found.mode());
    let path = path.to_owned();
    if owner != user {
        return Err(StoreError::Owner { path, owner, user });
    }
    if mode & 0o002 != 0 {
        let mode = mode & 0o7777;
        return Err(StoreError::WorldWritable { path, mode });
    }
    Ok(())
}
