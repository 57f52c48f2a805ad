//! The marks of sessions that move to another store. One is written and synced before anything of
//! the session is stored there, and removed behind the session itself; meanwhile no process may
//! claim the session here, also if the move ended in a crash.

use crate::{error::StoreError, sqlite::state_dir::open_private, sqlite::state_dir::open_to_read};
use agent_host_engine::journal::{JournalError, SessionOwner};
use agent_host_types::id::SessionId;
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The name of the directory with the marks in the state directory.
const MOVING: &str = "moving";

/// The longest mark that is read, in bytes: far more than one takes.
const MAX_BYTES: u64 = 8 * 1024;

fn directory(locks: &Path) -> PathBuf {
    locks.with_file_name(MOVING)
}

/// Returns the process that moves a session, if that is so.
pub(crate) fn owner(
    locks: &Path,
    session: SessionId,
) -> Result<Option<SessionOwner>, JournalError> {
    let path = directory(locks).join(session.to_string());
    let failed = |error| StoreError::io(&path, "read the mark of the move", error);
    let mut text = Vec::new();
    let file = match open_to_read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let read = file.take(MAX_BYTES).read_to_end(&mut text);
    read.map_err(failed)?;
    let owner = serde_json::from_slice(&text);
    // A damaged one is in force as well: the session may be in the other store.
    let unknown = || SessionOwner {
        pid: 0,
        host: "an unknown host".to_owned(),
        since: "an unknown time".to_owned(),
    };
    Ok(Some(owner.unwrap_or_else(|_| unknown())))
}

/// Writes the mark of a session, whose lock the caller holds.
pub(crate) fn set(
    locks: &Path,
    session: SessionId,
    owner: &SessionOwner,
) -> Result<(), JournalError> {
    let directory = directory(locks);
    let path = directory.join(session.to_string());
    let write = || -> Result<(), io::Error> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        let new = path.with_extension("new");
        let mut file = open_private(&new)?;
        file.set_len(0)?;
        file.write_all(serde_json::to_string(owner)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(&directory)?.sync_all()
    };
    Ok(write().map_err(|error| StoreError::io(&path, "mark the session as moving", error))?)
}

/// Removes the mark of a session.
pub(crate) fn clear(locks: &Path, session: SessionId) -> Result<(), JournalError> {
    let path = directory(locks).join(session.to_string());
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io(&path, "remove the mark of the move", error).into())
        }
        _ => Ok(()),
    }
}

/// Returns all sessions with a mark.
pub(crate) fn all(locks: &Path) -> Vec<SessionId> {
    let names = fs::read_dir(directory(locks)).into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}
