//! The lock that lets one process at a time write to a session.
//!
//! It is the kernel's lock on an open file (`flock`), so it ends with its owner, however that ends; the file's content only
//! tells people who that is. Lock files are never removed: between the unlocking and the removal of a file another process
//! may have locked it, and a third would then lock a new file of the same name, which makes two writers.

use crate::{fault::explain_io, folder::open_private};
use agent_host_core::{id::SessionId, journal::JournalError};
use rustix::{fs::FlockOperation, io::Errno};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

/// Far more than an owner's facts take; a longer file is not ours.
const MAX_LOCK_FILE_BYTES: u64 = 4 * 1024;

/// Held while this value lives.
#[derive(Debug)]
pub(crate) struct SessionLock {
    _file: File,
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
        let path = locks.join(format!("{session}.lock"));
        let fault = |error| explain_io(&path, "lock the session with", &error);
        let mut file = open_private(&path).map_err(fault)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(locked(session, &mut file)),
            Err(error) => return Err(fault(error.into())),
        }
        // The facts are for people; a disk too full to hold them does not make the lock less of a lock.
        let _ = write_owner(&mut file);
        Ok(Self { _file: file })
    }
}

/// Waits for the lock of this name, for work that takes milliseconds. It is held while the file is open.
pub(crate) fn wait(locks: &Path, name: &str) -> Result<File, JournalError> {
    let path = locks.join(format!("{name}.lock"));
    let fault = |error| explain_io(&path, "take the lock", &error);
    let file = open_private(&path).map_err(fault)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|error| fault(error.into()))?;
    Ok(file)
}

fn write_owner(file: &mut File) -> Result<(), std::io::Error> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(&Owner::this_process())?.as_bytes())
}

fn locked(session: SessionId, file: &mut File) -> JournalError {
    let mut text = String::new();
    let read = file.take(MAX_LOCK_FILE_BYTES).read_to_string(&mut text);
    // The owner may be between taking the lock and writing its facts.
    let owner = match read.ok().and_then(|_| serde_json::from_str(&text).ok()) {
        Some(Owner { pid, host, since }) => format!("process {pid} on {host} since {since}"),
        None => "another process".to_owned(),
    };
    JournalError::Locked(format!(
        "session {session} is in use: {owner} writes to it, and only one may; wait for it or end it, or begin another \
         session (reading this one is possible at any time)"
    ))
}
