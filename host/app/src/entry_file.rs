//! A list of entries in a JSON file of the state directory: decisions of the user that are
//! remembered. One process changes it at a time, and a reader sees the old list or the new one.

use crate::trusted_file::{self, FileError};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fs::{DirBuilder, File},
    io,
    marker::PhantomData,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// The version of the format.
const VERSION: u32 = 1;

/// The maximum size of the file, in bytes: thousands of entries.
const MAX_BYTES: u64 = 1024 * 1024;

/// The kind of the entries of a file, for messages.
#[derive(Debug)]
pub(crate) struct EntryKind {
    /// The key of the list in the file.
    pub(crate) key: &'static str,
    /// The entries, such as "the remembered approvals".
    pub(crate) what: &'static str,
    /// How the user shortens a list that is too long.
    pub(crate) shorten: &'static str,
}

/// A file with entries of one kind. It may not exist.
#[derive(Debug)]
pub(crate) struct EntryFile<T> {
    pub(crate) path: PathBuf,
    kind: &'static EntryKind,
    entries: PhantomData<fn() -> T>,
}

impl<T> Clone for EntryFile<T> {
    fn clone(&self) -> Self {
        Self::new(self.path.clone(), self.kind)
    }
}

/// Why a list of remembered decisions cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// An operation on the file failed.
    #[error("cannot {action} {entries} in {}: {source}", path.display())]
    Io {
        /// The operation, such as "read".
        action: &'static str,
        /// The entries, such as "the remembered approvals".
        entries: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The content of the file is not of a known form.
    #[error("cannot use {}: {reason}; delete it, and you are asked again", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The list would be too long to be read again.
    #[error("{} would have more than {MAX_BYTES} bytes; {fix}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How to shorten it.
        fix: &'static str,
    },
}

impl EntryError {
    /// True unless an operation on the file failed.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The file: its version, and one list.
#[derive(Serialize, Deserialize)]
struct Form<T> {
    version: u32,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<T>>,
}

impl<T> EntryFile<T> {
    pub(crate) fn new(path: PathBuf, kind: &'static EntryKind) -> Self {
        Self {
            path,
            kind,
            entries: PhantomData,
        }
    }

    fn fault(&self, action: &'static str, source: io::Error) -> EntryError {
        EntryError::Io {
            action,
            entries: self.kind.what,
            path: self.path.clone(),
            source,
        }
    }

    fn lock(&self) -> io::Result<File> {
        if let Some(directory) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // A pipe in its place would block.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

impl<T: Serialize + DeserializeOwned> EntryFile<T> {
    /// Reads all entries.
    ///
    /// # Errors
    /// The file cannot be read, belongs to another user, every user may write to it, or it is
    /// not of a known form.
    pub(crate) fn read(&self) -> Result<Vec<T>, EntryError> {
        let text = match trusted_file::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(FileError {
                kind: io::ErrorKind::NotFound,
                ..
            }) => return Ok(Vec::new()),
            Err(error) => return Err(self.fault("read", error.into())),
        };
        let broken = |reason| EntryError::Invalid {
            path: self.path.clone(),
            reason,
        };
        let Form { version, mut lists } =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if version != VERSION {
            let why = format!("it has version {version}, and this program reads version {VERSION}");
            return Err(broken(why));
        }
        match (lists.remove(self.kind.key), lists.is_empty()) {
            (Some(entries), true) => Ok(entries),
            (Some(_) | None, _) => Err(broken(format!("it is not a list of {}", self.kind.key))),
        }
    }

    /// Changes the entries under a lock, so that no other process writes removed entries back.
    ///
    /// # Errors
    /// Those of [`Self::read`], and that the file cannot be written.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<T>)) -> Result<(), EntryError> {
        let _alone = self.lock().map_err(|error| self.fault("lock", error))?;
        let mut entries = self.read()?;
        change(&mut entries);
        let form = Form {
            version: VERSION,
            lists: [(self.kind.key.to_owned(), entries)].into(),
        };
        let text = serde_json::to_string_pretty(&form)
            .map_err(|error| self.fault("write", error.into()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(EntryError::TooLong {
                path: self.path.clone(),
                fix: self.kind.shorten,
            });
        }
        trusted_file::replace(&self.path, &text, 0o600).map_err(|error| self.fault("write", error))
    }
}

/// Returns the time, in milliseconds since 1970 (UTC).
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
