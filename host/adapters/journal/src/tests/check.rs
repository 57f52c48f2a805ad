//! The check of a store finds what an operator or a disk changed.

use crate::{
    Maintenance, PostgresOptions, PostgresStore, SealKey, SessionCheck, SqliteOptions, SqliteStore,
    check, check_rest,
    postgres_server::database,
    tests::{
        input,
        suite::families::{started, store_all},
        two_turns,
    },
};
use agent_host_types::{
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;
use std::sync::Arc;
use tempfile::TempDir;
use tokio_postgres::NoTls;

const BLOBS: [&[u8]; 2] = [b"one", b"two"];

/// A store, and who changes its tables past it.
pub(super) enum Place {
    Sqlite(TempDir),
    Postgres(String),
}

impl Place {
    /// Makes an empty place of each kind that there is.
    pub(super) fn all() -> Vec<Self> {
        let mut places = vec![Self::Sqlite(TempDir::new().unwrap())];
        places.extend(database().map(Self::Postgres));
        places
    }

    /// The options of a database: with a key, as hosts of several machines have.
    pub(super) fn options(&self) -> PostgresOptions {
        PostgresOptions {
            seal: Some(SealKey::parse(&"07".repeat(32)).unwrap()),
            ..PostgresOptions::default()
        }
    }

    /// Reads the signature of the one row of a table.
    pub(super) async fn signature(&self, table: &str, column: &str) -> Vec<u8> {
        let query = format!("SELECT {column} FROM {table}");
        match self {
            Self::Sqlite(dir) => {
                let db = rusqlite::Connection::open(dir.path().join("agent-host.db")).unwrap();
                db.query_row(&query, [], |row| row.get(0)).unwrap()
            }
            Self::Postgres(url) => {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
                tokio::spawn(connection);
                client.query_one(&query, &[]).await.unwrap().get(0)
            }
        }
    }

    /// Removes the key that signs rows, as a store of an older version is without it.
    pub(super) async fn forget_key(&self) {
        match self {
            Self::Sqlite(dir) => std::fs::remove_file(dir.path().join("rows.key")).unwrap(),
            Self::Postgres(_) => {
                self.change("DELETE FROM secrets WHERE name = 'rows-key'")
                    .await;
            }
        }
    }

    /// True for a database of PostgreSQL, whose tables have other columns.
    pub(super) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub(super) async fn open(&self) -> Arc<dyn Maintenance> {
        match self {
            Self::Sqlite(dir) => {
                let store = SqliteStore::open(dir.path(), SqliteOptions::default());
                Arc::new(store.await.unwrap())
            }
            Self::Postgres(url) => {
                Arc::new(PostgresStore::open(url, self.options()).await.unwrap())
            }
        }
    }

    pub(super) async fn change(&self, statement: &str) {
        match self {
            Self::Sqlite(dir) => {
                let db = rusqlite::Connection::open(dir.path().join("agent-host.db")).unwrap();
                db.pragma_update(None, "foreign_keys", false).unwrap();
                db.execute_batch(statement).unwrap();
            }
            Self::Postgres(url) => {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
                tokio::spawn(connection);
                client.batch_execute(statement).await.unwrap();
            }
        }
    }
}

async fn checked(store: &dyn Maintenance) -> (Vec<SessionCheck>, Vec<String>) {
    let mut sessions = Vec::new();
    check(store.as_store(), |session| sessions.push(session))
        .await
        .unwrap();
    (sessions, check_rest(store).await.unwrap())
}

#[tokio::test]
async fn damage_is_found_where_it_is() {
    for place in Place::all() {
        let store = place.open().await;
        let (turns, small) = (SessionId::new(), SessionId::new());
        let [one, two] = BLOBS.map(|bytes| Blob::new(bytes.to_vec()));
        let records = two_turns(turns, [&one, &two]);
        let journal = store.create(turns).await.unwrap();
        journal.append(&records, vec![one.clone(), two.clone()]);
        journal.barrier().await.unwrap();
        drop(journal);
        store_all(
            store.as_store(),
            small,
            vec![started(None), input("go")],
            Vec::new(),
        )
        .await;
        let whole = |session, events, blobs| SessionCheck {
            session,
            events,
            blobs,
            faults: Vec::new(),
        };
        let sessions = vec![whole(small, 2, 0), whole(turns, records.len() as u64, 2)];
        assert_eq!(checked(&*store).await, (sessions, Vec::new()));
        let gone = Digest::of(b"gone");
        place
            .change(&format!(
                "INSERT INTO blobs SELECT '{gone}', bytes FROM blobs WHERE digest = '{}';
                 UPDATE blobs SET bytes = (SELECT bytes FROM blobs AS b WHERE b.digest = '{gone}')
                     WHERE digest = '{}';
                 DELETE FROM events WHERE session = '{small}' AND seq = 0;
                 INSERT INTO events SELECT 'stray', seq, at_ms, v, kind, json, digest FROM events
                     WHERE session = '{turns}' AND seq = 0;",
                two.digest, one.digest
            ))
            .await;
        let (sessions, rest) = checked(&*store).await;
        let faults: Vec<_> = sessions
            .iter()
            .map(|session| (session.session, session.faults.join("; ")))
            .collect();
        let [(first, gap), (second, changed)] = <[_; 2]>::try_from(faults).unwrap();
        assert_eq!([first, second], [small, turns]);
        assert!(
            gap.contains("event 0 is missing (the next one is 1)"),
            "{gap}"
        );
        let expected = format!("the bytes of blob {} in ", one.digest);
        assert!(changed.starts_with(&expected), "{changed}");
        let expected = [
            format!("a blob that no session refers to: {gone}"),
            "events of a session that does not exist: stray".to_owned(),
            format!("a session whose event count is wrong: {small}"),
        ];
        assert_eq!(rest, expected);
    }
}
