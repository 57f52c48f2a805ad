//! The store that a configuration names.

use crate::{
    config::{Config, StoreConfig},
    error::HostError,
};
use agent_host_journal::{
    JournalStore, PostgresOptions, PostgresStore, Retention, SqliteOptions, SqliteStore,
};
use secrecy::ExposeSecret as _;
use std::sync::Arc;

/// Opens the store of a configuration. Sessions that exceed the retention are pruned in the background.
///
/// # Errors
/// As [`SqliteStore::open`] or [`PostgresStore::open`], or the address of the database cannot be
/// read.
pub async fn open_store(
    config: &Config,
    retention: Retention,
) -> Result<Arc<dyn JournalStore>, HostError> {
    if let StoreConfig::Database(address) = &config.store {
        let url = address.read().await?;
        let options = PostgresOptions {
            retention,
            lease: config.hosts.lease,
            ..PostgresOptions::default()
        };
        let store = PostgresStore::open(url.expose_secret(), options).await?;
        return Ok(Arc::new(store));
    }
    let options = SqliteOptions {
        lock_timeout: config.session.lock_timeout,
        retention,
    };
    Ok(Arc::new(
        SqliteStore::open(&config.state_dir, options).await?,
    ))
}

/// Returns the name under which approvals are remembered for the project of a configuration: its file, or
/// its directory if it has none. Another configuration of the same directory is another project, since it
/// may grant more.
#[must_use]
pub fn project(config: &Config) -> String {
    let path = config.file.as_deref().unwrap_or(&config.working_dir);
    // The quoted form of a path that is not UTF-8 is unique, and no absolute path begins with a quote.
    path.to_str()
        .map_or_else(|| format!("{path:?}"), str::to_owned)
}
