//! The state of a path: what is there, and the digest of its content.

use crate::path::UndoPath;
use agent_host_types::id::Digest;
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read as _},
};

/// The largest file that is kept, in bytes: 16 MiB, well above sources and documents.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The object at a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub(crate) enum PathState {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// The digest of its content.
        digest: Digest,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// Its target.
        target: String,
    },
    /// A directory.
    Dir {
        /// Its permissions.
        mode: u32,
    },
    /// Something that was not kept.
    NotKept {
        /// Why.
        reason: NotKept,
    },
}

/// Why the content of a file was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum NotKept {
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("it was larger than 16 MiB before the change, so it was not kept")]
    TooLarge,
    /// The call has changed more than the log may hold.
    #[error(
        "the call changed more than the undo log may hold; this change and later ones were not kept"
    )]
    LogFull,
    /// It could not be read.
    #[error("it could not be read before the change")]
    Unreadable,
    /// It is no file, no directory and no link.
    #[error("it was not a file, a directory or a link")]
    OtherType,
}

/// Stores the content of a file, or refuses it.
pub(crate) type Store<'s> = dyn Fn(&[u8]) -> io::Result<Result<Digest, NotKept>> + 's;

impl PathState {
    /// True if both have the same content. Permissions do not count: no tool can change them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { digest: one, .. }, Self::File { digest: other, .. }) => one == other,
            (Self::Dir { .. }, Self::Dir { .. }) => true,
            _ => self == other,
        }
    }

    /// Reads the present state. The content of a file of at most [`MAX_FILE_BYTES`] goes to
    /// `store`, if there is one, which may refuse it; without one, files of any size are digested.
    ///
    /// # Errors
    /// When the path cannot be looked up, or the content not be stored.
    pub(crate) fn read(path: &UndoPath, store: Option<&Store<'_>>) -> io::Result<Self> {
        let (dir, name) = match path.open_parent() {
            Err(error) if is_nothing(&error) => return Ok(Self::Absent),
            other => other?,
        };
        let stat = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Self::Absent),
            other => other?,
        };
        let mode = stat.st_mode & 0o7777;
        let not_kept = |reason| Ok(Self::NotKept { reason });
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Self::Dir { mode }),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&dir, name, Vec::new())?;
                match target.into_string() {
                    Ok(target) => Ok(Self::Symlink { target }),
                    Err(_) => not_kept(NotKept::Unreadable),
                }
            }
            FileType::RegularFile => match digest(&dir, name, &stat, store) {
                Ok(Ok(digest)) => Ok(Self::File { digest, mode }),
                Ok(Err(reason)) => not_kept(reason),
                Err(Failed::Read) => not_kept(NotKept::Unreadable),
                Err(Failed::Store(error)) => Err(error),
            },
            _ => not_kept(NotKept::OtherType),
        }
    }
}

/// Whether an error means that nothing is at a path.
fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

enum Failed {
    Read,
    Store(io::Error),
}

fn digest(
    dir: &OwnedFd,
    name: &str,
    stat: &Stat,
    store: Option<&Store<'_>>,
) -> Result<Result<Digest, NotKept>, Failed> {
    let is_large = |bytes: u64| store.is_some() && bytes > MAX_FILE_BYTES;
    if is_large(u64::try_from(stat.st_size).unwrap_or_default()) {
        return Ok(Err(NotKept::TooLarge));
    }
    let mut file = open(dir, name).map_err(|_| Failed::Read)?;
    let Some(store) = store else {
        return Digest::of_reader(&mut file)
            .map(Ok)
            .map_err(|_| Failed::Read);
    };
    let mut content = Vec::new();
    // It may have grown meanwhile.
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content);
    read.map_err(|_| Failed::Read)?;
    if is_large(content.len() as u64) {
        return Ok(Err(NotKept::TooLarge));
    }
    store(&content).map_err(Failed::Store)
}

/// Opens a file for reading. A pipe that is there by now does not block.
fn open(dir: impl AsFd, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = rustix::fs::openat(dir, name, flags, Mode::empty())?.into();
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}
