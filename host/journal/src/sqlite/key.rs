//! The keys of a state directory, each in a file of its own: that which signs continuations, and that
//! which signs rows. A key is made once, and read by every process that uses the directory.

use super::state_dir::open_private;
use crate::{error::StoreError, signature::RowKey};
use agent_host_engine::journal::JournalError;
use rustix::fs::FlockOperation;
use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::fs::FileExt as _,
    path::Path,
};

/// The size of the key, in bytes.
const KEY_BYTES: usize = 32;

/// Follows a key that signs rows until the rows of before it are signed.
const IS_NEW: u8 = b'n';

/// Reads the key of continuations, or makes it. The file is locked meanwhile, so that two processes
/// which make it at once agree.
pub(crate) fn read_or_make(path: &Path) -> Result<[u8; KEY_BYTES], JournalError> {
    let then = "calls that wait for a decision are asked about anew";
    let (file, stored) = read(path, then)?;
    match stored.as_slice() {
        [] => {
            let key = random(path)?;
            write(path, &file, &key)?;
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
) -> Result<(RowKey, T), JournalError> {
    let then = "what was approved is asked about anew, and of sessions only copies are continued";
    let (file, mut stored) = read(path, then)?;
    if stored.is_empty() {
        stored = random(path)?.to_vec();
        stored.push(IS_NEW);
        write(path, &file, &stored)?;
    }
    let is_new = stored.len() == KEY_BYTES + 1 && stored.pop() == Some(IS_NEW);
    let key: [u8; KEY_BYTES] = stored.try_into().map_err(|_| no_key(path, then))?;
    let key = RowKey::new(&key);
    let done = update(&key, is_new)?;
    if is_new {
        let settled = file
            .set_len(KEY_BYTES as u64)
            .and_then(|()| file.sync_all());
        settled.map_err(|error| StoreError::io(path, "write the key", error))?;
    }
    Ok((key, done))
}

/// Locks the file of a key, and reads it; nothing of one that is new.
fn read(path: &Path, then: &'static str) -> Result<(File, Vec<u8>), JournalError> {
    let failed = |error: io::Error| StoreError::io(path, "read the key", error);
    let file = open_private(path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let mut stored = Vec::new();
    let bound = KEY_BYTES as u64 + 2;
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
        StoreError::io(path, "make the key", io::Error::other(error.to_string()))
    })?;
    Ok(key)
}

fn write(path: &Path, mut file: &File, bytes: &[u8]) -> Result<(), StoreError> {
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| StoreError::io(path, "write the key", error))
}

fn no_key(path: &Path, then: &'static str) -> JournalError {
    StoreError::KeyFile {
        path: path.to_owned(),
        bytes: KEY_BYTES,
        then,
    }
    .into()
}

/// Puts another key into the place of the one that there is. It has the same size, so that a crash
/// leaves one of the two.
pub(crate) fn replace(path: &Path, key: [u8; KEY_BYTES]) -> Result<(), JournalError> {
    let failed = |error| StoreError::io(path, "write the key", error);
    let file = open_private(path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let written = file.write_all_at(&key, 0).and_then(|()| file.sync_all());
    Ok(written.map_err(failed)?)
}
