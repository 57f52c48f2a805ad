//! The files of a state directory whose entries confer authority: tokens, and trusted
//! configurations. Each entry has a signature by the key of the state directory. One without a valid
//! signature is as if it were absent, and is kept until it is removed by name. One process changes a
//! file at a time, and a reader sees the old list or the new one.

use crate::trusted_file::{self, FileError, Versioned};
use agent_host_journal::{AuthorityFile, FileKey, StoreError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io,
    marker::PhantomData,
    path::{Path, PathBuf},
};

/// The maximum size of a file, in bytes: thousands of entries.
const MAX_BYTES: u64 = 1024 * 1024;

/// An entry of such a file.
pub trait AuthorityEntry: Serialize + DeserializeOwned {
    /// The file.
    const FILE: AuthorityFile;
    /// The version of its format. In older ones no entry is signed.
    const VERSION: u32;
    /// The entries, for messages, such as "the tokens".
    const NOUN: &'static str;
    /// The end of the sentence that advises to delete the file: what follows then.
    const THEN: &'static str;
    /// The end of the sentence that the file would be too long: how entries are removed.
    const REMOVE: &'static str;

    /// Returns the name of the entry, which is untrusted where its signature is not valid.
    fn name(&self) -> String;
}

/// Why a file cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SignedFileError {
    /// An operation on the file failed.
    #[error("cannot {action} {noun} in {}: {source}", path.display())]
    Io {
        /// The operation, such as "read".
        action: &'static str,
        /// The entries.
        noun: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The content of the file is not of a known form.
    #[error("cannot use {}: {reason}; delete it, and {then}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// The end of the sentence: the consequence.
        then: &'static str,
    },
    /// The list would be too long to be read again.
    #[error("{} would have more than {MAX_BYTES} bytes; {remove}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How entries are removed.
        remove: &'static str,
    },
    /// The key of the state directory cannot be used.
    #[error(transparent)]
    Key(#[from] StoreError),
}

/// The entries of a file.
#[derive(Debug)]
pub struct Entries<E> {
    /// Those with a valid signature.
    pub believed: Vec<E>,
    /// Those without.
    pub ignored: Vec<SignedEntry<E>>,
}

impl<E> Default for Entries<E> {
    fn default() -> Self {
        Self {
            believed: Vec::new(),
            ignored: Vec::new(),
        }
    }
}

impl<E: AuthorityEntry> Entries<E> {
    /// Adds an entry in place of all that `is_replaced` is true of, and logs those that are ignored.
    pub fn put(&mut self, entry: E, is_replaced: impl Fn(&E) -> bool) {
        self.believed.retain(|known| !is_replaced(known));
        let replaced = |known: &mut SignedEntry<E>| is_replaced(&known.entry);
        for known in self.ignored.extract_if(.., replaced) {
            let row = E::FILE.unsigned(known.entry.name());
            tracing::warn!("replaced by a new entry: {row}");
        }
        self.believed.push(entry);
    }

    /// Removes the entries that `is_gone` is true of, ignored ones, too, and returns them.
    pub fn remove(&mut self, is_gone: impl Fn(&E) -> bool) -> Vec<E> {
        let mut gone: Vec<E> = self
            .believed
            .extract_if(.., |known| is_gone(known))
            .collect();
        let ignored = self.ignored.extract_if(.., |known| is_gone(&known.entry));
        gone.extend(ignored.map(|known| known.entry));
        gone
    }
}

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedEntry<E> {
    /// The entry, which is signed as a whole.
    pub entry: E,
    /// Its signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// The form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedForm<E> {
    version: u32,
    entries: Vec<SignedEntry<E>>,
}

/// The form of the file in the versions in which no entry was signed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsignedForm<E> {
    #[serde(rename = "version")]
    _version: u32,
    #[serde(alias = "tokens", alias = "trusted")]
    entries: Vec<E>,
}

/// A file whose entries are signed.
#[derive(Debug)]
pub struct SignedFile<E> {
    directory: PathBuf,
    path: PathBuf,
    entries: PhantomData<fn() -> E>,
}

impl<E> Clone for SignedFile<E> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            path: self.path.clone(),
            entries: PhantomData,
        }
    }
}

impl<E: AuthorityEntry> SignedFile<E> {
    /// Returns the file of a state directory, which may not exist.
    #[must_use]
    pub fn in_dir(state_dir: &Path) -> Self {
        Self {
            directory: state_dir.to_owned(),
            path: state_dir.join(E::FILE.name()),
            entries: PhantomData,
        }
    }

    /// Reads all entries.
    ///
    /// # Errors
    /// The file or the key cannot be read, belongs to another user, every user may write to it, or
    /// it is not of a known form.
    pub fn read(&self) -> Result<Entries<E>, SignedFileError> {
        let found = self.path.symlink_metadata();
        match found.map_err(|error| error.kind()) {
            Err(io::ErrorKind::NotFound) => Ok(Entries::default()),
            _ => self.read_by(&self.key()?),
        }
    }

    /// Changes the list under a lock, so that no other process writes removed entries back. What is
    /// ignored stays as it is, unless `change` removes it.
    ///
    /// # Errors
    /// Those of [`Self::read`] and of `change`, and that the file cannot be written.
    pub fn change<T, F: From<SignedFileError>>(
        &self,
        change: impl FnOnce(&mut Entries<E>) -> Result<T, F>,
    ) -> Result<T, F> {
        let _alone = trusted_file::lock(&self.path).map_err(|error| self.fault("lock", error))?;
        let key = self.key()?;
        let mut entries = self.read_by(&key)?;
        let done = change(&mut entries)?;
        self.write(&key, entries)?;
        Ok(done)
    }

    /// Reads all entries. The key is read before the file: a file of an older version that has been
    /// replaced since is not read any more.
    fn read_by(&self, key: &FileKey) -> Result<Entries<E>, SignedFileError> {
        let text = match trusted_file::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(FileError {
                kind: io::ErrorKind::NotFound,
                ..
            }) => return Ok(Entries::default()),
            Err(error) => return Err(self.fault("read", error.into())),
        };
        let invalid = |reason| SignedFileError::Invalid {
            path: self.path.clone(),
            reason,
            then: E::THEN,
        };
        let broken = |error: serde_json::Error| invalid(error.to_string());
        // The version first: the other keys are those of that version.
        let Versioned { version } = serde_json::from_str(&text).map_err(broken)?;
        let latest = E::VERSION;
        if !(1..=latest).contains(&version) {
            return Err(invalid(format!(
                "it has version {version}, and this program reads versions 1 to {latest}"
            )));
        }
        if version == latest {
            let form: SignedForm<E> = serde_json::from_str(&text).map_err(broken)?;
            let is_valid =
                |known: &SignedEntry<E>| key.is_valid(&known.entry, known.signature.as_deref());
            let (valid, ignored) = form.entries.into_iter().partition::<Vec<_>, _>(is_valid);
            let believed = valid.into_iter().map(|known| known.entry).collect();
            return Ok(Entries { believed, ignored });
        }
        let form: UnsignedForm<E> = serde_json::from_str(&text).map_err(broken)?;
        if key.is_from_before(&text) {
            return Ok(Entries {
                believed: form.entries,
                ignored: Vec::new(),
            });
        }
        let unsigned = |entry| SignedEntry {
            entry,
            signature: None,
        };
        Ok(Entries {
            believed: Vec::new(),
            ignored: form.entries.into_iter().map(unsigned).collect(),
        })
    }

    fn write(&self, key: &FileKey, entries: Entries<E>) -> Result<(), SignedFileError> {
        let broken = |error: serde_json::Error| self.fault("write", error.into());
        let signed = entries.believed.into_iter().map(|entry| {
            let signature = Some(key.sign(&entry)?);
            Ok(SignedEntry { entry, signature })
        });
        let signed = signed.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        let form = SignedForm {
            version: E::VERSION,
            entries: signed.into_iter().chain(entries.ignored).collect(),
        };
        let text = serde_json::to_string_pretty(&form).map_err(broken)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(SignedFileError::TooLong {
                path: self.path.clone(),
                remove: E::REMOVE,
            });
        }
        let replaced = trusted_file::replace(&self.path, &text, 0o600);
        replaced.map_err(|error| self.fault("write", error))?;
        Ok(key.settle()?)
    }

    fn key(&self) -> Result<FileKey, SignedFileError> {
        Ok(FileKey::open(&self.directory, E::FILE)?)
    }

    fn fault(&self, action: &'static str, source: io::Error) -> SignedFileError {
        SignedFileError::Io {
            action,
            noun: E::NOUN,
            path: self.path.clone(),
            source,
        }
    }
}
