//! The store on PostgreSQL: one database that several hosts share. A claim is a lease by the
//! server's clock, and each write proves that it holds.

mod approvals;
mod database;
mod firings;
mod found;
mod journal;
mod lease;
mod links;
mod maintenance;
mod memory_items;
mod messages;
mod owners;
mod placement;
mod position;
mod read;
mod runs;
mod schema;
mod sealed;
mod secrets;
mod session;
mod signatures;
mod stats;
mod stored_run;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::roles::of_role;
mod thread;
mod tls;
mod write;

use crate::{
    find::Wanted,
    firing::Firing,
    found::FoundEvents,
    link::SessionLink,
    memory_item::{MemoryChange, MemoryItem, MemoryQuery, Remembered},
    ownership::{Copier, Ownership, SessionScope},
    sealed::SealKey,
    session_list::{ListPage, SessionInfo, SessionName},
    shared_runs::SharedRuns,
    stats::StoredStats,
    store::{JournalStore, LostEvents, Pruned, Retention, StoreFuture},
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
use journal::PostgresJournal;
use lease::Lease;
use position::Position;
use rustls::RootCertStore;
pub use schema::Migration;
use std::{collections::BTreeMap, fmt, io::Write, sync::Arc, time::Duration};
use thread::StoreThread;

/// The settings of a [`PostgresStore`].
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The most connections of this process.
    pub connections: usize,
    /// The time to wait for a free connection, and for a server to answer.
    pub connect_timeout: Duration,
    /// The time after which another host may claim the sessions of one that does not answer.
    pub lease: Duration,
    /// The sessions that are kept; the others are pruned in the background.
    pub retention: Retention,
    /// The authorities that may sign the certificate of a server. The default has none, so that
    /// only servers on this machine can be used.
    pub authorities: Arc<RootCertStore>,
    /// The key that seals the secrets in the database; without one, they are stored as they are,
    /// and only a server on this machine can be used.
    pub seal: Option<SealKey>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            connect_timeout: Duration::from_secs(10),
            lease: Duration::from_secs(15),
            retention: Retention::default(),
            authorities: Arc::new(RootCertStore::empty()),
            seal: None,
        }
    }
}

/// A [`JournalStore`] on PostgreSQL 13 or newer, which several hosts share.
#[derive(Clone)]
pub struct PostgresStore {
    database: Arc<Database>,
    thread: Arc<StoreThread>,
}

impl PostgresStore {
    /// Connects to a database, and makes the tables if it is empty. The address has the form
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. A server on another machine is spoken to by
    /// TLS alone, and its certificate must have this name; one on this machine is with
    /// `sslmode=require`.
    ///
    /// # Errors
    /// The address is none, the server cannot be reached, takes no writes or has no certificate that
    /// is trusted, the key does not open the secrets, or the tables have another version than this
    /// program.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, JournalError> {
        let (url, thread) = (url.to_owned(), Arc::new(StoreThread::start()?));
        let opened = thread.run(async move {
            let database = Database::open(&url, &options).await?;
            Database::prune_always(&database, options.retention);
            Ok(database)
        });
        let database = opened.await?;
        Ok(Self { database, thread })
    }

    /// Makes the tables of a database, or updates them to the version of this program.
    ///
    /// # Errors
    /// As for [`Self::open`], the user may not do that, or the tables are of a newer program.
    pub async fn migrate(url: &str, options: PostgresOptions) -> Result<Migration, JournalError> {
        Self::once(url, options, |database| async move {
            Ok(schema::migrate(&database).await?)
        })
        .await
    }

    /// Seals the secrets of a database by the key of the options. `from` is the key that they are
    /// sealed with; without one, they are not. Returns their number.
    ///
    /// # Errors
    /// As for [`Self::open`]; then nothing is changed.
    pub async fn rekey(
        url: &str,
        options: PostgresOptions,
        from: Option<SealKey>,
    ) -> Result<usize, JournalError> {
        Self::once(url, options, |database| async move {
            Ok(database.rekey(from.as_ref()).await?)
        })
        .await
    }

    /// Returns the statements that grant a role what a host needs, to be run by the owner of the
    /// tables.
    #[must_use]
    pub fn grants(role: &str) -> String {
        schema::grants(role)
    }

    /// Runs one operation on a database that takes writes.
    async fn once<T: Send + 'static, F>(
        url: &str,
        options: PostgresOptions,
        operation: impl FnOnce(Arc<Database>) -> F + Send + 'static,
    ) -> Result<T, JournalError>
    where
        F: Future<Output = Result<T, JournalError>> + Send + 'static,
    {
        let (url, thread) = (url.to_owned(), StoreThread::start()?);
        let ran = thread.run(async move {
            let database = Database::new(&url, &options)?;
            database.check_writable().await?;
            operation(database).await
        });
        ran.await
    }

    /// Runs an operation behind what dropped journals had queued.
    fn run<T, F>(&self, operation: impl FnOnce(Arc<Database>) -> F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, JournalError>> + Send + 'static,
    {
        let closing = Arc::clone(&self.thread.closing);
        let operation = operation(Arc::clone(&self.database));
        Box::pin(self.thread.run(async move {
            closing.settle().await;
            operation.await
        }))
    }

    /// Starts the journal of a session that an operation claims. A new one has an owner.
    fn start<F>(
        &self,
        ownership: Option<Ownership>,
        claim: impl FnOnce(Arc<Database>) -> F,
    ) -> StoreFuture<'_, Arc<dyn Journal>>
    where
        F: Future<Output = Result<(Lease, Position), JournalError>> + Send + 'static,
    {
        let claimed = self.run(claim);
        Box::pin(async move {
            let (lease, position) = claimed.await?;
            let (thread, database) = (&self.thread, &self.database);
            let journal = PostgresJournal::start(thread, database, lease, position, ownership);
            Ok(Arc::new(journal) as Arc<dyn Journal>)
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("location", &self.database.location)
            .finish_non_exhaustive()
    }
}

impl JournalStore for PostgresStore {
    fn create_owned(
        &self,
        session: SessionId,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.start(ownership, move |database| async move {
            let lease = database.claim_new(session).await?;
            Ok((lease, Position::start(session)))
        })
    }

    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.start(None, move |database| async move {
            let lease = database.claim_existing(session).await?;
            match database.signed_position(session).await {
                Ok(position) => Ok((lease, position)),
                Err(error) => {
                    database.release(lease).await?;
                    Err(error.into())
                }
            }
        })
    }

    fn list_in(&self, scope: SessionScope) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |database| async move { database.sessions(&scope).await })
    }

    fn is_within(&self, session: SessionId, scope: SessionScope) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.is_within(session, &scope).await })
    }

    fn list_page(&self, page: ListPage) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |database| async move { database.list_page(&page).await })
    }

    fn named(&self, name: String) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |database| async move { database.named(&name).await })
    }

    fn list_waiting(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(|database| async move { database.waiting().await })
    }

    fn count_statuses(&self, scope: SessionScope) -> StoreFuture<'_, BTreeMap<SessionStatus, u64>> {
        self.run(move |database| async move { database.count_statuses(&scope).await })
    }

    fn stats(&self, scope: SessionScope, by: StatsBy, since: u32) -> StoreFuture<'_, StoredStats> {
        self.run(move |database| async move { database.stats(&scope, by, since).await })
    }

    fn infos(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |database| async move { database.infos(&sessions).await })
    }

    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |database| async move {
            let page = database.page(session, from).await?;
            if page.is_empty() {
                database.must_exist(session).await?;
            }
            Ok(page)
        })
    }

    fn read_found(
        &self,
        session: SessionId,
        which: FoundEvents,
        from: u64,
    ) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |database| async move {
            let page = database.found(session, &which, from).await?;
            if page.is_empty() {
                database.must_exist(session).await?;
            }
            Ok(page)
        })
    }

    fn has_blob(&self, session: SessionId, digest: Digest) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.has_blob(session, digest).await })
    }

    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>> {
        self.run(move |database| async move { database.blob(digest).await })
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let prefix = prefix.to_owned();
        self.run(|database| async move {
            let wanted = Wanted::new(&prefix);
            let found = database.matches(&wanted).await?;
            Ok(wanted.only(found)?)
        })
    }

    fn name_session(&self, session: SessionId, name: SessionName) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.name_session(session, name).await })
    }

    fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> StoreFuture<'_, SessionId> {
        let fork = move |database: &Arc<Database>| database.fork(from, at, by);
        self.run(|database| async move { database.blocking(fork).await })
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        let export = move |database: &Arc<Database>| database.export(session, &mut out);
        self.run(|database| async move { database.blocking(export).await })
    }

    fn import_owned(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, SessionId> {
        let import = move |database: &Arc<Database>| database.import(source, how, ownership);
        self.run(|database| async move { database.blocking(import).await })
    }

    fn remember_sealed(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.remember_sealed(session).await })
    }

    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.delete(session).await })
    }

    fn prune(&self, retention: Retention) -> StoreFuture<'_, Pruned> {
        self.run(move |database| async move { database.prune(retention).await })
    }

    fn lost_events(&self) -> StoreFuture<'_, Vec<LostEvents>> {
        // What the server acknowledged is there.
        self.run(|_| async { Ok(Vec::new()) })
    }

    fn recover(&self, session: SessionId) -> StoreFuture<'_, u64> {
        self.run(move |database| async move {
            let lease = database.claim(session).await?;
            let count = database.count(session).await;
            database.release(lease).await?;
            Ok(count?.unwrap_or_default())
        })
    }

    fn approvals(&self, project: Option<String>) -> StoreFuture<'_, Vec<ProjectApproval>> {
        self.run(move |database| async move { database.approvals(project.as_deref()).await })
    }

    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(|database| async move { database.remember_approvals(approvals).await })
    }

    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(|database| async move { database.revoke_approvals(approvals).await })
    }

    fn shared_runs(&self) -> Option<Arc<dyn SharedRuns>> {
        Some(Arc::new(self.clone()))
    }

    fn record_firing(&self, firing: Firing) -> StoreFuture<'_, Option<Firing>> {
        self.run(move |database| async move { database.record_firing(firing).await })
    }

    fn take_firings(
        &self,
        triggers: Vec<String>,
        now_ms: u64,
        until_ms: u64,
    ) -> StoreFuture<'_, Vec<Firing>> {
        self.run(
            move |database| async move { database.take_firings(&triggers, now_ms, until_ms).await },
        )
    }

    fn update_firing(&self, taken: Firing, to: Firing) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.update_firing(&taken, &to).await })
    }

    fn firings(&self, trigger: String, limit: u32) -> StoreFuture<'_, Vec<Firing>> {
        self.run(move |database| async move { database.firings(&trigger, limit).await })
    }

    fn add_link(&self, link: SessionLink, now_ms: u64) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.add_link(link, now_ms).await })
    }

    fn find_link(&self, hash: String) -> StoreFuture<'_, Option<SessionLink>> {
        self.run(move |database| async move {
            let links = database.links("hash", &hash).await?;
            Ok(links.into_iter().next())
        })
    }

    fn links(&self, session: SessionId) -> StoreFuture<'_, Vec<SessionLink>> {
        let id = session.to_string();
        self.run(move |database| async move { database.links("session", &id).await })
    }

    fn open_link(&self, link: SessionLink, hash: String) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.open_link(link, hash).await })
    }

    fn remove_link(&self, session: SessionId, id: String) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.remove_link(session, &id).await })
    }

    fn remember(&self, item: MemoryItem, max: u32) -> StoreFuture<'_, Remembered> {
        self.run(move |database| async move { database.remember(item, max).await })
    }

    fn memory_items(&self, query: MemoryQuery) -> StoreFuture<'_, Vec<MemoryItem>> {
        self.run(move |database| async move { database.memory_items(query).await })
    }

    fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.change_memory(item, change, now_ms).await })
    }

    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]> {
        self.run(|database| async move { database.continuation_key() })
    }
}
