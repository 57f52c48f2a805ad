//! The database of `[store]`.

use crate::{
    config::{Config, ConfigError, StoreConfig},
    error::HostError,
};
use agent_host_journal::{PostgresOptions, PostgresStore, Retention, SealKey};
use secrecy::{ExposeSecret as _, SecretString};

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

    pub(super) async fn open(self, retention: Retention) -> Result<PostgresStore, HostError> {
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
