//! The connections to the server, and what its errors mean.

use super::{PostgresOptions, lease::Leases, messages, schema, tls};
use crate::{
    error::{Location, PostgresError, StoreError},
    sealed::SealKey,
    shared_runs::{HostId, HostMessage},
    signature::RowKey,
};
use agent_host_engine::journal::JournalError;
use deadpool_postgres::{
    GenericClient, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError,
    RecyclingMethod, Runtime, TimeoutType, Timeouts,
};
use std::{
    sync::{Arc, Mutex, Once, OnceLock},
    time::Duration,
};
use tokio::{runtime::Handle, sync::broadcast, time::timeout};
use tokio_postgres::{Client, Config, Socket, config::Host, tls::MakeTlsConnect, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The settings of every connection. What a barrier says is durable must be so, whatever the
/// default of the server is; and no table of a connection or of another schema stands in the place
/// of ours.
const SETTINGS: &str = "SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET search_path = public, pg_temp";

/// The locks of transactions, which every process names by these numbers.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(super) enum Lock {
    /// Held to make or change the tables.
    Tables = 0x6167_6e74_0001,
    /// Shared to store blobs, and held to remove them, so that none is removed to which a session
    /// has just come to refer.
    Blobs = 0x6167_6e74_0002,
    /// Held to name a session, or to add approvals or links, which are bounded.
    Names = 0x6167_6e74_0003,
}

/// The future that drives a connection of its own, and receives its notifications.
pub(super) type ConnectionDriver =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The part of a store that its journals and tasks share.
pub(super) struct Database {
    pool: Pool,
    config: Config,
    tls: MakeRustlsConnect,
    connect_timeout: Duration,
    pub(super) location: Location,
    pub(super) leases: Leases,
    pub(super) runtime: Handle,
    /// The messages of other hosts.
    pub(super) messages: broadcast::Sender<HostMessage>,
    /// Whether they are received.
    pub(super) receives: Once,
    /// The key that seals secrets.
    pub(super) seal: Option<SealKey>,
    /// The key that signs continuations, once it is known.
    pub(super) continuation_key: Mutex<Option<[u8; 32]>>,
    /// The key that signs rows, once it is known.
    pub(super) rows_key: OnceLock<RowKey>,
}

impl Database {
    /// Makes the connections of a store; none is opened yet. Runs on the thread of the store.
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Arc<Self>, StoreError> {
        let config = tls::config(url)?;
        let location = location(&config);
        let tls = tls::connector(&options.authorities, &config)?;
        if options.seal.is_none() && !tls::is_on_this_machine(&config) {
            return Err(PostgresError::SealRequired(location).into());
        }
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), tls.clone(), manager);
        let timeouts = Timeouts {
            wait: Some(options.connect_timeout),
            create: Some(options.connect_timeout),
            recycle: Some(options.connect_timeout),
        };
        let settings = Hook::async_fn(|client, _| {
            Box::pin(async move {
                let set = client.batch_execute(SETTINGS).await;
                set.map_err(HookError::Backend)
            })
        });
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .post_create(settings)
            .build()
            .map_err(|error| PostgresError::Pool(error.to_string()))?;
        Ok(Arc::new(Self {
            pool,
            config,
            tls,
            connect_timeout: options.connect_timeout,
            location,
            leases: Leases::new(new_host_id()?, options.lease),
            runtime: Handle::current(),
            messages: messages::sender(),
            receives: Once::new(),
            seal: options.seal.clone(),
            continuation_key: Mutex::default(),
            rows_key: OnceLock::new(),
        }))
    }

    /// Connects, makes the tables in an empty database, and unseals its secrets.
    pub(super) async fn open(
        url: &str,
        options: &PostgresOptions,
    ) -> Result<Arc<Self>, JournalError> {
        let database = Self::new(url, options)?;
        database.check_writable().await?;
        schema::ensure(&database).await?;
        database.unseal().await?;
        Leases::keep(&database);
        Ok(database)
    }

    /// Refuses a server that takes no writes: a standby.
    pub(super) async fn check_writable(&self) -> Result<(), StoreError> {
        let query = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'";
        let rows = self.read(query, &[]).await?;
        match rows.first().is_some_and(|row| row.get(0)) {
            true => Err(PostgresError::ReadOnly(Arc::clone(&self.location)).into()),
            false => Ok(()),
        }
    }

    /// Opens a connection beside those of the store, with the same encryption, for a user that
    /// keeps it: one that listens. The second value drives it, and ends with it.
    pub(super) async fn connect(&self) -> Result<(Client, ConnectionDriver), StoreError> {
        let connecting = timeout(self.connect_timeout, self.config.connect(self.tls.clone()));
        let connected = connecting.await.map_err(|_| self.no_answer())?;
        connected.map_err(self.failed("connect to the journal"))
    }

    fn no_answer(&self) -> StoreError {
        let (location, waited) = (Arc::clone(&self.location), self.connect_timeout);
        PostgresError::NoAnswer { location, waited }.into()
    }

    /// Returns a connection; it goes back when it is dropped.
    pub(super) async fn client(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(source) | PoolError::PostCreateHook(HookError::Backend(source)) => {
                self.failed("connect to the journal")(source)
            }
            PoolError::Timeout(TimeoutType::Wait) => PostgresError::PoolExhausted {
                connections: self.pool.status().max_size,
                waited: self.connect_timeout,
            }
            .into(),
            PoolError::Timeout(_) => self.no_answer(),
            error => PostgresError::Pool(error.to_string()).into(),
        })
    }

    /// Returns a conversion of the server's errors for `map_err`.
    pub(super) fn failed(
        &self,
        action: &'static str,
    ) -> impl Fn(tokio_postgres::Error) -> StoreError + Copy + '_ {
        move |source| {
            let location = Arc::clone(&self.location);
            PostgresError::Operation {
                action,
                location,
                source,
            }
            .into()
        }
    }

    /// Runs a query of the journal.
    pub(super) async fn read(
        &self,
        query: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        self.run("read the journal", query, parameters).await
    }

    /// Runs a query of the journal that is planned for its parameters: the plan for any project would
    /// visit the sessions of all others in order.
    pub(super) async fn read_planned(
        &self,
        query: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let failed = self.failed("read the journal");
        let client = self.client().await?;
        // A statement that is prepared for one execution.
        client.query(query, parameters).await.map_err(failed)
    }

    /// Runs a statement that changes rows, and returns those that it names.
    pub(super) async fn change(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        self.run("write the journal", statement, parameters).await
    }

    async fn run(
        &self,
        action: &'static str,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let client = self.client().await?;
        let failed = self.failed(action);
        let statement = client.prepare_cached(statement).await.map_err(failed)?;
        client.query(&statement, parameters).await.map_err(failed)
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

/// Names the server and the database, without the user and the password.
pub(super) fn location(config: &Config) -> Location {
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
