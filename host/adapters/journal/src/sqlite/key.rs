//! The keys of a state directory, each in a file of its own: that which signs continuations, and that
//! which signs rows. A key is made once, and read by every process that uses the directory.

use super::state_dir::{make_private, open_private, open_to_read};
use crate::{
    authority_file::AuthorityFile,
    error::StoreError,
    signature::{BYTES, RowKey},
};
use rustix::fs::FlockOperation;
use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// The size of the key, in bytes.
const KEY_BYTES: usize = 32;

/// The size of the file of the key that signs rows, in bytes, without its mark.
const ROWS_BYTES: usize = KEY_BYTES + AuthorityFile::ALL.len() * BYTES;

/// Stands for the digest of a file that was not there. BLAKE3 gives it for no text that is known.
const NO_FILE: [u8; BYTES] = [0; BYTES];

/// The most bytes of a file that are digested, more than its readers take.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Follows a key that signs rows until the rows of before it are signed.
const IS_NEW: u8 = b'n';

/// Reads the key of continuations, or makes it. The file is locked meanwhile, so that two processes
/// which make it at once agree.
pub(crate) fn read_or_make(path: &Path) -> Result<[u8; KEY_BYTES], StoreError> {
    let then = "pending calls are asked about again";
    let (file, stored) = read(path, KEY_BYTES, then)?;
    match stored.as_slice() {
        [] => {
            let key = random(path)?;
            write_at(path, &file, &key, 0)?;
            Ok(key)
        }
        stored => stored.try_into().map_err(|_| no_key(path, then)),
    }
}

/// Reads the key that signs rows, or makes it, and has `update` prepare the database. It is told
/// whether the key is new: rows of before it are signed then, and never again, whatever the
/// database says of its version.
pub(crate) fn with_rows_key<T>(
    path: &Path,
    update: impl FnOnce(&RowKey, bool) -> Result<T, StoreError>,
) -> Result<(RowKey, T), StoreError> {
    let stored = KeyOfRows::open(path)?;
    let (key, is_new) = (stored.key.clone(), stored.is_new);
    // Locked on only where something is to be settled: readers of tokens do not wait for a database.
    let unsettled = is_new.then_some(stored);
    let done = update(&key, is_new)?;
    if let Some(stored) = unsettled {
        stored.settle_rows()?;
    }
    Ok((key, done))
}

/// The file of the key that signs rows, locked: the key; the digest of each [`AuthorityFile`] of
/// before the key; and a mark until the rows of before the key are signed.
pub(crate) struct KeyOfRows {
    path: PathBuf,
    file: File,
    key: RowKey,
    /// One for each of [`AuthorityFile::ALL`].
    before: Vec<[u8; BYTES]>,
    is_new: bool,
}

impl KeyOfRows {
    /// Opens the file, or makes the key. The digests are taken then, and never again.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let then = "approve calls again, create tokens and trust again, and continue only copies of sessions";
        let (file, mut stored) = read(path, ROWS_BYTES, then)?;
        let is_new = match stored.len() {
            0 => {
                stored = random(path)?.to_vec();
                true
            }
            // Without digests it is of a version in which no entry of a file was signed.
            KEY_BYTES | ROWS_BYTES => false,
            _ if stored.pop() == Some(IS_NEW) => true,
            _ => return Err(no_key(path, then)),
        };
        if stored.len() == KEY_BYTES {
            let digests = AuthorityFile::ALL.map(|of| digest(&path.with_file_name(of.name())));
            stored.extend_from_slice(digests.as_flattened());
            let mark: &[u8] = if is_new { &[IS_NEW] } else { &[] };
            write_at(path, &file, &[&stored, mark].concat(), 0)?;
        }
        let (parts, rest) = stored.as_chunks::<KEY_BYTES>();
        match parts {
            [key, before @ ..] if before.len() == AuthorityFile::ALL.len() && rest.is_empty() => {
                Ok(Self {
                    path: path.to_owned(),
                    file,
                    key: RowKey::new(key),
                    before: before.to_vec(),
                    is_new,
                })
            }
            _ => Err(no_key(path, then)),
        }
    }

    pub(crate) fn key(&self) -> &RowKey {
        &self.key
    }

    /// Returns the digest of a file of before the key, until it is replaced by one with signatures.
    pub(crate) fn before(&self, file: AuthorityFile) -> Option<blake3::Hash> {
        let mut files = AuthorityFile::ALL.into_iter().zip(&self.before);
        let (_, digest) = files.find(|(known, _)| *known == file)?;
        (*digest != NO_FILE).then(|| blake3::Hash::from_bytes(*digest))
    }

    /// Forgets the digest of a file.
    pub(crate) fn settle_file(&self, file: AuthorityFile) -> Result<(), StoreError> {
        let before = AuthorityFile::ALL
            .iter()
            .take_while(|known| **known != file);
        let at = KEY_BYTES + before.count() * BYTES;
        write_at(&self.path, &self.file, &NO_FILE, at as u64)
    }

    /// Removes the mark of a new key.
    fn settle_rows(&self) -> Result<(), StoreError> {
        let cut = self.file.set_len(ROWS_BYTES as u64);
        let settled = cut.and_then(|()| self.file.sync_all());
        settled.map_err(|error| StoreError::io(&self.path, "write the key", error))
    }
}

/// Returns the digest of a file; [`NO_FILE`] where none is read: what is not noted is not believed,
/// and given anew.
fn digest(path: &Path) -> [u8; BYTES] {
    let mut hasher = blake3::Hasher::new();
    let hashed = open_to_read(path).and_then(|file| {
        hasher.update_reader(file.take(MAX_FILE_BYTES))?;
        Ok(())
    });
    match hashed {
        Ok(()) => *hasher.finalize().as_bytes(),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(
                    "{} is ignored because it cannot be read: {error}",
                    path.display()
                );
            }
            NO_FILE
        }
    }
}

/// Locks the file of a key of at most `size` bytes and a mark, and reads it; nothing of one that is
/// new.
fn read(path: &Path, size: usize, then: &'static str) -> Result<(File, Vec<u8>), StoreError> {
    let failed = |error: io::Error| StoreError::io(path, "read the key", error);
    let file = open_private(path).map_err(failed)?;
    make_private(path, &file)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let mut stored = Vec::new();
    let bound = size as u64 + 2;
    (&file)
        .take(bound)
        .read_to_end(&mut stored)
        .map_err(failed)?;
    match stored.len() as u64 {
        length if length == bound => Err(no_key(path, then)),
        _ => Ok((file, stored)),
    }
}

fn random(path: &Path) -> Result<[u8; KEY_BYTES], StoreError> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| {
        StoreError::io(path, "create the key", io::Error::other(error.to_string()))
    })?;
    Ok(key)
}

fn write_at(path: &Path, file: &File, bytes: &[u8], at: u64) -> Result<(), StoreError> {
    let written = file.write_all_at(bytes, at);
    let written = written.and_then(|()| file.sync_all());
    written.map_err(|error| StoreError::io(path, "write the key", error))
}

fn no_key(path: &Path, then: &'static str) -> StoreError {
    StoreError::KeyFile {
        path: path.to_owned(),
        bytes: KEY_BYTES,
        then,
    }
}

/// Puts another key into the place of the one that there is. It has the same size, so that a crash
/// leaves one of the two.
pub(crate) fn replace(path: &Path, key: [u8; KEY_BYTES]) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(path, "write the key", error);
    let file = open_private(path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    write_at(path, &file, &key, 0)
}
