//! Secrets that are sealed: what a copy of the database tells, and who may start.

use super::operator;
use crate::{
    JournalStore as _, PostgresOptions, PostgresStore, SealKey, postgres_server::database,
};
use pretty_assertions::assert_eq;

fn key(digits: &str) -> Option<SealKey> {
    Some(SealKey::parse(&digits.repeat(32)).unwrap())
}

fn options(seal: Option<SealKey>) -> PostgresOptions {
    PostgresOptions {
        seal,
        ..PostgresOptions::default()
    }
}

async fn opened(url: &str, seal: Option<SealKey>) -> Result<[u8; 32], String> {
    let store = PostgresStore::open(url, options(seal))
        .await
        .map_err(|error| error.to_string())?;
    Ok(store.continuation_key().await.unwrap())
}

/// Reads the secrets as a copy of the database has them.
async fn stored(url: &str) -> Vec<(String, Vec<u8>)> {
    let query = "SELECT name, value FROM secrets ORDER BY name";
    let rows = operator(url).await.query(query, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// With a key, nothing that is stored is the secret, and only hosts with the key start.
#[tokio::test]
async fn sealed_secret_is_opened_by_its_key_alone() {
    let Some(url) = database() else { return };
    let secret = opened(&url, key("ab")).await.unwrap();
    assert_eq!(opened(&url, key("ab")).await, Ok(secret));
    let copy = stored(&url).await;
    let names: Vec<&str> = copy.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["continuation-key", "rows-key"]);
    assert!(!copy[0].1.windows(32).any(|bytes| bytes == secret));
    for (seal, expected) in [
        (
            key("cd"),
            "the key in [store] does not open the secrets in the database ",
        ),
        (None, "the secrets in the database "),
    ] {
        let refused = opened(&url, seal).await.unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
    assert_eq!(stored(&url).await, copy, "nothing was overwritten");
}

/// A value of a host without a key is not taken for one that is sealed.
#[tokio::test]
async fn secret_that_is_not_sealed_is_refused_with_a_key() {
    let Some(url) = database() else { return };
    let secret = opened(&url, None).await.unwrap();
    let refused = opened(&url, key("ab")).await.unwrap_err();
    assert!(refused.contains("are not sealed yet"), "{refused}");
    let sealed = PostgresStore::rekey(&url, options(key("ab")), None).await;
    assert_eq!(sealed.unwrap(), 2);
    assert_eq!(opened(&url, key("ab")).await, Ok(secret));
}

/// A new key takes the place of the old one; a wrong one changes nothing.
#[tokio::test]
async fn secrets_are_sealed_with_a_new_key() {
    let Some(url) = database() else { return };
    let secret = opened(&url, key("ab")).await.unwrap();
    let before = stored(&url).await;
    for from in [None, key("ef")] {
        let refused = PostgresStore::rekey(&url, options(key("cd")), from).await;
        refused.unwrap_err();
        assert_eq!(stored(&url).await, before);
    }
    let sealed = PostgresStore::rekey(&url, options(key("cd")), key("ab")).await;
    assert_eq!(sealed.unwrap(), 2);
    assert_eq!(opened(&url, key("cd")).await, Ok(secret));
    opened(&url, key("ab")).await.unwrap_err();
}

/// A sealed secret is bound to its name, and one that was changed is none.
#[tokio::test]
async fn sealed_secret_of_another_name_is_refused() {
    let key = key("ab").unwrap();
    let sealed = key.seal_secret("one", b"secret").unwrap();
    assert_eq!(key.open_secret("one", &sealed).unwrap(), b"secret");
    key.open_secret("other", &sealed).unwrap_err();
    for place in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        key.open_secret("one", &changed).unwrap_err();
        key.open_secret("one", &sealed[..place]).unwrap_err();
    }
}
