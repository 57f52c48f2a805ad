//! The key that signs continuations: made once in a state directory, and read by every process that
//! uses the directory.

use super::state_dir::open_private;
use crate::error::StoreError;
use agent_host_engine::journal::JournalError;
use rustix::fs::FlockOperation;
use std::{
    io::{Read as _, Write as _},
    os::unix::fs::FileExt as _,
    path::Path,
};

/// The size of the key, in bytes.
const KEY_BYTES: usize = 32;

/// Reads the key, or makes it. The file is locked meanwhile, so that two processes which make it at
/// once agree.
pub(crate) fn read_or_make(path: &Path) -> Result<[u8; KEY_BYTES], JournalError> {
    let failed =
        |error: std::io::Error| StoreError::io(path, "read the key of continuations", error);
    let mut file = open_private(path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let mut stored = Vec::new();
    (&file)
        .take(KEY_BYTES as u64 + 1)
        .read_to_end(&mut stored)
        .map_err(failed)?;
    if stored.is_empty() {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key)
            .map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        file.write_all(&key)
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        return Ok(key);
    }
    stored.try_into().map_err(|_| {
        StoreError::ContinuationKey {
            path: path.to_owned(),
            bytes: KEY_BYTES,
        }
        .into()
    })
}

/// Puts another key into the place of the one that there is. It has the same size, so that a crash
/// leaves one of the two.
pub(crate) fn replace(path: &Path, key: [u8; KEY_BYTES]) -> Result<(), JournalError> {
    let failed = |error| StoreError::io(path, "write the key of continuations", error);
    let file = open_private(path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let written = file.write_all_at(&key, 0).and_then(|()| file.sync_all());
    Ok(written.map_err(failed)?)
}
