//! The secrets in the database: sealed with a key that is kept elsewhere, so that a copy of the
//! database alone gives no authority.

use super::database::Database;
use crate::{
    error::{PostgresError, StoreError},
    sealed::{SealError, SealKey},
    signature::{BYTES, RowKey},
};
use agent_host_engine::journal::JournalError;
use deadpool_postgres::Transaction;
use ring::aead::{Aad, NONCE_LEN, Nonce};
use std::sync::{Arc, PoisonError};

/// The name of the secret that signs continuations.
pub(super) const CONTINUATION_KEY: &str = "continuation-key";

/// The name of the secret that signs rows.
const ROWS_KEY: &str = "rows-key";

/// The beginning of a sealed secret of a database, which also authenticates the version of the
/// form.
const SECRET_PREFIX: &[u8] = b"agent-host-secret.1.";

/// A key that signs rows, before it is stored.
pub(super) struct NewRowsKey {
    pub(super) key: RowKey,
    value: Vec<u8>,
}

impl NewRowsKey {
    /// Stores the key, unless there is one. Returns whether it was stored.
    pub(super) async fn keep(&self, tx: &Transaction<'_>) -> Result<bool, tokio_postgres::Error> {
        let insert = "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        Ok(tx.execute(insert, &[&ROWS_KEY, &self.value]).await? > 0)
    }
}

impl SealKey {
    /// Seals a secret of a database: it is opened under this name alone.
    pub(super) fn seal_secret(&self, name: &str, secret: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::Random)?;
        let mut text = secret.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from([SECRET_PREFIX, name.as_bytes()].concat());
        self.cipher()?
            .seal_in_place_append_tag(unique, aad, &mut text)
            .map_err(|_| SealError::Seal)?;
        Ok([SECRET_PREFIX, &nonce, &text].concat())
    }

    /// Opens a secret of a database.
    pub(super) fn open_secret(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let rest = sealed.strip_prefix(SECRET_PREFIX).ok_or(SealError::Form)?;
        let (nonce, text) = rest.split_first_chunk().ok_or(SealError::Form)?;
        let mut text = text.to_vec();
        let aad = Aad::from([SECRET_PREFIX, name.as_bytes()].concat());
        let opened = self
            .cipher()?
            .open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut text)
            .map_err(|_| SealError::Seal)?;
        Ok(opened.to_vec())
    }

    /// Whether a stored secret is sealed; its key is not checked.
    fn is_sealed_secret(value: &[u8]) -> bool {
        value.starts_with(SECRET_PREFIX)
    }
}

fn random() -> Result<[u8; BYTES], StoreError> {
    let mut secret = [0_u8; BYTES];
    getrandom::fill(&mut secret).map_err(|error| StoreError::Random(error.to_string()))?;
    Ok(secret)
}

impl Database {
    /// Reads the keys that sign continuations and rows, or makes them; the first process that asks
    /// does. Only a host with the right key gets beyond this, and nothing that is stored changes.
    pub(super) async fn unseal(&self) -> Result<(), JournalError> {
        let key = self.read_or_make(CONTINUATION_KEY).await?;
        self.set_continuation_key(key);
        let rows_key = RowKey::new(&self.read_or_make(ROWS_KEY).await?);
        // It is set once, when the store opens.
        let _ = self.rows_key.set(rows_key);
        Ok(())
    }

    /// Makes a key that signs rows, which is not stored yet. Only with the key of the store.
    pub(super) async fn new_rows_key(&self) -> Result<NewRowsKey, StoreError> {
        self.secret(CONTINUATION_KEY).await?;
        let secret = random()?;
        Ok(NewRowsKey {
            key: RowKey::new(&secret),
            value: self.sealed(ROWS_KEY, &secret)?,
        })
    }

    /// Returns the key that signs rows.
    pub(super) fn rows_key(&self) -> Result<&RowKey, StoreError> {
        let key = self.rows_key.get();
        key.ok_or_else(|| self.still_sealed())
    }

    fn still_sealed(&self) -> StoreError {
        PostgresError::StillSealed(Arc::clone(&self.location)).into()
    }

    async fn read_or_make(&self, name: &str) -> Result<[u8; BYTES], StoreError> {
        let key = match self.secret(name).await? {
            Some(key) => key,
            None => self.keep_secret(name, &random()?).await?,
        };
        self.key(&key)
    }

    fn set_continuation_key(&self, key: [u8; 32]) {
        let known = self.continuation_key.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = Some(key);
    }

    /// Returns the key that signs continuations.
    pub(super) fn continuation_key(&self) -> Result<[u8; 32], JournalError> {
        let known = self.continuation_key.lock();
        let key = *known.unwrap_or_else(PoisonError::into_inner);
        key.ok_or_else(|| self.still_sealed().into())
    }

    fn key(&self, secret: &[u8]) -> Result<[u8; 32], StoreError> {
        let location = || Arc::clone(&self.location);
        secret
            .try_into()
            .map_err(|_| PostgresError::SecretForm(location()).into())
    }

    /// Reads a secret.
    pub(super) async fn secret(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let query = "SELECT value FROM secrets WHERE name = $1";
        let rows = self.read(query, &[&name]).await?;
        let value = rows.first().map(|row| row.get::<_, Vec<u8>>(0));
        value
            .map(|value| self.opened(name, &value, self.seal.as_ref()))
            .transpose()
    }

    /// Stores a secret unless there is one of this name, and returns the one that is stored.
    pub(super) async fn keep_secret(
        &self,
        name: &str,
        secret: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let value = self.sealed(name, secret)?;
        let statement = "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.change(statement, &[&name, &value]).await?;
        let stored = self.secret(name).await?;
        stored.ok_or_else(|| PostgresError::SecretForm(Arc::clone(&self.location)).into())
    }

    /// Seals every secret anew: what another key has sealed, or none, by that of this store.
    /// Returns their number.
    pub(super) async fn rekey(&self, from: Option<&SealKey>) -> Result<usize, StoreError> {
        let failed = self.failed("seal the secrets");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let all = "SELECT name, value FROM secrets ORDER BY name FOR UPDATE";
        let rows = tx.query(all, &[]).await.map_err(failed)?;
        for row in &rows {
            let (name, value): (&str, &[u8]) = (row.get(0), row.get(1));
            let sealed = self.sealed(name, &self.opened(name, value, from)?)?;
            let update = "UPDATE secrets SET value = $2 WHERE name = $1";
            tx.execute(update, &[&name, &sealed])
                .await
                .map_err(failed)?;
        }
        tx.commit().await.map_err(failed)?;
        Ok(rows.len())
    }

    /// Replaces the key that signs continuations, while no session of the database needs the one
    /// that it has. False if one may.
    pub(super) async fn adopt_continuation_key(&self, key: [u8; 32]) -> Result<bool, StoreError> {
        let value = self.sealed(CONTINUATION_KEY, &key)?;
        let statement = "UPDATE secrets SET value = $2 WHERE name = $1
            AND NOT EXISTS (SELECT 1 FROM sessions) AND NOT EXISTS (SELECT 1 FROM leases)
            RETURNING name";
        let replaced = self.change(statement, &[&CONTINUATION_KEY, &value]).await?;
        if replaced.is_empty() {
            return Ok(false);
        }
        self.set_continuation_key(key);
        Ok(true)
    }

    fn sealed(&self, name: &str, secret: &[u8]) -> Result<Vec<u8>, StoreError> {
        let Some(key) = &self.seal else {
            return Ok(secret.to_vec());
        };
        key.seal_secret(name, secret).map_err(|source| {
            let location = Arc::clone(&self.location);
            PostgresError::Seal { location, source }.into()
        })
    }

    /// Opens what is stored. A value that is not sealed is refused where one is expected: a store
    /// whose key is configured takes none from the one who could write it.
    fn opened(
        &self,
        name: &str,
        value: &[u8],
        key: Option<&SealKey>,
    ) -> Result<Vec<u8>, StoreError> {
        let location = Arc::clone(&self.location);
        match (SealKey::is_sealed_secret(value), key) {
            (false, None) => Ok(value.to_vec()),
            (false, Some(_)) => Err(PostgresError::NotSealed(location).into()),
            (true, None) => Err(PostgresError::SealMissing(location).into()),
            (true, Some(key)) => key
                .open_secret(name, value)
                .map_err(|_| PostgresError::SealWrong(location).into()),
        }
    }
}
