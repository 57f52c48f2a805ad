//! The store on SQLite: one database in a state directory.

mod approvals;
pub(crate) mod database;
mod firings;
mod found;
mod journal;
mod key;
mod links;
mod list;
mod lock;
mod maintenance;
mod memory_items;
mod names;
mod owners;
mod phase;
mod prune;
mod read;
mod schema;
mod sealed;
mod session;
mod signatures;
mod state_dir;
mod stats;
mod tallies;
mod writer;

#[cfg(test)]
pub(crate) use {
    found::found_query,
    journal::{MAX_QUEUED_BYTES, SqliteJournal},
    list::{list_query, page_query},
    read::StoredSession,
    tallies::tally_queries,
};
pub(crate) use {key::KeyOfRows, state_dir::rows_key_path};

use crate::{
    firing::Firing,
    found::FoundEvents,
    link::SessionLink,
    memory_item::{MemoryChange, MemoryItem, MemoryQuery, Remembered},
    ownership::{Copier, Ownership, SessionScope},
    session_list::{ListPage, SessionInfo, SessionName},
    stats::StoredStats,
    store::{JournalStore, LostEvents, Pruned, Retention, StoreFuture, blocking, run_each},
    stored_approval::ProjectApproval,
    transfer::{ImportAs, ImportSource},
};
use agent_host_engine::journal::{Journal, JournalError};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    session_status::SessionStatus,
    stats::StatsBy,
};
use database::Database;
use std::{
    collections::BTreeMap,
    fmt,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Options of a [`SqliteStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// How long to wait for another process that writes to the same database. Its commits take
    /// milliseconds, so that a longer wait means that something is stuck.
    pub lock_timeout: Duration,
    /// The bounds within which sessions are kept; a background thread prunes as
    /// [`JournalStore::prune`] does. The default keeps all.
    pub retention: Retention,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            lock_timeout: Duration::from_secs(30),
            retention: Retention::default(),
        }
    }
}

/// The [`JournalStore`] on SQLite. Clones share one store; the last clone or journal that is
/// dropped waits for the last write and closes the file.
///
/// ```
/// use agent_host_engine::session::{Session, SessionStart};
/// use agent_host_types::id::SessionId;
/// use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let state_dir = tempfile::tempdir().unwrap();
/// let store = SqliteStore::open(state_dir.path(), SqliteOptions::default()).await.unwrap();
/// let id = SessionId::new();
/// let journal = store.create(id).await.unwrap();
/// drop(Session::start(journal, SessionStart::default()));
///
/// // A store that is opened later has the session.
/// drop(store);
/// let store = SqliteStore::open(state_dir.path(), SqliteOptions::default()).await.unwrap();
/// let session = Session::resume(store.open_session(id).await.unwrap()).await.unwrap();
/// assert_eq!(session.id(), id);
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    database: Database,
}

impl SqliteStore {
    /// Opens the journal of a state directory. A missing directory is made with mode 0700, and the
    /// database in it with mode 0600.
    ///
    /// # Errors
    /// [`JournalError::Storage`] when the directory cannot be made or written to, belongs to another
    /// user, or every user may write to it; [`JournalError::Corrupt`] when the file in it is not a
    /// journal of this version.
    pub async fn open(state_dir: &Path, options: SqliteOptions) -> Result<Self, JournalError> {
        let state_dir: PathBuf = state_dir.to_owned();
        let opened = blocking(move || Database::open(&state_dir, options, None));
        opened.await.map(Self::from)
    }

    /// The database file.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.database.file()
    }

    /// Runs an operation on a thread that may block.
    fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Database) -> Result<T, JournalError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let database = self.database.clone();
        Box::pin(blocking(move || operation(&database)))
    }
}

impl From<Database> for SqliteStore {
    fn from(database: Database) -> Self {
        Self { database }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("file", &self.file())
            .field("commits", &self.database.commits())
            .finish_non_exhaustive()
    }
}

impl JournalStore for SqliteStore {
    fn counts_calls(&self) -> bool {
        true
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let prefix = prefix.to_owned();
        self.run(move |db| db.find(&prefix))
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        self.run(move |db| db.export(session, &mut out))
    }

    fn files_dir(&self, session: SessionId) -> Option<PathBuf> {
        Some(lock::files_dir(self.database.locks()).join(session.to_string()))
    }

    run_each! {
        fn create_owned(session: SessionId, ownership: Option<Ownership>) -> Arc<dyn Journal> =
            |db| Ok(Arc::new(db.create(session, ownership)?) as Arc<dyn Journal>);
        fn open_session(session: SessionId) -> Arc<dyn Journal> =
            |db| Ok(Arc::new(db.open_session(session)?) as Arc<dyn Journal>);
        fn list_in(scope: SessionScope) -> Vec<SessionInfo> = |db| db.reader().sessions(&scope);
        fn list_page(page: ListPage) -> Vec<SessionInfo> = |db| db.reader().list_page(&page);
        fn is_within(session: SessionId, scope: SessionScope) -> bool =
            |db| Ok(db.reader().is_within(session, &scope)?);
        fn infos(sessions: Vec<SessionId>) -> Vec<SessionInfo> = |db| db.reader().infos(&sessions);
        fn named(name: String) -> Vec<SessionInfo> = |db| db.reader().named(&name);
        fn list_waiting() -> Vec<SessionInfo> = |db| db.reader().waiting();
        fn count_statuses(scope: SessionScope) -> BTreeMap<SessionStatus, u64> =
            |db| db.reader().count_statuses(&scope);
        fn stats(scope: SessionScope, by: StatsBy, since: u32) -> StoredStats =
            |db| db.stats(&scope, by, since);
        fn read(session: SessionId, from: u64) -> Vec<EventRecord> = |db| db.page(session, from);
        fn read_found(session: SessionId, which: FoundEvents, from: u64) -> Vec<EventRecord> =
            |db| {
                db.must_exist(session)?;
                db.reader().found(session, &which, from)
            };
        fn has_blob(session: SessionId, digest: Digest) -> bool =
            |db| db.reader().has_blob(session, digest);
        fn read_blob(digest: Digest) -> Vec<u8> = |db| db.reader().blob(digest);
        fn name_session(session: SessionId, name: SessionName) -> () =
            |db| db.name_session(session, &name);
        fn fork(from: SessionId, at: Option<u64>, by: Option<Copier>) -> SessionId =
            |db| db.fork(from, at, by);
        fn import_owned(
            source: ImportSource, how: ImportAs, ownership: Option<Ownership>
        ) -> SessionId =
            |db| db.import(source, how, ownership);
        fn remember_sealed(session: SessionId) -> () = |db| db.remember_sealed(session);
        fn delete(session: SessionId) -> () = |db| db.delete(session);
        fn prune(retention: Retention) -> Pruned = |db| db.prune(retention);
        fn lost_events() -> Vec<LostEvents> = |db| db.lost_events();
        fn recover(session: SessionId) -> u64 = |db| db.recover(session);
        fn approvals(project: Option<String>) -> Vec<ProjectApproval> =
            |db| db.approvals(project.as_deref());
        fn remember_approvals(approvals: Vec<ProjectApproval>) -> () =
            |db| db.remember_approvals(&approvals);
        fn revoke_approvals(approvals: Vec<ProjectApproval>) -> () =
            |db| db.revoke_approvals(&approvals);
        fn record_firing(firing: Firing) -> Option<Firing> = |db| db.record_firing(&firing);
        fn take_firings(triggers: Vec<String>, now_ms: u64, until_ms: u64) -> Vec<Firing> =
            |db| db.take_firings(&triggers, now_ms, until_ms);
        fn update_firing(taken: Firing, to: Firing) -> bool = |db| db.update_firing(&taken, &to);
        fn firings(trigger: String, limit: u32) -> Vec<Firing> = |db| db.firings(&trigger, limit);
        fn add_link(link: SessionLink, now_ms: u64) -> bool = |db| db.add_link(&link, now_ms);
        fn find_link(hash: String) -> Option<SessionLink> =
            |db| Ok(db.links("hash = ?1", &hash)?.into_iter().next());
        fn links(session: SessionId) -> Vec<SessionLink> =
            |db| db.links("session = ?1", &session.to_string());
        fn open_link(link: SessionLink, hash: String) -> bool = |db| db.open_link(&link, hash);
        fn remove_link(session: SessionId, id: String) -> bool = |db| db.remove_link(session, &id);
        fn remember(item: MemoryItem, max: u32) -> Remembered = |db| db.remember(item, max);
        fn memory_items(query: MemoryQuery) -> Vec<MemoryItem> = |db| db.memory_items(&query);
        fn change_memory(item: MemoryItem, change: MemoryChange, now_ms: u64) -> bool =
            |db| db.change_memory(item, change, now_ms);
        fn continuation_key() -> [u8; 32] = |db| db.continuation_key();
    }
}
