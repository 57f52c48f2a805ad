//! The store on PostgreSQL: one database that several hosts share. A claim is a lease by the
//! server's clock, and each write proves that it holds.

mod approvals;
mod database;
mod journal;
mod lease;
mod read;
mod session;
mod write;

use crate::{
    error::StoreError,
    find::Wanted,
    store::{
        JournalStore, LostEvents, ProjectApproval, Pruned, Retention, SessionInfo, SessionName,
        StoreFuture,
    },
    transfer::ImportAs,
};
use agent_host_engine::journal::{Journal, JournalError};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};
use database::Database;
use journal::PostgresJournal;
use lease::Lease;
use std::{
    fmt,
    io::{BufRead, Write},
    sync::Arc,
    time::Duration,
};
use write::Position;

/// The settings of a [`PostgresStore`].
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions {
    /// The most connections of this process.
    pub connections: usize,
    /// The time after which another host may claim the sessions of one that does not answer.
    pub lease: Duration,
    /// The sessions that are kept; the others are pruned in the background.
    pub retention: Retention,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            lease: Duration::from_secs(15),
            retention: Retention::default(),
        }
    }
}

/// A [`JournalStore`] on PostgreSQL 13 or newer, which several hosts share.
#[derive(Clone)]
pub struct PostgresStore {
    database: Arc<Database>,
}

impl PostgresStore {
    /// Connects to a database, and makes the tables if it is empty. The address has the form
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///
    /// # Errors
    /// The address is none, the server cannot be reached, or the tables have a version that this
    /// program does not know.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, JournalError> {
        // The parser's error does not show the password.
        let config = url.parse().map_err(StoreError::Url)?;
        let database = Database::open(config, options.connections, options.lease).await?;
        Database::prune_always(&database, options.retention);
        Ok(Self { database })
    }

    /// Runs an operation behind what dropped journals had queued.
    fn run<'a, T: 'a>(
        &'a self,
        operation: impl Future<Output = Result<T, JournalError>> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            self.database.closing.settle().await;
            operation.await
        })
    }

    /// Starts the journal of a claimed session.
    async fn start(&self, lease: Lease) -> Result<Arc<dyn Journal>, JournalError> {
        match self.database.position(lease.session).await {
            Ok(position) => Ok(Arc::new(PostgresJournal::start(
                &self.database,
                lease,
                position,
            ))),
            Err(error) => {
                self.database.release(lease).await?;
                Err(error.into())
            }
        }
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
    fn create(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(async move {
            let lease = self.database.claim_new(session).await?;
            let journal = PostgresJournal::start(&self.database, lease, Position::start(session));
            Ok(Arc::new(journal) as Arc<dyn Journal>)
        })
    }

    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(async move {
            self.start(self.database.claim_existing(session).await?)
                .await
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(self.database.sessions())
    }

    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(async move {
            let page = self.database.page(session, from).await?;
            if page.is_empty() {
                self.database.must_exist(session).await?;
            }
            Ok(page)
        })
    }

    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>> {
        self.run(self.database.blob(digest))
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        self.run(async move {
            let wanted = Wanted::new(prefix);
            let found = self.database.matches(&wanted).await?;
            Ok(wanted.only(found)?)
        })
    }

    fn name_session(&self, session: SessionId, name: SessionName) -> StoreFuture<'_, ()> {
        self.run(self.database.name_session(session, name))
    }

    fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<String>,
    ) -> StoreFuture<'_, SessionId> {
        self.run(
            self.database
                .blocking(move |database| database.fork(from, at, by)),
        )
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        let export = move |database: &Arc<Database>| database.export(session, &mut out);
        self.run(self.database.blocking(export))
    }

    fn import(
        &self,
        mut file: Box<dyn BufRead + Send>,
        how: ImportAs,
    ) -> StoreFuture<'_, SessionId> {
        let import = move |database: &Arc<Database>| database.import(&mut file, how);
        self.run(self.database.blocking(import))
    }

    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(self.database.delete(session))
    }

    fn prune(&self, retention: Retention) -> StoreFuture<'_, Pruned> {
        self.run(self.database.prune(retention))
    }

    fn lost_events(&self) -> StoreFuture<'_, Vec<LostEvents>> {
        // What the server acknowledged is there.
        self.run(async { Ok(Vec::new()) })
    }

    fn recover(&self, session: SessionId) -> StoreFuture<'_, u64> {
        self.run(async move {
            let lease = self.database.claim(session).await?;
            let count = self.database.count(session).await;
            self.database.release(lease).await?;
            Ok(count?.unwrap_or_default())
        })
    }

    fn approvals(&self) -> StoreFuture<'_, Vec<ProjectApproval>> {
        self.run(self.database.approvals())
    }

    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(self.database.remember_approvals(approvals))
    }

    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(self.database.revoke_approvals(approvals))
    }

    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]> {
        self.run(self.database.continuation_key())
    }
}
