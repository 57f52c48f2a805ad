//! Forks and removals: the rows that they leave.

use super::{Database, fresh, text};
use agent_host_engine::journal::Journal as _;
use agent_host_types::{id::SessionId, output::Blob};
use pretty_assertions::assert_eq;
use rusqlite::Connection;

/// Stores a session of two turns with a blob in each.
async fn two_turns(store: &Database, blobs: [&Blob; 2]) -> SessionId {
    let session = SessionId::new();
    let journal = store.create(session, None).unwrap();
    let records = super::two_turns(session, blobs);
    journal.append(&records, blobs.map(Clone::clone).to_vec());
    journal.barrier().await.unwrap();
    session
}

/// The number of rows of each table.
fn rows(store: &Database) -> Vec<(String, i64)> {
    let db = Connection::open(store.file()).unwrap();
    ["sessions", "events", "blobs", "blob_references"]
        .into_iter()
        .map(|table| {
            let query = format!("SELECT count(*) FROM {table}");
            let count = db.query_row(&query, [], |row| row.get(0)).unwrap();
            (table.to_owned(), count)
        })
        .collect()
}

fn counted(sessions: i64, events: i64, blobs: i64, references: i64) -> Vec<(String, i64)> {
    [
        ("sessions", sessions),
        ("events", events),
        ("blobs", blobs),
        ("blob_references", references),
    ]
    .map(|(table, count)| (table.to_owned(), count))
    .to_vec()
}

/// A fork that finds damage is rolled back.
#[tokio::test]
async fn fork_of_a_damaged_session_leaves_nothing() {
    let (_dir, store) = fresh();
    let blob = Blob::new(b"one".to_vec());
    let from = two_turns(&store, [&blob, &blob]).await;
    let db = Connection::open(store.file()).unwrap();
    db.execute_batch("UPDATE events SET json = replace(json, 'third', 'fourth')")
        .unwrap();
    let before = rows(&store);
    let error = text(store.fork(from, None, None));
    assert!(
        error.contains("event 7 has changed since it was stored"),
        "{error}"
    );
    assert_eq!(rows(&store), before);
}

#[tokio::test]
async fn delete_removes_the_rows_of_a_session_and_its_blobs() {
    let (_dir, store) = fresh();
    let [own, shared] = [b"own", b"all"].map(|bytes| Blob::new(bytes.to_vec()));
    let first = two_turns(&store, [&own, &shared]).await;
    let second = two_turns(&store, [&shared, &shared]).await;
    // A fork refers to all that its original refers to.
    let fork = store.fork(first, Some(3), None).unwrap();
    assert_eq!(rows(&store), counted(3, 8 + 8 + 5, 2, 2 + 1 + 2));
    store.delete(first).unwrap();
    assert_eq!(rows(&store), counted(2, 8 + 5, 2, 1 + 2));
    assert_eq!(store.reader().blob(own.digest).unwrap(), own.bytes);
    store.delete(fork).unwrap();
    assert_eq!(rows(&store), counted(1, 8, 1, 1));
    assert_eq!(
        text(store.reader().blob(own.digest)),
        format!(
            "no blob {} in {}; check the digest",
            own.digest,
            store.file().display()
        )
    );
    assert_eq!(store.reader().blob(shared.digest).unwrap(), shared.bytes);
    store.delete(second).unwrap();
    assert_eq!(rows(&store), counted(0, 0, 0, 0));
}
