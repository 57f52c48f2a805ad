//! `[store]`: where sessions are kept.

use super::{
    ConfigError, Environment,
    network::NetworkConfig,
    paths::Scope,
    problem::config_error,
    section::section,
    source::{ConfigText, Purpose, ValueSource},
};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// The beginnings of an address that is written in the configuration.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The most connections of a host that can be configured.
const MAX_CONNECTIONS: u64 = 1000;

section! {
    /// `[store]`.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(super) struct RawStore {
        /// The address of a PostgreSQL database, or its source as in `api-key`.
        url [Source]: Option<String> => asks(Network, "keeps sessions in the database {value}");
        /// The PEM file with the certificates of the authorities that may sign the server's
        /// certificate; absent for the system's authorities.
        ca [Path]: Option<PathBuf> =>
            asks(Unchecked, "trusts a database certified by the authorities in {value}");
        /// The source of the key that seals the secrets in the database, as in `api-key`.
        key [Source]: Option<String> => asks(Private, "seals secrets with the key from {value}");
        /// The maximum number of connections of a host to the database.
        connections: Option<usize>, within(1, MAX_CONNECTIONS) =>
            asks(Other, "opens up to {value} connections to the database");
    }
}

/// The store as it is configured. The address and the key are not read yet.
#[derive(Clone, Debug, Default)]
pub struct StoreConfig {
    /// The database; none for a file in the state directory.
    pub database: Option<DatabaseAddress>,
    /// The file with the authorities of the server's certificate.
    pub authorities: Option<PathBuf>,
    /// The most connections.
    pub connections: Option<usize>,
    key: Option<ValueSource>,
}

/// The address of a database.
#[derive(Clone, Debug)]
pub struct DatabaseAddress(ConfigText);

impl DatabaseAddress {
    /// Reads the address.
    ///
    /// # Errors
    /// It is not where it should be.
    pub async fn read(&self) -> Result<SecretString, ConfigError> {
        self.0.read().await
    }
}

impl StoreConfig {
    /// Returns another database with the authorities, the key and the connections of this one.
    ///
    /// # Errors
    /// The text is neither an address without a password nor the source of one.
    pub fn elsewhere(&self, url: &str, environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            database: Some(address(url.to_owned(), command_line(environment))?),
            ..self.clone()
        })
    }

    /// Reads the key that seals secrets.
    ///
    /// # Errors
    /// It is not where it should be.
    pub async fn key(&self) -> Result<Option<SecretString>, ConfigError> {
        match &self.key {
            Some(source) => source.read().await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the files with secrets, which no guest may see.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let address = self.database.as_ref().and_then(|address| address.0.file());
        address
            .into_iter()
            .chain(self.key.as_ref().and_then(ValueSource::file))
    }
}

/// Reads a key that the command line names as a configuration would: `env:NAME`, `file:PATH` or
/// `cmd:COMMAND`.
///
/// # Errors
/// The text is no source, or the key is not there.
pub async fn read_store_key(
    text: &str,
    environment: &Environment,
) -> Result<SecretString, ConfigError> {
    key(text, command_line(environment))?.read().await
}

/// The scope of what the command line names.
fn command_line(environment: &Environment) -> Scope<'_> {
    Scope {
        base: &environment.cwd,
        environment,
        network: &NetworkConfig::Environment,
    }
}

/// Resolves `[store]`.
pub(super) fn resolve(raw: RawStore, scope: Scope<'_>) -> Result<StoreConfig, ConfigError> {
    let RawStore {
        url,
        ca,
        key: sealed,
        connections,
    } = raw;
    let file = |path: PathBuf| scope.resolve_path("store.ca", &path.to_string_lossy());
    Ok(StoreConfig {
        database: url.map(|url| address(url, scope)).transpose()?,
        authorities: ca.map(file).transpose()?,
        connections,
        key: sealed.map(|text| key(&text, scope)).transpose()?,
    })
}

fn key(text: &str, scope: Scope<'_>) -> Result<ValueSource, ConfigError> {
    let what = "the key that seals the secrets in the database";
    let purpose = Purpose::new(what, "key", "of [store]");
    ValueSource::parse(text, "store.key", purpose, scope)
}

fn address(text: String, scope: Scope<'_>) -> Result<DatabaseAddress, ConfigError> {
    let Some(rest) = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
        let purpose = Purpose::new("the address of the database", "url", "of [store]");
        let source = ValueSource::parse(&text, "store.url", purpose, scope)?;
        return Ok(DatabaseAddress(ConfigText::Source(source)));
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    // The error does not repeat it.
    if user.contains(':') || rest.contains("password=") {
        return Err(config_error!(
            "store.url",
            "`url` contains a password, which does not belong in a file that is shared and committed",
            "write `env:NAME`, `file:PATH` or `cmd:COMMAND` for the whole address"
        ));
    }
    Ok(DatabaseAddress(ConfigText::Literal(text.into())))
}
