//! The store that a configuration names.

#[cfg(not(feature = "postgres"))]
use crate::config::ConfigError;
use crate::{
    config::{Config, StoreConfig},
    error::HostError,
};
use agent_host_journal::{JournalStore, Maintenance, Retention, SqliteOptions, SqliteStore};
use std::{path::Path, sync::Arc};

#[cfg(feature = "postgres")]
mod database;

#[cfg(feature = "postgres")]
pub use database::{Database, parse_key};

/// Opens the store of a configuration. Sessions that exceed the retention are pruned in the
/// background.
///
/// # Errors
/// As [`SqliteStore::open`] or `PostgresStore::open`, or the address of the database, its key or its
/// authorities cannot be read.
pub async fn open_store(
    config: &Config,
    retention: Retention,
) -> Result<Arc<dyn JournalStore>, HostError> {
    #[cfg(feature = "postgres")]
    if let Some(database) = Database::configured(config, &config.store).await? {
        return Ok(Arc::new(database.open(retention).await?));
    }
    #[cfg(not(feature = "postgres"))]
    refuse_database(&config.store)?;
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
    #[cfg(feature = "postgres")]
    if let Some(database) = Database::configured(config, store).await? {
        return Ok(Arc::new(database.open(Retention::default()).await?));
    }
    #[cfg(not(feature = "postgres"))]
    refuse_database(store)?;
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

#[cfg(not(feature = "postgres"))]
fn refuse_database(store: &StoreConfig) -> Result<(), HostError> {
    match store.database {
        None => Ok(()),
        Some(_) => Err(ConfigError::new(
            "store.url",
            "this program was built without PostgreSQL, so it cannot use the database in [store]",
            "build it with the feature `postgres`, or remove `url` from [store]",
        )
        .into()),
    }
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
