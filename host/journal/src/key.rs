//! The key that continuations are signed with: made once in a state folder, and read by every process that uses the folder.

use crate::{fault::explain_io, folder::open_private};
use agent_host_engine::journal::JournalError;
use rustix::fs::FlockOperation;
use std::{
    io::{Read as _, Write as _},
    path::Path,
};

/// The size of the key, in bytes.
const KEY_BYTES: usize = 32;

/// Reads the key, or makes it. Two processes that come first at once agree, because the file is locked meanwhile.
pub(crate) fn read_or_make(path: &Path) -> Result<[u8; KEY_BYTES], JournalError> {
    let fault = |error: std::io::Error| explain_io(path, "read the key of continuations", &error);
    let mut file = open_private(path).map_err(fault)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|error| fault(error.into()))?;
    let mut kept = Vec::new();
    (&file)
        .take(KEY_BYTES as u64 + 1)
        .read_to_end(&mut kept)
        .map_err(fault)?;
    if kept.is_empty() {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key)
            .map_err(|error| fault(std::io::Error::other(error.to_string())))?;
        file.write_all(&key)
            .and_then(|()| file.sync_all())
            .map_err(fault)?;
        return Ok(key);
    }
    kept.try_into().map_err(|_| {
        JournalError::Corrupt(format!(
            "{} does not hold a key of {KEY_BYTES} bytes; delete it, and calls that wait for a decision are asked about anew",
            path.display()
        ))
    })
}
