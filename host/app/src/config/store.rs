//! `[store]`: where sessions are kept.

use super::{
    ConfigError,
    paths::Scope,
    problem::config_error,
    source::{Purpose, Source},
};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The beginnings of an address that is written in the configuration.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// `[store]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawStore {
    /// The address of a database of PostgreSQL, or its source as in `api-key`.
    pub(super) url: Option<String>,
}

/// The store as it is configured. The address is not read yet.
#[derive(Clone, Debug, Default)]
pub enum StoreConfig {
    /// A file in the state directory.
    #[default]
    StateDir,
    /// A database.
    Database(DatabaseAddress),
}

/// The address of a database.
#[derive(Clone, Debug)]
pub struct DatabaseAddress(Address);

#[derive(Clone, Debug)]
enum Address {
    Literal(String),
    /// It may have a password.
    Source(Source),
}

impl DatabaseAddress {
    /// Reads the address.
    ///
    /// # Errors
    /// It is not where it should be.
    pub async fn read(&self) -> Result<SecretString, ConfigError> {
        match &self.0 {
            Address::Literal(url) => Ok(url.as_str().into()),
            Address::Source(source) => source.read().await,
        }
    }

    /// Returns the file with the address, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.0 {
            Address::Literal(_) => None,
            Address::Source(source) => source.file(),
        }
    }
}

/// Resolves `[store]`.
pub(super) fn resolve(raw: RawStore, scope: Scope<'_>) -> Result<StoreConfig, ConfigError> {
    let Some(text) = raw.url else {
        return Ok(StoreConfig::StateDir);
    };
    let Some(rest) = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
        let purpose = Purpose {
            what: "the address of the database".to_owned(),
            setting: "url",
            of: "of [store]".to_owned(),
        };
        let source = Source::parse(&text, "store.url", purpose, scope)?;
        return Ok(StoreConfig::Database(DatabaseAddress(Address::Source(
            source,
        ))));
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    // The error does not repeat it.
    if user.contains(':') || rest.contains("password=") {
        return Err(config_error!(
            "store.url",
            "`url` has a password, which has no place in a file that is shared and committed",
            "write `env:NAME`, `file:PATH` or `cmd:COMMAND` for the whole address"
        ));
    }
    Ok(StoreConfig::Database(DatabaseAddress(Address::Literal(
        text,
    ))))
}
