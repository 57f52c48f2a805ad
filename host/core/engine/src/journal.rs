//! The journal of a session: the trait that the loop writes through, its error, and an
//! implementation in memory. agent-host-journal stores journals.

#[cfg(test)]
mod tests;

use crate::{BoxFuture, session::now_ms};
use agent_host_types::{
    event::EventRecord,
    facts::{CallFacts, WindowTally},
    id::{CallId, Digest, SessionId},
    output::Blob,
};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// An error of a journal or its storage. The message says what failed, why, and what to do.
///
/// The variants are the stable kinds; the source has the implementation's details. Clones share it,
/// since a failed write refuses every later barrier with the same error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// The storage failed: a full disk, a lost file, missing permission.
    #[error(transparent)]
    Storage(Arc<dyn Error + Send + Sync>),
    /// The stored data is not what was written, or is from a newer version.
    #[error(transparent)]
    Corrupt(Arc<dyn Error + Send + Sync>),
    /// Another process writes to the session.
    #[error(
        "session {session} is in use: {} is writing to it; wait for it, stop it, or start another session (reading \
         this one is always possible)",
        owner.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string)
    )]
    Locked {
        /// The session.
        session: SessionId,
        /// The process that holds the claim, if it is known.
        owner: Option<SessionOwner>,
    },
    /// The session to start already exists.
    #[error(
        "cannot start session {0}: a session with this id exists; resume it, or start one with another id"
    )]
    Exists(SessionId),
    /// The session, the blob or the position in a session does not exist.
    #[error(transparent)]
    NotFound(Arc<dyn Error + Send + Sync>),
}

impl JournalError {
    /// Makes a [`JournalError::Storage`] from an error or a text.
    pub fn storage(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Storage(Arc::from(source.into()))
    }

    /// Makes a [`JournalError::Corrupt`] from an error or a text.
    pub fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Corrupt(Arc::from(source.into()))
    }

    /// Makes a [`JournalError::NotFound`] from an error or a text.
    pub fn not_found(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::NotFound(Arc::from(source.into()))
    }
}

/// The process that holds the claim on a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOwner {
    /// The process id on that host.
    pub pid: u32,
    /// The host's name; several hosts may share the storage.
    pub host: String,
    /// The time of the claim, as RFC 3339 in UTC.
    pub since: String,
}

impl fmt::Display for SessionOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, host, since } = self;
        write!(f, "process {pid} on {host} since {since}")
    }
}

/// The journal of one session, claimed for writing by this process until it is dropped.
///
/// `append` queues events in order; the next `barrier` makes them durable together. An error of
/// `barrier` means that nothing since the last one is known to be stored, so the loop stops. Every
/// later barrier fails with the same error until [`Journal::retry`] is called.
pub trait Journal: Send + Sync {
    /// Returns the id of the session.
    fn session(&self) -> SessionId;

    /// Queues records and the blobs that they refer to. Cheap: need not write anything. A journal
    /// that writes before the barrier writes the records of one call together or not at all.
    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>);

    /// Makes all appended records durable.
    ///
    /// # Errors
    /// [`JournalError::Storage`].
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>>;

    /// After a failed barrier, makes the next one write everything that is not known to be stored.
    /// Only for a session that knows the result of all its records, such as that a call did not run
    /// because its intent was not stored. Returns false if that cannot succeed.
    fn retry(&self) -> bool {
        true
    }

    /// Waits until the claim on the session is lost, so that nothing more can be recorded. A
    /// journal whose claim lasts as long as it does waits forever.
    fn given_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// The bytes appended since the journal was opened, if the implementation counts them.
    fn appended_bytes(&self) -> u64 {
        0
    }

    /// Returns the clock of the session: that of the system, unless a recorded session is replayed.
    fn clock(&self) -> &dyn Clock {
        &SystemClock
    }

    /// Reads records in order from position `from`, including those that are not durable yet: one
    /// page of bounded size, empty after the last record.
    ///
    /// # Errors
    /// [`JournalError::Storage`] or [`JournalError::Corrupt`].
    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>>;

    /// Reads the number and the sums of earlier calls of a tool by the owner of the session, in its
    /// project, those of other sessions included. All earlier records of the session are durable.
    ///
    /// # Errors
    /// [`JournalError::Storage`], also if this journal does not count calls and windows are asked
    /// for; or [`JournalError::Corrupt`].
    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, Result<Tallies, JournalError>> {
        let read = match query.windows.is_empty() {
            true => Ok(Tallies::default()),
            false => Err(uncounted()),
        };
        Box::pin(std::future::ready(read))
    }

    /// Counts a call, durably, unless another one of its tool was counted since the tallies were
    /// read. Returns whether it is counted.
    ///
    /// # Errors
    /// As for [`Self::tallies`].
    fn count_call(&self, _call: CountedCall) -> BoxFuture<'_, Result<bool, JournalError>> {
        Box::pin(std::future::ready(Err(uncounted())))
    }

    /// Returns the facts that a recorded session which is replayed has next of a call.
    fn recorded_facts(&self, _call: &CallId) -> RecordedFacts {
        RecordedFacts::Unrecorded
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], or [`JournalError::Corrupt`] if the bytes do not match the
    /// digest.
    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>>;
}

/// The error of a journal that does not count calls.
fn uncounted() -> JournalError {
    JournalError::storage(
        "a [[rule]] has `count` or `sum`, and this journal does not count calls; remove the rule, or keep the sessions in a store that does",
    )
}

/// The facts about a call in a recorded session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedFacts {
    /// The session is not a recorded one: they are read.
    Unrecorded,
    /// They were read next.
    Next(CallFacts),
    /// They were those of the decision before.
    Unchanged,
}

/// A question for the number and the sums of earlier calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyQuery {
    /// The call that is decided on, which does not count itself.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The time of the decision, in milliseconds since 1970.
    pub at_ms: u64,
    /// The lengths of the windows before it, in milliseconds.
    pub windows: Vec<u64>,
    /// The arguments that are summed up, by JSON pointer.
    pub arguments: Vec<String>,
}

/// The number and the sums of earlier calls of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// The owner of the session, as the front end identifies it; absent for the user of the machine.
    pub owner: Option<String>,
    /// The number of calls that were counted so far, with which the next one is counted.
    pub counted: u64,
    /// Whether the call that is decided on is counted already: it ran before.
    pub has_call: bool,
    /// The tallies of those within each window.
    pub windows: Vec<WindowTally>,
}

/// A call that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The time of the decision, in milliseconds since 1970.
    pub at_ms: u64,
    /// [`Tallies::counted`] of the decision.
    pub counted: u64,
    /// The values of the arguments that are summed up, by JSON pointer; absent if one is unknown.
    pub amounts: BTreeMap<String, Option<Number>>,
}

/// The clock of a session. Implemented by the system's, and by the replay of a recorded session,
/// whose times are those of the recording.
pub trait Clock: Send + Sync {
    /// Returns the milliseconds since 1970 (UTC).
    fn now_ms(&self) -> u64;

    /// Returns the time since an instant of this session.
    fn elapsed(&self, since: Instant) -> Duration;

    /// Sets the times that the loop measured in a record which is about to be applied.
    fn stamp(&self, record: &mut EventRecord);
}

/// The clock of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn elapsed(&self, since: Instant) -> Duration {
        since.elapsed()
    }

    fn stamp(&self, _record: &mut EventRecord) {}
}

/// A journal in memory, for tests and sessions that are not stored.
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
    /// Makes an empty journal.
    #[must_use]
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            inner: Mutex::default(),
        }
    }

    /// The number of barriers so far.
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
        let result = found
            .ok_or_else(|| JournalError::not_found(format!("this session has no blob {digest}")));
        Box::pin(std::future::ready(result))
    }
}
