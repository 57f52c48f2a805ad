//! Retention: the size of the files, and pruning in the background.

use super::{Database, SqliteJournal, fresh, input, read, record, session_of};
use crate::{Retention, SessionScope, SqliteOptions};
use agent_host_engine::journal::Journal as _;
use agent_host_types::{id::SessionId, output::Blob};
use pretty_assertions::assert_eq;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const MIB: u64 = 1024 * 1024;

/// Makes a session with a blob; it is claimed as long as its journal lives.
async fn large(store: &Database, blob: Blob) -> SqliteJournal {
    let session = SessionId::new();
    let journal = store.create(session, None).unwrap();
    journal.append(&[record(session, 0, input("large"))], vec![blob]);
    journal.barrier().await.unwrap();
    journal
}

fn blob(seed: u8, bytes: usize) -> Blob {
    Blob::new(vec![seed; bytes])
}

/// The size of the database with its log.
fn size(store: &Database) -> u64 {
    let files = [
        store.file().to_owned(),
        store.file().with_extension("db-wal"),
    ];
    let size = |file: &PathBuf| fs::metadata(file).unwrap().len();
    files.iter().map(size).sum()
}

/// The size of the database alone, to which the bound applies.
fn size_without_log(store: &Database) -> u64 {
    fs::metadata(store.file()).unwrap().len()
}

fn ids(store: &Database) -> Vec<SessionId> {
    store
        .reader()
        .sessions(&SessionScope::All)
        .unwrap()
        .iter()
        .map(|row| row.id)
        .collect()
}

/// Pruning returns the space to the disk, and removes the lock files of the sessions.
#[tokio::test]
async fn prune_shrinks_the_database() {
    let (_dir, store) = fresh();
    for seed in 0..8 {
        large(&store, blob(seed, 500_000)).await;
    }
    assert!(size(&store) > 4 * MIB);
    // Four of the pictures, and the tables.
    let most = 2 * MIB + MIB / 9;
    let retention = Retention {
        age: None,
        bytes: Some(most),
    };
    assert_eq!(store.prune(retention).unwrap().removed.len(), 4);
    let size = size_without_log(&store);
    assert!(size <= most, "{size} bytes");
    let locks = fs::read_dir(store.locks()).unwrap().count();
    assert_eq!(locks, 4 + 1, "those of the sessions, and that of making");
}

/// The names of the lock files of sessions.
fn lock_files(store: &Database) -> Vec<String> {
    let entries = fs::read_dir(store.locks()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "make.lock").collect()
}

/// A session of which nothing was stored leaves no lock file, also after its process was killed.
#[tokio::test]
async fn lock_file_of_an_empty_session_is_removed() {
    let (_dir, store) = fresh();
    let empty = store.create(SessionId::new(), None).unwrap();
    assert_eq!(lock_files(&store).len(), 1);
    drop(empty);
    assert_eq!(lock_files(&store), Vec::<String>::new());

    let stored = large(&store, blob(1, 10)).await;
    let name = format!("{}.lock", stored.session());
    drop(stored);
    let left = store.locks().join(format!("{}.lock", SessionId::new()));
    fs::write(&left, "").unwrap();
    let held = store.create(SessionId::new(), None).unwrap();
    store.prune(Retention::default()).unwrap();
    let mut expected = vec![name, format!("{}.lock", held.session())];
    let mut found = lock_files(&store);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

fn bounded(dir: &Path, bytes: u64) -> Database {
    let options = SqliteOptions {
        retention: Retention {
            age: None,
            bytes: Some(bytes),
        },
        ..SqliteOptions::default()
    };
    Database::open(dir, options, None).unwrap()
}

/// Sixteen times the bound is written: the database stays near it, and sessions in use and the
/// newest are whole.
#[tokio::test]
async fn background_pruning_bounds_the_database() {
    let dir = TempDir::new().unwrap();
    let store = bounded(dir.path(), 2 * MIB);
    let (active, records) = session_of(&store, 3).await;
    let mut newest = Vec::new();
    let mut largest = 0;
    for round in 0..160 {
        let session = SessionId::new();
        let journal = store.create(session, None).unwrap();
        let event = record(session, 0, input(&"x".repeat(1000)));
        journal.append(&[event], vec![blob(round, 200_000 + usize::from(round))]);
        journal.barrier().await.unwrap();
        newest.push(session);
        largest = largest.max(size(&store));
    }
    assert!(largest <= 10 * MIB, "{largest} bytes");
    let size = size_without_log(&store);
    assert!(size <= 4 * MIB, "{size} bytes");
    assert_eq!(read(&store, active.session()).unwrap(), records);
    for session in &newest[newest.len() - 4..] {
        assert_eq!(read(&store, *session).unwrap().len(), 1);
    }
    // As many as 4 MiB have.
    assert!(ids(&store).len() <= 20, "{}", ids(&store).len());
}
