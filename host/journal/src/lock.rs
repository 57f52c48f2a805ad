//! The lock that lets one process at a time write to a session.
//!
//! It is the kernel's lock on an open file (`flock`), so it ends with its owner, however that ends. The file's content is for
//! others: which event of the session is known to be stored (see [`Mark`]), and who writes to it. The file is removed with its
//! session, by the holder of the lock; a process that opened it before that finds it gone and opens the next one.

mod mark;

pub(crate) use mark::{Mark, all as marks};

use crate::{
    fault::explain_io,
    folder::{FileId, open_private},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rustix::{fs::FlockOperation, io::Errno};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// Far more than an owner's facts take; a longer file is not ours.
const MAX_OWNER_BYTES: usize = 4 * 1024;

/// Held while this value lives.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: File,
    path: PathBuf,
}

/// Who holds a lock.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// The process id on that host.
    pub(crate) pid: u32,
    /// The host's name; the state folder may be on a network.
    pub(crate) host: String,
    /// When it took the lock, as RFC 3339 in UTC.
    pub(crate) since: String,
}

impl Owner {
    fn this_process() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        Self {
            pid: std::process::id(),
            host: host.trim().to_owned(),
            since: since.to_string(),
        }
    }
}

impl SessionLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(locks: &Path, session: SessionId) -> Result<Self, JournalError> {
        let path = path(locks, session);
        let fault = |error| explain_io(&path, "lock the session with", &error);
        loop {
            let file = open_private(&path).map_err(fault)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(locked(session, &file)),
                Err(error) => return Err(fault(error.into())),
            }
            let opened = FileId::of(&file.metadata().map_err(fault)?);
            if FileId::at(&path).is_ok_and(|found| found == opened) {
                // The facts are for people; a disk too full to hold them does not make the lock less of a lock.
                let _ = write_owner(&file);
                return Ok(Self { file, path });
            }
            // It was removed with its session between the opening and the locking.
        }
    }

    /// Notes what is known to be stored. It is not synced, and a note that cannot be written is only an older one.
    pub(crate) fn note(&self, mark: &Mark) {
        let _ = mark.write(&self.file);
    }

    /// Removes the file: the session is gone.
    pub(crate) fn remove(self) {
        // A file that stays is only reused by a session of the same id.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The lock file of a session.
pub(crate) fn path(locks: &Path, session: SessionId) -> PathBuf {
    locks.join(format!("{session}.lock"))
}

/// Waits for the lock of this name, for work that takes milliseconds. It is held while the file is open.
pub(crate) fn wait(locks: &Path, name: &str) -> Result<File, JournalError> {
    let path = locks.join(format!("{name}.lock"));
    let fault = |error| explain_io(&path, "take the lock", &error);
    let file = open_private(&path).map_err(fault)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|error| fault(error.into()))?;
    Ok(file)
}

fn write_owner(file: &File) -> Result<(), std::io::Error> {
    let owner = serde_json::to_string(&Owner::this_process())?;
    file.write_all_at(owner.as_bytes(), mark::BYTES)?;
    file.set_len(mark::BYTES + owner.len() as u64)
}

fn locked(session: SessionId, file: &File) -> JournalError {
    let mut text = vec![0; MAX_OWNER_BYTES];
    let read = file.read_at(&mut text, mark::BYTES);
    text.truncate(read.unwrap_or_default());
    // The owner may be between taking the lock and writing its facts.
    let owner = match serde_json::from_slice(&text) {
        Ok(Owner { pid, host, since }) => format!("process {pid} on {host} since {since}"),
        Err(_) => "another process".to_owned(),
    };
    JournalError::Locked(format!(
        "session {session} is in use: {owner} writes to it, and only one may; wait for it or end it, or begin another \
         session (reading this one is possible at any time)"
    ))
}
