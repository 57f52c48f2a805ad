//! The mark beside the database of the last stored event of a session, by which lost events are
//! detected.
//!
//! `SQLite` takes a write-ahead log that is damaged or cut off for one that ends earlier, without
//! an error. The mark is written after each commit and not synced: a crash of the process does not
//! lose it, and one that is older than the database is harmless. It detects what was lost in the
//! database alone, not a loss or an older copy of both files.

use crate::sqlite::state_dir::open_to_read;
use agent_host_types::id::SessionId;
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// The size of a mark at the beginning of its file, in bytes: 20 digits, a space, 64 hexadecimal
/// digits, the end of the line.
pub(super) const BYTES: u64 = 86;

/// The part of a session that is known to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of its events.
    pub(crate) events: u64,
    /// The digest of the last one.
    pub(crate) digest: [u8; 32],
}

impl Mark {
    /// Reads the mark of a session, if there is a complete one.
    pub(crate) fn read(locks: &Path, session: SessionId) -> Option<Self> {
        Self::from_file(&open_to_read(&super::path(locks, session)).ok()?)
    }

    /// Reads the mark in a lock file, if there is a complete one.
    pub(super) fn from_file(file: &File) -> Option<Self> {
        let mut text = [0; 86];
        file.read_exact_at(&mut text, 0).ok()?;
        let text = str::from_utf8(&text).ok()?.strip_suffix('\n')?;
        let (events, digest) = text.split_once(' ')?;
        Some(Self {
            events: events.parse().ok()?,
            digest: *blake3::Hash::from_hex(digest).ok()?.as_bytes(),
        })
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let digest = blake3::Hash::from_bytes(self.digest).to_hex();
        file.write_all_at(format!("{:020} {digest}\n", self.events).as_bytes(), 0)
    }
}

/// Returns all sessions that have a mark.
pub(crate) fn all(locks: &Path) -> io::Result<Vec<(SessionId, Mark)>> {
    let marked = sessions(locks)?
        .into_iter()
        .filter_map(|session| Some((session, Mark::read(locks, session)?)));
    Ok(marked.collect())
}

/// Returns all sessions that have a lock file.
pub(super) fn sessions(locks: &Path) -> io::Result<Vec<SessionId>> {
    let mut sessions = Vec::new();
    for entry in std::fs::read_dir(locks)? {
        let name = PathBuf::from(entry?.file_name());
        let stem = name.file_stem();
        sessions.extend(stem.and_then(|stem| stem.to_str()?.parse::<SessionId>().ok()));
    }
    Ok(sessions)
}
