//! The state folder: made for this user alone, and checked before anything in it is believed. It never changes the mode of
//! a folder that it did not make.

use crate::fault::explain_io;
use agent_host_engine::journal::JournalError;
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

/// The name of the database in the state folder.
const DATABASE: &str = "agent-host.db";
/// The name of the folder with the session locks in the state folder.
const LOCKS: &str = "locks";
/// The name of the file with the key of continuations in the state folder.
const KEY: &str = "continuation.key";

/// A state folder that has passed its checks.
#[derive(Debug)]
pub(crate) struct StateFolder {
    /// The database file, with all symbolic links in its path resolved.
    pub(crate) database: PathBuf,
    /// The folder with one lock file for each session.
    pub(crate) locks: PathBuf,
    /// The file with the key of continuations. It may not exist yet.
    pub(crate) key: PathBuf,
}

impl StateFolder {
    /// Makes what is missing and checks what is there.
    pub(crate) fn open(state_dir: &Path) -> Result<Self, JournalError> {
        let root = private_folder(state_dir)?;
        let locks = private_folder(&root.join(LOCKS))?;
        let database = root.join(DATABASE);
        private_file(&database)?;
        let key = root.join(KEY);
        Ok(Self {
            database,
            locks,
            key,
        })
    }
}

/// Makes the folder with mode 0700 where it is missing, and refuses one that another user could change.
fn private_folder(path: &Path) -> Result<PathBuf, JournalError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| explain_io(path, "make the state folder", &error))?;
    let fault = |error| explain_io(path, "open the state folder", &error);
    let path = &path.canonicalize().map_err(fault)?;
    let folder = path.metadata().map_err(fault)?;
    check_owner(path, folder.uid(), folder.mode())?;
    Ok(path.clone())
}

/// Makes the file with mode 0600 where it is missing, before SQLite would make it with the process's own mask, and takes
/// away the rights of others where it is there. SQLite gives its side files the mode of this one.
fn private_file(path: &Path) -> Result<(), JournalError> {
    let fault = |error| explain_io(path, "open the journal", &error);
    let file = open_private(path).map_err(fault)?;
    let found = file.metadata().map_err(fault)?;
    check_owner(path, found.uid(), found.mode())?;
    if found.mode() & 0o077 != 0 {
        let mode = std::fs::Permissions::from_mode(0o600);
        file.set_permissions(mode).map_err(fault)?;
    }
    Ok(())
}

/// Opens a file for reading and writing, making it with mode 0600. A symbolic link in its place is refused, and so is whatever
/// is no regular file: a pipe or a device would keep its reader waiting.
pub(crate) fn open_private(path: &Path) -> Result<File, io::Error> {
    let flags = OFlags::CREATE | OFlags::RDWR;
    open_regular(path, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens a file for reading under the same conditions.
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

/// Identifies a file whatever its path is: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Identifies an open file by its metadata.
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }

    /// Identifies the file at a path; a symbolic link is not followed.
    pub(crate) fn at(path: &Path) -> Result<Self, io::Error> {
        Ok(Self::of(&path.symlink_metadata()?))
    }
}

fn check_owner(path: &Path, owner: u32, mode: u32) -> Result<(), JournalError> {
    let me = geteuid().as_raw();
    let path = path.display();
    if owner != me {
        return Err(JournalError::Storage(format!(
            "{path} belongs to user {owner} and this program runs as user {me}: its owner could change what the journal \
             says; run as user {owner}, give it to user {me} with `chown`, or set `state-dir` to another folder"
        )));
    }
    if mode & 0o002 != 0 {
        return Err(JournalError::Storage(format!(
            "every user of this machine may write to {path} (mode {:04o}), so anybody could change what the journal says; \
             run `chmod o-w` on it, or set `state-dir` to another folder",
            mode & 0o7777
        )));
    }
    Ok(())
}
