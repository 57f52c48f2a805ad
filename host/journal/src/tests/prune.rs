//! Retention: what is removed, what stays, and that the room comes back.

use super::{fresh, input, outcomes, read, record, session_of};
use crate::{Keep, KeptBecause, Pruned, SqliteJournal, Store, StoreOptions};
use agent_host_engine::journal::Journal as _;
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, SessionId},
    model::Provenance,
    output::Blob,
};
use pretty_assertions::assert_eq;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const MIB: u64 = 1024 * 1024;

/// A session with a blob of this size; it is open as long as its journal.
async fn large(store: &Store, blob: Blob) -> SqliteJournal {
    let session = SessionId::new();
    let journal = store.create(session).unwrap();
    journal.append(&[record(session, 0, input("large"))], vec![blob]);
    journal.barrier().await.unwrap();
    journal
}

fn blob(seed: u8, bytes: usize) -> Blob {
    Blob::new(vec![seed; bytes])
}

fn ended(session: SessionId, which: &str) -> EventRecord {
    let provenance = Provenance {
        provider: "script".to_owned(),
        model: "tour".to_owned(),
    };
    let outcome = outcomes(session, provenance, &CallId("call_1".to_owned()))
        .into_iter()
        .find(|outcome| serde_json::to_value(outcome).unwrap()["type"] == which)
        .unwrap();
    record(session, 1, Event::TurnEnded { outcome })
}

/// The size of the database with its log.
fn size(store: &Store) -> u64 {
    let files = [store.file(), store.file().with_extension("db-wal")];
    let size = |file: &PathBuf| fs::metadata(file).unwrap().len();
    files.iter().map(size).sum()
}

/// The size of the database alone, which is what is bounded.
fn size_without_log(store: &Store) -> u64 {
    fs::metadata(store.file()).unwrap().len()
}

fn ids(store: &Store) -> Vec<SessionId> {
    store.list().unwrap().iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn prune_removes_the_oldest_beyond_the_size() {
    let (_dir, store) = fresh();
    let shared = blob(9, 100_000);
    let mut sessions = Vec::new();
    for seed in 0..8 {
        let journal = large(&store, blob(seed, 500_000)).await;
        journal.append(&[], vec![shared.clone()]);
        journal.barrier().await.unwrap();
        sessions.push(journal.session());
    }
    assert!(size(&store) > 4 * MIB);
    let keep = Keep {
        age: None,
        bytes: Some(2 * MIB),
    };
    let pruned = store.prune(keep).unwrap();
    assert_eq!(
        pruned,
        Pruned {
            removed: sessions[..5].to_vec(),
            kept: Vec::new(),
        }
    );
    let mut left = sessions[5..].to_vec();
    left.reverse();
    assert_eq!(ids(&store), left);
    let size = size_without_log(&store);
    assert!(size <= 2 * MIB, "{size} bytes");
    for seed in 0..8 {
        let is_there = store.read_blob(blob(seed, 500_000).digest).is_ok();
        assert_eq!(is_there, seed >= 5, "{seed}");
    }
    assert!(store.read_blob(shared.digest).is_ok());
    // What is gone has no lock file, either.
    let locks = fs::read_dir(store.locks()).unwrap().count();
    assert_eq!(locks, 3 + 1, "those of the sessions, and that of making");
}

/// By age, whatever the size; and never what is in use or waits for somebody.
#[tokio::test]
async fn prune_keeps_what_is_in_use_or_waits() {
    let (_dir, store) = fresh();
    let mut waiting = Vec::new();
    for which in [
        "awaiting-confirmation",
        "awaiting-answer",
        "pending-tool-calls",
    ] {
        let (journal, _) = session_of(&store, 1).await;
        let session = journal.session();
        journal.append(&[ended(session, which)], Vec::new());
        journal.barrier().await.unwrap();
        waiting.push((session, KeptBecause::Waits));
    }
    let done = session_of(&store, 1).await.0.session();
    let (active, records) = session_of(&store, 1).await;
    let db = rusqlite::Connection::open(store.file()).unwrap();
    db.execute("UPDATE sessions SET last_ms = 1000", [])
        .unwrap();
    let keep = Keep {
        age: Some(DAY),
        bytes: None,
    };
    let pruned = store.prune(keep).unwrap();
    let kept = [waiting, vec![(active.session(), KeptBecause::InUse)]].concat();
    let removed = vec![done];
    assert_eq!(pruned, Pruned { removed, kept });
    assert_eq!(read(&store, active.session()).unwrap(), records);
    assert_eq!(store.prune(Keep::default()).unwrap(), Pruned::default());
}

/// A database that was made without a way to give pages back is rebuilt once.
#[tokio::test]
async fn prune_shrinks_a_database_of_an_earlier_version() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("agent-host.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(include_str!("format_1.sql")).unwrap();
    drop(old);
    let store = Store::open(dir.path()).unwrap();
    for seed in 0..4 {
        large(&store, blob(seed, 500_000)).await;
    }
    let keep = Keep {
        age: None,
        bytes: Some(MIB),
    };
    assert!(!store.prune(keep).unwrap().removed.is_empty());
    let size = size_without_log(&store);
    assert!(size <= MIB, "{size} bytes");
    let mode: i64 = rusqlite::Connection::open(&file)
        .unwrap()
        .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, 2);
    for row in store.list().unwrap() {
        read(&store, row.id).unwrap();
    }
}

fn bounded(dir: &Path, bytes: u64) -> Store {
    let options = StoreOptions {
        keep: Keep {
            age: None,
            bytes: Some(bytes),
        },
        ..StoreOptions::default()
    };
    Store::open_with(dir, options).unwrap()
}

/// Sixteen times the bound is written: the database stays near it, and what is in use and what is newest is whole.
#[tokio::test]
async fn background_pruning_bounds_the_database() {
    let dir = TempDir::new().unwrap();
    let store = bounded(dir.path(), 2 * MIB);
    let (active, records) = session_of(&store, 3).await;
    let mut newest = Vec::new();
    let mut largest = 0;
    for round in 0..160 {
        let session = SessionId::new();
        let journal = store.create(session).unwrap();
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
    assert!(ids(&store).len() < 20, "{}", ids(&store).len());
}
