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
mod tallies;
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
    store::{JournalStore, LostEvents, Pruned, Retention, StoreFuture, run_each},
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

    fn counts_calls(&self) -> bool {
        true
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let prefix = prefix.to_owned();
        self.run(|database| async move {
            let wanted = Wanted::new(&prefix);
            let found = database.matches(&wanted).await?;
            Ok(wanted.only(found)?)
        })
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        let export = move |database: &Arc<Database>| database.export(session, &mut out);
        self.run(|database| async move { database.blocking(export).await })
    }

    fn shared_runs(&self) -> Option<Arc<dyn SharedRuns>> {
        Some(Arc::new(self.clone()))
    }

    run_each! {
        fn list_in(scope: SessionScope) -> Vec<SessionInfo> = async |db| db.sessions(&scope).await;
        fn is_within(session: SessionId, scope: SessionScope) -> bool =
            async |db| db.is_within(session, &scope).await;
        fn list_page(page: ListPage) -> Vec<SessionInfo> = async |db| db.list_page(&page).await;
        fn named(name: String) -> Vec<SessionInfo> = async |db| db.named(&name).await;
        fn list_waiting() -> Vec<SessionInfo> = async |db| db.waiting().await;
        fn count_statuses(scope: SessionScope) -> BTreeMap<SessionStatus, u64> =
            async |db| db.count_statuses(&scope).await;
        fn stats(scope: SessionScope, by: StatsBy, since: u32) -> StoredStats =
            async |db| db.stats(&scope, by, since).await;
        fn infos(sessions: Vec<SessionId>) -> Vec<SessionInfo> =
            async |db| db.infos(&sessions).await;
        fn read(session: SessionId, from: u64) -> Vec<EventRecord> =
            async |db| db.existing(session, db.page(session, from).await?).await;
        fn read_found(session: SessionId, which: FoundEvents, from: u64) -> Vec<EventRecord> =
            async |db| db.existing(session, db.found(session, &which, from).await?).await;
        fn has_blob(session: SessionId, digest: Digest) -> bool =
            async |db| db.has_blob(session, digest).await;
        fn read_blob(digest: Digest) -> Vec<u8> = async |db| db.blob(digest).await;
        fn name_session(session: SessionId, name: SessionName) -> () =
            async |db| db.name_session(session, name).await;
        fn fork(from: SessionId, at: Option<u64>, by: Option<Copier>) -> SessionId =
            async |db| db.blocking(move |db| db.fork(from, at, by)).await;
        fn import_owned(
            source: ImportSource, how: ImportAs, ownership: Option<Ownership>
        ) -> SessionId =
            async |db| db.blocking(move |db| db.import(source, how, ownership)).await;
        fn remember_sealed(session: SessionId) -> () =
            async |db| db.remember_sealed(session).await;
        fn delete(session: SessionId) -> () = async |db| db.delete(session).await;
        fn prune(retention: Retention) -> Pruned = async |db| db.prune(retention).await;
        // What the server acknowledged is there.
        fn lost_events() -> Vec<LostEvents> = async |_db| Ok(Vec::new());
        fn recover(session: SessionId) -> u64 = async |db| db.recover(session).await;
        fn approvals(project: Option<String>) -> Vec<ProjectApproval> =
            async |db| db.approvals(project.as_deref()).await;
        fn remember_approvals(approvals: Vec<ProjectApproval>) -> () =
            async |db| db.remember_approvals(approvals).await;
        fn revoke_approvals(approvals: Vec<ProjectApproval>) -> () =
            async |db| db.revoke_approvals(approvals).await;
        fn record_firing(firing: Firing) -> Option<Firing> =
            async |db| db.record_firing(firing).await;
        fn take_firings(triggers: Vec<String>, now_ms: u64, until_ms: u64) -> Vec<Firing> =
            async |db| db.take_firings(&triggers, now_ms, until_ms).await;
        fn update_firing(taken: Firing, to: Firing) -> bool =
            async |db| db.update_firing(&taken, &to).await;
        fn firings(trigger: String, limit: u32) -> Vec<Firing> =
            async |db| db.firings(&trigger, limit).await;
        fn add_link(link: SessionLink, now_ms: u64) -> bool =
            async |db| db.add_link(link, now_ms).await;
        fn find_link(hash: String) -> Option<SessionLink> =
            async |db| Ok(db.links("hash", &hash).await?.into_iter().next());
        fn links(session: SessionId) -> Vec<SessionLink> =
            async |db| db.links("session", &session.to_string()).await;
        fn open_link(link: SessionLink, hash: String) -> bool =
            async |db| db.open_link(link, hash).await;
        fn remove_link(session: SessionId, id: String) -> bool =
            async |db| db.remove_link(session, &id).await;
        fn remember(item: MemoryItem, max: u32) -> Remembered =
            async |db| db.remember(item, max).await;
        fn memory_items(query: MemoryQuery) -> Vec<MemoryItem> =
            async |db| db.memory_items(query).await;
        fn change_memory(item: MemoryItem, change: MemoryChange, now_ms: u64) -> bool =
            async |db| db.change_memory(item, change, now_ms).await;
        fn continuation_key() -> [u8; 32] = async |db| db.continuation_key();
    }
}
