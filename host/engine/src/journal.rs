//! Where events go. The loop writes through this trait; the store crate implements it on SQLite.

#[cfg(test)]
mod tests;

use crate::BoxFuture;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Why the journal cannot be read or written. The text is for people: it says what, why and what to do.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The storage failed: a full disk, a lost file, missing permission.
    #[error("{0}")]
    Storage(String),
    /// What is stored is not what was written, or is from a newer version.
    #[error("{0}")]
    Corrupt(String),
    /// Another process writes to this session.
    #[error("{0}")]
    Locked(String),
    /// There is no such session or blob.
    #[error("{0}")]
    NotFound(String),
}

/// The journal of one session, open for writing by this process alone. Implemented by agent-host-journal on SQLite, and by
/// [`MemoryJournal`] for tests and embedders.
///
/// `append` puts events in order; they become durable together at the next `barrier`. An error of `barrier` means that
/// nothing since the last one is known to be stored: the loop stops before it does anything further. Every later barrier fails as
/// well, unless [`Journal::retry`] is asked for first.
pub trait Journal: Send + Sync {
    /// The session.
    fn session(&self) -> SessionId;

    /// Adds records and the blobs that they refer to. Cheap: nothing has to be written yet. A journal that writes before the
    /// barrier writes what came in one call together or not at all.
    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>);

    /// Makes everything that was appended durable.
    ///
    /// # Errors
    /// [`JournalError::Storage`].
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>>;

    /// After a failed barrier: has the next one write again everything that is not known to be stored. Only for a session that
    /// knows what has become of everything that it recorded, such as that a call whose intention was not stored did not run.
    /// Returns whether that can succeed.
    fn retry(&self) -> bool {
        true
    }

    /// How much was appended since the journal was opened, in bytes, as far as it is counted.
    fn appended_bytes(&self) -> u64 {
        0
    }

    /// Reads the next records of the session, in order, from the one with this number on, those not yet durable included:
    /// as many as the journal hands out at once, and none behind the last. So a session of any length is followed in little
    /// memory.
    ///
    /// # Errors
    /// [`JournalError::Storage`] or [`JournalError::Corrupt`].
    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>>;

    /// Reads a blob.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], or [`JournalError::Corrupt`] when the bytes do not have the digest.
    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>>;
}

/// A journal that lives as long as the process.
#[derive(Debug)]
pub struct MemoryJournal {
    session: SessionId,
    inner: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    records: Vec<EventRecord>,
    blobs: HashMap<Digest, Vec<u8>>,
    barriers: u64,
}

impl MemoryJournal {
    /// An empty journal for a session.
    #[must_use]
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            inner: Mutex::default(),
        }
    }

    /// How many barriers there were.
    #[must_use]
    pub fn barriers(&self) -> u64 {
        self.lock().barriers
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn session(&self) -> SessionId {
        self.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut inner = self.lock();
        inner.records.extend_from_slice(records);
        inner
            .blobs
            .extend(blobs.into_iter().map(|blob| (blob.digest, blob.bytes)));
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        self.lock().barriers += 1;
        Box::pin(std::future::ready(Ok(())))
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let inner = self.lock();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = inner.records.get(from..).unwrap_or_default();
        Box::pin(std::future::ready(Ok(rest.to_vec())))
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let found = self.lock().blobs.get(&digest).cloned();
        let result = found.ok_or_else(|| {
            JournalError::NotFound(format!("there is no blob {digest} in this session"))
        });
        Box::pin(std::future::ready(result))
    }
}
