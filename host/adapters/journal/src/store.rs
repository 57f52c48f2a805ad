//! The trait of all stores, and the values that it takes and returns.

use crate::{
    error::StoreError,
    firing::Firing,
    found::FoundEvents,
    link::SessionLink,
    memory_item::{MemoryChange, MemoryItem, MemoryQuery, Remembered},
    ownership::{Copier, Ownership, SessionScope},
    session_list::{ListPage, SessionInfo, SessionName},
    shared_runs::SharedRuns,
    stats::StoredStats,
    stored_approval::ProjectApproval,
    transfer::{ImportAs, ImportSource},
};
use agent_host_engine::{
    BoxFuture,
    journal::{Journal, JournalError},
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    session_status::SessionStatus,
    stats::StatsBy,
};
use std::{
    collections::BTreeMap,
    fmt::Debug,
    io::{BufRead, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

/// The future of an operation of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// The journals of all sessions, with what is kept beside them: blobs, the approvals that are
/// remembered for projects, and the key that signs continuations.
///
/// No operation blocks the thread that polls it. A future that is dropped stops waiting; the
/// operation is carried out all the same.
///
/// # Claims
/// [`Self::create`] and [`Self::open_session`] claim the session: its journal is writable by this
/// process alone until it is dropped. Meanwhile every other claim, also that of [`Self::delete`] and
/// [`Self::prune`], is refused with [`JournalError::Locked`], which names the owner. Reading needs no
/// claim. A store on several hosts leases claims: a journal whose lease has ended fails its next
/// barrier.
///
/// # Errors
/// Every operation can fail with [`JournalError::Storage`] or [`JournalError::Corrupt`]; the others
/// are listed where they occur.
pub trait JournalStore: Debug + Send + Sync {
    /// Starts the journal of a new session. The session is listed from its first durable event on,
    /// and owned from then on. Without an owner it belongs to that of the session which started it,
    /// or else to its working directory.
    ///
    /// # Errors
    /// [`JournalError::Locked`], [`JournalError::Exists`].
    fn create_owned(
        &self,
        session: SessionId,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, Arc<dyn Journal>>;

    /// Starts the journal of a new session as [`Self::create_owned`] does, without an owner.
    ///
    /// # Errors
    /// As for [`Self::create_owned`].
    fn create(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.create_owned(session, None)
    }

    /// Whether the journals count calls, for rules with `count` or `sum`.
    fn counts_calls(&self) -> bool {
        false
    }

    /// Opens a session for writing.
    ///
    /// # Errors
    /// [`JournalError::Locked`], [`JournalError::NotFound`].
    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>>;

    /// Lists the sessions of a scope, the one that was written to last first.
    fn list_in(&self, scope: SessionScope) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Lists all sessions, the one that was written to last first.
    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.list_in(SessionScope::All)
    }

    /// Whether a session exists within a scope. One that does not and one outside take the same
    /// work.
    fn is_within(&self, session: SessionId, scope: SessionScope) -> StoreFuture<'_, bool>;

    /// Lists a part of the sessions, the one that was written to last first. Those of agents are
    /// left out.
    fn list_page(&self, page: ListPage) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Lists the sessions that wait for the user or for results from outside, the one that was
    /// written to longest ago first. Those of agents are left out: the session that started them
    /// waits for the same.
    fn list_waiting(&self) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Counts the sessions of a scope by status. Those of agents are left out.
    fn count_statuses(&self, scope: SessionScope) -> StoreFuture<'_, BTreeMap<SessionStatus, u64>>;

    /// Reads the sums of what the sessions of a scope used from a day since 1970 on, by a subject.
    /// They are kept in the transactions that store the events, so that reading them costs the same
    /// however many sessions there are. Those of a session that is deleted or moves are subtracted;
    /// those of one that retention removes stay.
    fn stats(&self, scope: SessionScope, by: StatsBy, since: u32) -> StoreFuture<'_, StoredStats>;

    /// Reads the rows of sessions in lists, in no order, of those that exist.
    fn infos(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Reads the rows of the sessions with a name, the one that was written to last first.
    fn named(&self, name: String) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Reads the next durable records of a session in order from number `from` on: one page of
    /// about 1 MiB, and an empty one behind the last record.
    ///
    /// # Errors
    /// [`JournalError::NotFound`].
    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>>;

    /// Reads the next durable records of a session that are found, in order from number `from` on:
    /// one page of about 1 MiB, and an empty one behind the last. Others may be among them.
    ///
    /// # Errors
    /// [`JournalError::NotFound`].
    fn read_found(
        &self,
        session: SessionId,
        which: FoundEvents,
        from: u64,
    ) -> StoreFuture<'_, Vec<EventRecord>>;

    /// Whether an event of a session refers to a blob; not for one that does not exist.
    fn has_blob(&self, session: SessionId, digest: Digest) -> StoreFuture<'_, bool>;

    /// Reads a blob.
    ///
    /// # Errors
    /// [`JournalError::NotFound`].
    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>>;

    /// Returns the session whose name is `prefix`, or whose id begins with it or ends with it (at
    /// least [`SHORT_ID_CHARS`](crate::SHORT_ID_CHARS) characters); for `latest` the one that was written to last,
    /// whatever the clock said, and that is no agent's.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], also if several sessions match; the text names them.
    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId>;

    /// Names a session. Of the sessions of one owner in one directory, only one has a name. The name
    /// is not part of the session: copies and exports have none.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], also if another of those sessions has the name.
    fn name_session(&self, session: SessionId, name: SessionName) -> StoreFuture<'_, ()>;

    /// Copies a session into a new one, without its authority (see
    /// [`SessionCopy`](agent_host_engine::session::SessionCopy)): up to event `at`, which must end
    /// a turn, or all of it. The sessions of its agents are copied along. The copy stays in the
    /// project, and is owned by the one who asks; without `by` by the user of the machine.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], also if no turn ends at `at`.
    fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> StoreFuture<'_, SessionId>;

    /// Writes a session with its blobs, and those of its agents, as one file of JSON lines, and
    /// flushes it. Nothing is written if a blob is missing or damaged.
    ///
    /// # Errors
    /// [`JournalError::NotFound`].
    fn export(&self, session: SessionId, out: Box<dyn Write + Send>) -> StoreFuture<'_, ()>;

    /// Stores the session of an exported file with those of its agents, or a conversation, and
    /// returns its id here. It may come from an untrusted source, unless it is [`ImportAs::Moved`]:
    /// the session is a copy without authority, and nothing is stored unless all of it is valid.
    /// It does not say whose the session is; without an owner it belongs to its working directory.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] names the invalid line; [`JournalError::Exists`],
    /// [`JournalError::Locked`].
    fn import_owned(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, SessionId>;

    /// Stores the session of an exported file as [`Self::import_owned`] does, without an owner.
    ///
    /// # Errors
    /// As for [`Self::import_owned`].
    fn import(&self, file: Box<dyn BufRead + Send>, how: ImportAs) -> StoreFuture<'_, SessionId> {
        self.import_owned(ImportSource::File(file), how, None)
    }

    /// Remembers that a session leaves this store sealed: if it is continued here and removed, a
    /// file from before is not imported any more. The memory is bounded.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], and [`JournalError::Corrupt`] for a session that no host of this
    /// store wrote as it is.
    fn remember_sealed(&self, session: SessionId) -> StoreFuture<'_, ()>;

    /// Removes a session with those of its agents, and the blobs to which no other session refers.
    ///
    /// # Errors
    /// [`JournalError::Locked`], [`JournalError::NotFound`], also for an agent's session alone,
    /// without which its call would run again.
    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()>;

    /// Removes the oldest sessions that exceed the retention, and returns their space. A session
    /// that is claimed or awaits a decision, an answer or a result stays; those of agents stay or
    /// go with the one that started them.
    fn prune(&self, retention: Retention) -> StoreFuture<'_, Pruned>;

    /// Returns the sessions of which the store has fewer events than were durable, as far as it can
    /// tell: a damaged log or an older copy of a file has that effect.
    fn lost_events(&self) -> StoreFuture<'_, Vec<LostEvents>>;

    /// Accepts a session as it is, although events are lost, and returns the number of its events.
    ///
    /// # Errors
    /// [`JournalError::Locked`].
    fn recover(&self, session: SessionId) -> StoreFuture<'_, u64>;

    /// Returns the approvals that are remembered for a project, or else for all, the oldest first.
    /// Another process may revoke one at any time, so they are read for each turn.
    fn approvals(&self, project: Option<String>) -> StoreFuture<'_, Vec<ProjectApproval>>;

    /// Remembers approvals; one that is remembered for its project stays as it is.
    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()>;

    /// Revokes approvals: no read from now on returns them.
    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()>;

    /// Records a firing, unless one of its trigger and key is there, which is returned then. Of
    /// concurrent calls one records it. The oldest closed ones of the trigger beyond
    /// [`MAX_FIRINGS`](crate::MAX_FIRINGS) are removed.
    fn record_firing(&self, firing: Firing) -> StoreFuture<'_, Option<Firing>>;

    /// Takes over the open firings of these triggers that are due, the oldest first, at most 64.
    /// They are due again at `until_ms`, so that of several hosts one has each until then.
    fn take_firings(
        &self,
        triggers: Vec<String>,
        now_ms: u64,
        until_ms: u64,
    ) -> StoreFuture<'_, Vec<Firing>>;

    /// Replaces a firing by `to`, if it is still due when `taken` was, and returns whether it was:
    /// one that another host has taken over stays as it is.
    fn update_firing(&self, taken: Firing, to: Firing) -> StoreFuture<'_, bool>;

    /// Returns firings of a trigger without their messages, the newest first, at most `limit`.
    fn firings(&self, trigger: String, limit: u32) -> StoreFuture<'_, Vec<Firing>>;

    /// Adds a link to a session, and returns whether there was a place for it. Those that have
    /// expired at `now_ms` are removed, and at most [`MAX_LINKS`](crate::MAX_LINKS) are kept.
    ///
    /// # Errors
    /// [`JournalError::NotFound`].
    fn add_link(&self, link: SessionLink, now_ms: u64) -> StoreFuture<'_, bool>;

    /// Returns the link with a hash.
    fn find_link(&self, hash: String) -> StoreFuture<'_, Option<SessionLink>>;

    /// Returns the links to a session, the newest first. They are removed with it.
    fn links(&self, session: SessionId) -> StoreFuture<'_, Vec<SessionLink>>;

    /// Opens a link, which has another hash from then on, and returns whether it was as it is. Of
    /// concurrent calls of all hosts one opens it.
    fn open_link(&self, link: SessionLink, hash: String) -> StoreFuture<'_, bool>;

    /// Removes the link to a session that has an id, and returns whether there was one.
    fn remove_link(&self, session: SessionId, id: String) -> StoreFuture<'_, bool>;

    /// Remembers an item, unless its call has done so before or its owner has `max` of them for its
    /// project, or for all projects, that are trusted as it is. Those that have expired when it is made are removed.
    fn remember(&self, item: MemoryItem, max: u32) -> StoreFuture<'_, Remembered>;

    /// Reads the remembered items that are asked for. Those that no host of this store wrote as they
    /// are do not count.
    fn memory_items(&self, query: MemoryQuery) -> StoreFuture<'_, Vec<MemoryItem>>;

    /// Changes an item, and returns whether it was as it is.
    fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> StoreFuture<'_, bool>;

    /// Returns the directory for files that belong to a session on this machine, and are removed
    /// with it; none in a store that is not on a disk. It may not exist.
    fn files_dir(&self, session: SessionId) -> Option<PathBuf> {
        let _ = session;
        None
    }

    /// Returns the runs that hosts share; none in a store that has one host.
    fn shared_runs(&self) -> Option<Arc<dyn SharedRuns>> {
        None
    }

    /// Returns the key that signs continuations, the same for every process that uses the store.
    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]>;
}

impl dyn JournalStore + '_ {
    /// Passes every durable record of a session to `each`, in order, in the memory of one page.
    ///
    /// # Errors
    /// As for [`JournalStore::read`].
    pub async fn for_each_record(
        &self,
        session: SessionId,
        mut each: impl FnMut(EventRecord),
    ) -> Result<(), JournalError> {
        let mut next = 0;
        loop {
            let page = self.read(session, next).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            next = last.seq.saturating_add(1);
            page.into_iter().for_each(&mut each);
        }
    }
}

/// Makes methods of [`JournalStore`] that run one operation of a store's database: those of SQLite
/// on a thread that may block, and `async` ones on the thread of PostgreSQL.
macro_rules! run_each {
    ($(
        fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty = |$db:ident| $operation:expr;
    )*) => {$(
        fn $name(&self, $($arg: $type),*) -> StoreFuture<'_, $out> {
            self.run(move |$db| $operation)
        }
    )*};
    ($(
        fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty = async |$db:ident| $operation:expr;
    )*) => {$(
        fn $name(&self, $($arg: $type),*) -> StoreFuture<'_, $out> {
            self.run(move |$db| async move { $operation })
        }
    )*};
}
pub(crate) use run_each;

/// The bounds within which unused sessions are kept. The default keeps all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Removes sessions that were not written to within this time.
    pub age: Option<Duration>,
    /// Removes the oldest sessions while the store is larger than this, in bytes.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Returns the time of the last event of the youngest session that is too old, in milliseconds
    /// since 1970 (UTC).
    pub(crate) fn oldest_ms(&self, now_ms: u64) -> Option<u64> {
        let age = u64::try_from(self.age?.as_millis()).unwrap_or(u64::MAX);
        Some(now_ms.saturating_sub(age))
    }
}

/// The result of [`JournalStore::prune`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The sessions that were removed, the oldest first.
    pub removed: Vec<SessionId>,
    /// The sessions that exceed the retention and stay.
    pub kept: Vec<(SessionId, KeepReason)>,
}

/// Why a session that exceeds the retention stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// It is claimed.
    InUse,
    /// It awaits a decision, an answer, or the result of an external call.
    Awaiting,
}

/// A session of which the store has fewer events than were durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostEvents {
    /// The session.
    pub session: SessionId,
    /// The number of its events.
    pub left: u64,
    /// The number of its last events that are missing.
    pub missing: u64,
}

/// Runs an operation on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    operation: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    let running = tokio::task::spawn_blocking(operation);
    running.await.map_err(StoreError::Aborted)?
}

/// The stored names of the phases of sessions that wait, as a list of SQL.
pub(crate) const WAITING: &str =
    "('waiting-for-approval', 'waiting-for-answer', 'waiting-for-results')";

/// The most firings that are taken over at once.
pub(crate) const TAKEN_FIRINGS: u32 = 64;
