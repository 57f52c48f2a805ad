//! The connections to the server, its tables, and what its errors mean.

use super::{lease::Leases, messages};
use crate::{
    error::{Location, StoreError},
    shared_runs::{HostId, HostMessage},
};
use agent_host_engine::journal::JournalError;
use deadpool_postgres::{
    GenericClient, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError,
    RecyclingMethod, Runtime, Timeouts,
};
use std::{net::IpAddr, sync::Arc, time::Duration};
use tokio::{runtime::Handle, sync::broadcast, time::timeout};
use tokio_postgres::{
    Client, Config, Connection, NoTls, Socket, config::Host, tls::NoTlsStream, types::ToSql,
};

/// The version of the tables. A newer one is refused.
const SCHEMA_VERSION: i64 = 1;

/// The tables.
const TABLES: &str = include_str!("schema.sql");

/// The time to wait for a free connection, and to make one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The locks of transactions, which every process names by these numbers.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(super) enum Lock {
    /// Held to make or change the tables.
    Tables = 0x6167_6e74_0001,
    /// Shared to store blobs, and held to remove them, so that none is removed to which a session has
    /// just come to refer.
    Blobs = 0x6167_6e74_0002,
    /// Held to name a session, or to remember approvals, which are bounded.
    Names = 0x6167_6e74_0003,
}

/// The parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The part of a store that its journals and tasks share.
pub(super) struct Database {
    pool: Pool,
    config: Config,
    pub(super) location: Location,
    pub(super) leases: Leases,
    pub(super) runtime: Handle,
    /// The messages of other hosts.
    pub(super) messages: broadcast::Sender<HostMessage>,
}

impl Database {
    /// Connects, and makes the tables in an empty database. Runs on the thread of the store.
    pub(super) async fn open(
        config: Config,
        connections: usize,
        lease: Duration,
    ) -> Result<Arc<Self>, StoreError> {
        let location = location(&config);
        let mut addresses = config.get_hostaddrs().iter();
        if !config.get_hosts().iter().all(is_on_this_machine) || !addresses.all(IpAddr::is_loopback)
        {
            return Err(StoreError::Unencrypted(location));
        }
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), NoTls, manager);
        let timeouts = Timeouts {
            wait: Some(CONNECT_TIMEOUT),
            create: Some(CONNECT_TIMEOUT),
            recycle: Some(CONNECT_TIMEOUT),
        };
        // What a barrier says is durable must be so, whatever the server's default is.
        let durable = Hook::async_fn(|client, _| {
            Box::pin(async move {
                let settings = "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'; SET search_path = public";
                client
                    .batch_execute(settings)
                    .await
                    .map_err(HookError::Backend)
            })
        });
        let pool = Pool::builder(manager)
            .max_size(connections)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .post_create(durable)
            .build()
            .map_err(|error| StoreError::Pool(error.to_string()))?;
        let database = Arc::new(Self {
            pool,
            config,
            location,
            leases: Leases::new(new_host_id()?, lease),
            runtime: Handle::current(),
            messages: messages::received(),
        });
        database.make_tables().await?;
        Leases::keep(&database);
        Self::receive(&database);
        Ok(database)
    }

    async fn make_tables(&self) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let failed = self.failed("open the journal");
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Tables).await.map_err(failed)?;
        let known = tx
            .query_one("SELECT to_regclass('meta') IS NOT NULL", &[])
            .await
            .map_err(failed)?;
        if !known.get::<_, bool>(0) {
            tx.batch_execute(TABLES).await.map_err(failed)?;
            tx.execute("INSERT INTO meta VALUES ($1)", &[&SCHEMA_VERSION])
                .await
                .map_err(failed)?;
        }
        let found = tx.query_one("SELECT max(format_version) FROM meta", &[]);
        let found: Option<i64> = found.await.map_err(failed)?.get(0);
        let found = found.unwrap_or_default();
        if found != SCHEMA_VERSION {
            return Err(StoreError::SchemaVersion {
                location: Arc::clone(&self.location),
                found,
                known: SCHEMA_VERSION,
            });
        }
        tx.commit().await.map_err(failed)
    }

    /// Makes a connection besides those of the pool.
    pub(super) async fn connect(
        &self,
    ) -> Result<(Client, Connection<Socket, NoTlsStream>), StoreError> {
        let connected = timeout(CONNECT_TIMEOUT, self.config.connect(NoTls)).await;
        let connected = connected.map_err(|error| StoreError::Pool(error.to_string()))?;
        connected.map_err(self.failed("connect to the journal"))
    }

    /// Returns a connection; it goes back when it is dropped.
    pub(super) async fn client(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(source) => self.failed("connect to the journal")(source),
            error => StoreError::Pool(error.to_string()),
        })
    }

    /// Returns a conversion of the server's errors for `map_err`.
    pub(super) fn failed(
        &self,
        action: &'static str,
    ) -> impl Fn(tokio_postgres::Error) -> StoreError + Copy + '_ {
        move |source| StoreError::Postgres {
            action,
            location: Arc::clone(&self.location),
            source,
        }
    }

    /// Runs a query of the journal.
    pub(super) async fn read(
        &self,
        query: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let client = self.client().await?;
        let failed = self.failed("read the journal");
        let query = client.prepare_cached(query).await.map_err(failed)?;
        client.query(&query, parameters).await.map_err(failed)
    }

    /// Runs an operation that reads or writes whole sessions on a thread that may block.
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        operation: impl FnOnce(&Arc<Self>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let database = Arc::clone(self);
        crate::store::blocking(move || operation(&database)).await
    }

    /// Waits for a future on a thread that may block.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// Creates the id of this host.
fn new_host_id() -> Result<HostId, StoreError> {
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(|error| StoreError::Random(error.to_string()))?;
    Ok(HostId(format!("{:016x}", u64::from_be_bytes(id))))
}

/// Takes a lock until the transaction ends.
pub(super) async fn lock(
    client: &impl GenericClient,
    lock: Lock,
) -> Result<(), tokio_postgres::Error> {
    client
        .execute("SELECT pg_advisory_xact_lock($1)", &[&(lock as i64)])
        .await
        .map(drop)
}

/// Takes a lock, which others may take as well in this way, until the transaction ends.
pub(super) async fn lock_shared(
    client: &impl GenericClient,
    lock: Lock,
) -> Result<(), tokio_postgres::Error> {
    client
        .execute("SELECT pg_advisory_xact_lock_shared($1)", &[&(lock as i64)])
        .await
        .map(drop)
}

/// Whether a server is reached without a network.
fn is_on_this_machine(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<IpAddr>();
            address.map_or(name == "localhost", |address| address.is_loopback())
        }
    }
}

/// Names the server and the database, without the user and the password.
fn location(config: &Config) -> Location {
    let host = config.get_hosts().first();
    let host = host.map_or_else(String::new, |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("database {database} on {host}").into()
}
