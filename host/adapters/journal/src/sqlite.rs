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
mod writer;

#[cfg(test)]
pub(crate) use {
    found::found_query,
    journal::{MAX_QUEUED_BYTES, SqliteJournal},
    list::{list_query, page_query},
    read::StoredSession,
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
    store::{JournalStore, LostEvents, Pruned, Retention, StoreFuture, blocking},
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
    fn create_owned(
        &self,
        session: SessionId,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |db| Ok(Arc::new(db.create(session, ownership)?) as Arc<dyn Journal>))
    }

    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |db| Ok(Arc::new(db.open_session(session)?) as Arc<dyn Journal>))
    }

    fn list_in(&self, scope: SessionScope) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |db| db.list(&scope))
    }

    fn list_page(&self, page: ListPage) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |db| db.reader().list_page(&page))
    }

    fn is_within(&self, session: SessionId, scope: SessionScope) -> StoreFuture<'_, bool> {
        self.run(move |db| Ok(db.reader().is_within(session, &scope)?))
    }

    fn infos(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |db| db.reader().infos(&sessions))
    }

    fn named(&self, name: String) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |db| db.reader().named(&name))
    }

    fn list_waiting(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(Database::list_waiting)
    }

    fn count_statuses(&self, scope: SessionScope) -> StoreFuture<'_, BTreeMap<SessionStatus, u64>> {
        self.run(move |db| db.count_statuses(&scope))
    }

    fn stats(&self, scope: SessionScope, by: StatsBy, since: u32) -> StoreFuture<'_, StoredStats> {
        self.run(move |db| db.stats(&scope, by, since))
    }

    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |db| db.page(session, from))
    }

    fn read_found(
        &self,
        session: SessionId,
        which: FoundEvents,
        from: u64,
    ) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |db| {
            db.must_exist(session)?;
            db.reader().found(session, &which, from)
        })
    }

    fn has_blob(&self, session: SessionId, digest: Digest) -> StoreFuture<'_, bool> {
        self.run(move |db| db.reader().has_blob(session, digest))
    }

    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>> {
        self.run(move |db| db.read_blob(digest))
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let prefix = prefix.to_owned();
        self.run(move |db| db.find(&prefix))
    }

    fn name_session(&self, session: SessionId, name: SessionName) -> StoreFuture<'_, ()> {
        self.run(move |db| db.name_session(session, &name))
    }

    fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> StoreFuture<'_, SessionId> {
        self.run(move |db| db.fork(from, at, by))
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        self.run(move |db| db.export(session, &mut out))
    }

    fn import_owned(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, SessionId> {
        self.run(move |db| db.import(source, how, ownership))
    }

    fn remember_sealed(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |db| db.remember_sealed(session))
    }

    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |db| db.delete(session))
    }

    fn prune(&self, retention: Retention) -> StoreFuture<'_, Pruned> {
        self.run(move |db| db.prune(retention))
    }

    fn lost_events(&self) -> StoreFuture<'_, Vec<LostEvents>> {
        self.run(Database::lost_events)
    }

    fn recover(&self, session: SessionId) -> StoreFuture<'_, u64> {
        self.run(move |db| db.recover(session))
    }

    fn approvals(&self, project: Option<String>) -> StoreFuture<'_, Vec<ProjectApproval>> {
        self.run(move |db| db.approvals(project.as_deref()))
    }

    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |db| db.remember_approvals(&approvals))
    }

    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |db| db.revoke_approvals(&approvals))
    }

    fn record_firing(&self, firing: Firing) -> StoreFuture<'_, Option<Firing>> {
        self.run(move |db| db.record_firing(&firing))
    }

    fn take_firings(
        &self,
        triggers: Vec<String>,
        now_ms: u64,
        until_ms: u64,
    ) -> StoreFuture<'_, Vec<Firing>> {
        self.run(move |db| db.take_firings(&triggers, now_ms, until_ms))
    }

    fn update_firing(&self, taken: Firing, to: Firing) -> StoreFuture<'_, bool> {
        self.run(move |db| db.update_firing(&taken, &to))
    }

    fn firings(&self, trigger: String, limit: u32) -> StoreFuture<'_, Vec<Firing>> {
        self.run(move |db| db.firings(&trigger, limit))
    }

    fn add_link(&self, link: SessionLink, now_ms: u64) -> StoreFuture<'_, bool> {
        self.run(move |db| db.add_link(&link, now_ms))
    }

    fn find_link(&self, hash: String) -> StoreFuture<'_, Option<SessionLink>> {
        self.run(move |db| Ok(db.links("hash = ?1", &hash)?.into_iter().next()))
    }

    fn links(&self, session: SessionId) -> StoreFuture<'_, Vec<SessionLink>> {
        self.run(move |db| db.links("session = ?1", &session.to_string()))
    }

    fn open_link(&self, link: SessionLink, hash: String) -> StoreFuture<'_, bool> {
        self.run(move |db| db.open_link(&link, hash))
    }

    fn remove_link(&self, session: SessionId, id: String) -> StoreFuture<'_, bool> {
        self.run(move |db| db.remove_link(session, &id))
    }

    fn files_dir(&self, session: SessionId) -> Option<PathBuf> {
        Some(lock::files_dir(self.database.locks()).join(session.to_string()))
    }

    fn remember(&self, item: MemoryItem, max: u32) -> StoreFuture<'_, Remembered> {
        self.run(move |db| db.remember(item, max))
    }

    fn memory_items(&self, query: MemoryQuery) -> StoreFuture<'_, Vec<MemoryItem>> {
        self.run(move |db| db.memory_items(&query))
    }

    fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> StoreFuture<'_, bool> {
        self.run(move |db| db.change_memory(item, change, now_ms))
    }

    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]> {
        self.run(Database::continuation_key)
    }
}
