//! The signatures of entries in files of a state directory that confer authority: the tokens of
//! `serve`, and the trusted directories. The key is that of the rows of the state directory; a
//! store in PostgreSQL has another one for its rows.

use crate::{
    error::StoreError,
    signature::{RowKey, SignedTable, UnsignedRow, Value},
    sqlite::{KeyOfRows, rows_key_path},
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file of a state directory whose entries confer authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityFile {
    /// The tokens of `serve`.
    Tokens,
    /// The trusted configurations.
    Trust,
}

impl AuthorityFile {
    /// The files, in the order in which the file of the key has their digests.
    pub(crate) const ALL: [Self; 2] = [Self::Tokens, Self::Trust];

    /// Returns the name of the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "serve-tokens.json",
            Self::Trust => "trust.json",
        }
    }

    /// Returns an entry that is ignored; its name is untrusted text.
    #[must_use]
    pub fn unsigned(self, name: String) -> UnsignedRow {
        UnsignedRow::new(self.table(), name, None)
    }

    fn table(self) -> SignedTable {
        match self {
            Self::Tokens => SignedTable::Tokens,
            Self::Trust => SignedTable::Trust,
        }
    }
}

/// The key that signs the entries of a file.
#[derive(Debug)]
pub struct FileKey {
    key: RowKey,
    file: AuthorityFile,
    path: PathBuf,
    /// The digest of the file of an older version which is believed as it is.
    before: Option<blake3::Hash>,
}

impl FileKey {
    /// Reads the key of a state directory, or makes both. With the key, the files of older versions
    /// that are there are noted, so that no file that is put in their place later is believed.
    ///
    /// # Errors
    /// The key cannot be read or made, or another user could change the directory.
    pub fn open(state_dir: &Path, file: AuthorityFile) -> Result<Self, StoreError> {
        let path = rows_key_path(state_dir)?;
        let stored = KeyOfRows::open(&path)?;
        Ok(Self {
            key: stored.key().clone(),
            before: stored.before(file),
            file,
            path,
        })
    }

    /// Signs an entry: the file and all fields of the entry in their JSON form.
    ///
    /// # Errors
    /// The entry has no JSON form.
    pub fn sign<E: Serialize>(&self, entry: &E) -> Result<String, serde_json::Error> {
        let text = serde_json::to_string(entry)?;
        let signature = self.key.sign(self.file.table(), &[Value::Text(&text)]);
        Ok(blake3::Hash::from_bytes(signature).to_hex().to_string())
    }

    /// True if a signature is that of the entry.
    pub fn is_valid<E: Serialize>(&self, entry: &E, signature: Option<&str>) -> bool {
        let signature = signature.and_then(|text| blake3::Hash::from_hex(text).ok());
        let text = serde_json::to_string(entry);
        signature.zip(text.ok()).is_some_and(|(signature, text)| {
            let values = [Value::Text(&text)];
            let signature = Some(signature.as_bytes().as_slice());
            self.key.is_valid(self.file.table(), &values, signature)
        })
    }

    /// True of the text that the file had when the key was made, until [`Self::settle`]: in a form
    /// without signatures it is believed.
    #[must_use]
    pub fn is_from_before(&self, text: &str) -> bool {
        self.before == Some(blake3::hash(text.as_bytes()))
    }

    /// Has the file of an older version believed no more: one with signatures has replaced it.
    ///
    /// # Errors
    /// The file of the key cannot be written.
    pub fn settle(&self) -> Result<(), StoreError> {
        match self.before {
            Some(_) => KeyOfRows::open(&self.path)?.settle_file(self.file),
            None => Ok(()),
        }
    }
}
