//! The claim on a session: a lock that one process at a time holds.
//!
//! It is the kernel's lock on an open file (`flock`), so it ends with its owner, however that ends.
//! The content of the file is for other processes: the last event that is known to be stored (see
//! [`Mark`]), and the owner. The holder of the lock removes the file with its session; a process
//! that opened it before that finds it gone and opens the next one.

mod mark;
pub(crate) mod moving;
#[cfg(test)]
mod tests;

pub(crate) use mark::{Mark, all as marks};

use super::state_dir::{FileId, open_private, open_to_read};
use crate::{claim::this_process, error::StoreError};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rustix::{fs::FlockOperation, io::Errno};
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// The longest description of an owner that is read, in bytes: far more than one takes.
const MAX_OWNER_BYTES: usize = 4 * 1024;

/// The attempts to take a lock that others look at (see [`is_claimed`]), each of which lasts as long
/// as three system calls.
const LOOKS: u32 = 1_000;

/// The name of the directory with the files of sessions in the state directory.
const FILES: &str = "files";

/// The lock of a session, held while this value lives.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: File,
    path: PathBuf,
}

impl SessionLock {
    /// Takes the lock of a session that does not move to another store.
    ///
    /// # Errors
    /// [`JournalError::Locked`] names the owner.
    pub(crate) fn take(locks: &Path, session: SessionId) -> Result<Self, JournalError> {
        let lock = Self::take_moving(locks, session)?;
        match moving::owner(locks, session)? {
            None => Ok(lock),
            owner => Err(JournalError::Locked { session, owner }),
        }
    }

    /// Takes the lock of a session that may be on its way to another store.
    pub(crate) fn take_moving(locks: &Path, session: SessionId) -> Result<Self, JournalError> {
        let path = path(locks, session);
        let failed = |error| StoreError::io(&path, "lock the session with", error);
        let mut looks = 0;
        loop {
            let file = open_private(&path).map_err(failed)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) if looks < LOOKS && !is_locked(&file) => {
                    looks += 1;
                    std::thread::yield_now();
                    continue;
                }
                Err(Errno::WOULDBLOCK) => return Err(locked(session, &file)),
                Err(error) => return Err(failed(error.into()).into()),
            }
            let opened = FileId::from_metadata(&file.metadata().map_err(failed)?);
            if FileId::at(&path).is_ok_and(|found| found == opened) {
                // The owner is for messages; a disk too full to hold it does not affect the lock.
                let _ = write_owner(&file);
                return Ok(Self { file, path });
            }
            // It was removed with its session between the opening and the locking.
        }
    }

    /// Writes what is known to be stored. The mark is not synced, and one that cannot be written is
    /// only an older one.
    pub(crate) fn set_mark(&self, mark: &Mark) {
        let _ = mark.write(&self.file);
    }

    /// Removes the file and the directory of its session, which was removed.
    pub(crate) fn remove(self) {
        if let (Some(locks), Some(session)) = (self.path.parent(), self.path.file_stem()) {
            // Most sessions have none. One that stays belongs to no session.
            let _ = std::fs::remove_dir_all(files_dir(locks).join(session));
        }
        // A file that stays is only reused by a session of the same id.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for SessionLock {
    /// Removes the file of a session of which nothing was stored, and then lets go of the lock.
    fn drop(&mut self) {
        if Mark::from_file(&self.file).is_none() {
            let own = self
                .file
                .metadata()
                .map(|file| FileId::from_metadata(&file));
            // Once it was removed with its session, the file at the path is that of another process.
            if own.is_ok_and(|own| FileId::at(&self.path).is_ok_and(|found| found == own)) {
                let _ = std::fs::remove_file(&self.path);
            }
        }
        // Closing the file is not enough: a child process that another thread is starting has it
        // open, too, until it executes its program.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Whether a process has claimed a session. It looks by taking a shared lock for a moment, for
/// which a claim waits.
pub(crate) fn is_claimed(locks: &Path, session: SessionId) -> bool {
    open_to_read(&path(locks, session)).is_ok_and(|file| is_locked(&file))
}

/// Whether the lock of a session is held, and not only looked at. The file has a shared lock
/// otherwise, until it is closed.
fn is_locked(file: &File) -> bool {
    let looked = rustix::fs::flock(file, FlockOperation::NonBlockingLockShared);
    looked == Err(Errno::WOULDBLOCK)
}

/// Removes the lock files that processes left which were killed before anything of their session
/// was stored. What cannot be removed is tried again in the next pass.
pub(crate) fn remove_unmarked(locks: &Path) {
    for session in mark::sessions(locks).unwrap_or_default() {
        if Mark::read(locks, session).is_none() {
            // Dropping it removes the file.
            drop(SessionLock::take(locks, session));
        }
    }
}

/// The lock file of a session.
pub(crate) fn path(locks: &Path, session: SessionId) -> PathBuf {
    locks.join(format!("{session}.lock"))
}

/// Waits for the lock under which tables are made, which takes milliseconds. It is held while the
/// file is open.
pub(crate) fn wait_to_make(locks: &Path) -> Result<File, StoreError> {
    let path = locks.join("make.lock");
    let failed = |error| StoreError::io(&path, "take the lock", error);
    let file = open_private(&path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    Ok(file)
}

/// The directory with the files of sessions, beside that with the locks.
pub(crate) fn files_dir(locks: &Path) -> PathBuf {
    locks.with_file_name(FILES)
}

fn write_owner(file: &File) -> Result<(), std::io::Error> {
    let owner = serde_json::to_string(&this_process())?;
    file.write_all_at(owner.as_bytes(), mark::BYTES)?;
    file.set_len(mark::BYTES + owner.len() as u64)
}

fn locked(session: SessionId, file: &File) -> JournalError {
    let mut text = vec![0; MAX_OWNER_BYTES];
    let read = file.read_at(&mut text, mark::BYTES);
    text.truncate(read.unwrap_or_default());
    // The owner may be between taking the lock and writing its description.
    let owner = serde_json::from_slice(&text).ok();
    JournalError::Locked { session, owner }
}
