//! A list of entries in a file of the state directory: what a user decided once and is not asked
//! again. One process changes it at a time, and a reader sees the old list or the new one.

use crate::{error::OpenError, trusted_file};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fs::{DirBuilder, File},
    marker::PhantomData,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// The version of the file's form.
const VERSION: u32 = 1;

/// The longest file that is read or written, in bytes: thousands of entries.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a file holds, in words for messages.
#[derive(Debug)]
pub(crate) struct EntryKind {
    /// The key of the list in the file.
    pub(crate) key: &'static str,
    /// The entries, such as "the remembered approvals".
    pub(crate) what: &'static str,
    /// How a user makes a list shorter that is too long.
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

    fn fault(&self, action: &str, error: &std::io::Error) -> OpenError {
        OpenError::Failed(format!(
            "cannot {action} {} in {}: {error}",
            self.kind.what,
            self.path.display()
        ))
    }

    fn lock(&self) -> std::io::Result<File> {
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
            // A pipe in its place would keep this waiting.
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
    /// When the file cannot be read, belongs to another user, every user may write to it, or it is
    /// not in the form that this program knows.
    pub(crate) fn read(&self) -> Result<Vec<T>, OpenError> {
        let text = match trusted_file::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.fault("read", &error)),
        };
        let broken = |why: &dyn std::fmt::Display| {
            OpenError::usage(format!(
                "cannot use {}: {why}; delete it, and people are asked again",
                self.path.display()
            ))
        };
        let Form { version, mut lists } =
            serde_json::from_str(&text).map_err(|error| broken(&error))?;
        if version != VERSION {
            let why = format!("it has version {version}, and this program reads version {VERSION}");
            return Err(broken(&why));
        }
        match (lists.remove(self.kind.key), lists.is_empty()) {
            (Some(entries), true) => Ok(entries),
            (Some(_) | None, _) => Err(broken(&format!("it is no list of {}", self.kind.key))),
        }
    }

    /// Changes the entries while no other process does: what one removes, another must not write
    /// back.
    ///
    /// # Errors
    /// As for [`Self::read`], and when the file cannot be written.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<T>)) -> Result<(), OpenError> {
        let _alone = self.lock().map_err(|error| self.fault("lock", &error))?;
        let mut entries = self.read()?;
        change(&mut entries);
        let form = Form {
            version: VERSION,
            lists: [(self.kind.key.to_owned(), entries)].into(),
        };
        let text = serde_json::to_string_pretty(&form)
            .map_err(|error| self.fault("write", &error.into()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(OpenError::usage(format!(
                "{} would have more than {MAX_BYTES} bytes; {}",
                self.path.display(),
                self.kind.shorten
            )));
        }
        trusted_file::replace(&self.path, &text, 0o600).map_err(|error| self.fault("write", &error))
    }
}

/// The time, in milliseconds since 1970 (UTC).
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
