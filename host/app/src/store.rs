//! The store that a configuration names.

use crate::{
    config::{Config, ConfigError, StoreConfig},
    error::HostError,
};
use agent_host_journal::{
    JournalStore, Maintenance, PostgresOptions, PostgresStore, Retention, SealKey, SqliteOptions,
    SqliteStore,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{path::Path, sync::Arc};

/// Opens the store of a configuration. Sessions that exceed the retention are pruned in the
/// background.
///
/// # Errors
/// As [`SqliteStore::open`] or [`PostgresStore::open`], or the address of the database, its key or its
/// authorities cannot be read.
pub async fn open_store(
    config: &Config,
    retention: Retention,
) -> Result<Arc<dyn JournalStore>, HostError> {
    if let Some(database) = Database::configured(config, &config.store).await? {
        return Ok(Arc::new(database.open(retention).await?));
    }
    Ok(Arc::new(open_state_dir(config, retention).await?))
}

/// Opens a store of a configuration for the operations of `agent-host store`: that of `[store]`, or
/// another one in its place.
///
/// # Errors
/// As for [`open_store`].
pub async fn open_maintenance(
    config: &Config,
    store: &StoreConfig,
) -> Result<Arc<dyn Maintenance>, HostError> {
    if let Some(database) = Database::configured(config, store).await? {
        return Ok(Arc::new(database.open(Retention::default()).await?));
    }
    let store = open_state_dir(config, Retention::default()).await?;
    Ok(Arc::new(store))
}

async fn open_state_dir(config: &Config, retention: Retention) -> Result<SqliteStore, HostError> {
    let options = SqliteOptions {
        lock_timeout: config.session.lock_timeout,
        retention,
    };
    Ok(SqliteStore::open(&config.state_dir, options).await?)
}

/// The database of a configuration, with everything that opens it.
#[derive(Debug)]
pub struct Database {
    url: SecretString,
    options: PostgresOptions,
}

impl Database {
    /// Reads the address, the key and the authorities; `None` for a store in the state directory.
    ///
    /// # Errors
    /// One of them is not where it should be, or is none.
    pub async fn configured(
        config: &Config,
        store: &StoreConfig,
    ) -> Result<Option<Self>, HostError> {
        let Some(address) = &store.database else {
            return Ok(None);
        };
        let default = PostgresOptions::default();
        let authorities = match &store.authorities {
            None => agent_host_http_client::roots(),
            Some(file) => {
                let unread = |error: String| {
                    let path = file.display();
                    ConfigError::new(
                        "store.ca",
                        format!("invalid `ca` of [store]: {path}: {error}"),
                        "name a PEM file with the authorities' certificates",
                    )
                };
                let pem = tokio::fs::read(file).await;
                let pem = pem.map_err(|error| unread(error.to_string()))?;
                agent_host_http_client::authorities(&pem)
                    .map_err(|error| unread(error.to_string()))?
            }
        };
        let seal = match store.key().await? {
            None => None,
            Some(key) => Some(parse_key(&key)?),
        };
        Ok(Some(Self {
            url: address.read().await?,
            options: PostgresOptions {
                connections: store.connections.unwrap_or(default.connections),
                lease: config.hosts.lease,
                authorities,
                seal,
                ..default
            },
        }))
    }

    async fn open(self, retention: Retention) -> Result<PostgresStore, HostError> {
        let options = PostgresOptions {
            retention,
            ..self.options
        };
        Ok(PostgresStore::open(self.url.expose_secret(), options).await?)
    }

    /// Returns the address, with its password.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.expose_secret()
    }

    /// Returns the options, for [`PostgresStore`].
    #[must_use]
    pub fn options(self) -> PostgresOptions {
        self.options
    }
}

/// Parses a key of `[store]`.
///
/// # Errors
/// It is none.
pub fn parse_key(key: &SecretString) -> Result<SealKey, ConfigError> {
    SealKey::parse(key.expose_secret()).map_err(|error| {
        ConfigError::new(
            "store.key",
            format!("cannot use the key that seals the secrets in the database: {error}"),
            "use the same key on all hosts",
        )
    })
}

/// Returns the name under which approvals are remembered in the project of a configuration: its
/// file, or its directory if it has none. Those of another configuration of the same directory are
/// others, since it may grant more.
#[must_use]
pub fn project(config: &Config) -> String {
    path_text(config.file.as_deref().unwrap_or(&config.working_dir))
}

/// Returns the name of the project to which the sessions of a configuration belong: its directory.
#[must_use]
pub fn session_project(config: &Config) -> String {
    path_text(&config.project_dir)
}

/// Returns a path as text. The quoted form of one that is not UTF-8 is unique, and no absolute path
/// begins with a quote.
fn path_text(path: &Path) -> String {
    path.to_str()
        .map_or_else(|| format!("{path:?}"), str::to_owned)
}
