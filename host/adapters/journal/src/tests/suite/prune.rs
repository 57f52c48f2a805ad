//! Retention.

use super::{Backend, ids, read, session_of};
use crate::{
    JournalStore, KeepReason, Pruned, Retention,
    tests::{ended, input, record},
};
use agent_host_engine::journal::Journal;
use agent_host_types::{id::SessionId, output::Blob};
use pretty_assertions::assert_eq;
use std::{sync::Arc, time::Duration};

const MIB: u64 = 1024 * 1024;

fn blob(seed: u8, bytes: usize) -> Blob {
    Blob::new(vec![seed; bytes])
}

/// Makes a session of one event; it is claimed as long as its journal lives.
pub(super) async fn session_at(
    store: &dyn JournalStore,
    at_ms: u64,
    blobs: Vec<Blob>,
) -> Arc<dyn Journal> {
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    let mut first = record(session, 0, input("first"));
    first.at_ms = at_ms;
    journal.append(&[first], blobs);
    journal.barrier().await.unwrap();
    journal
}

pub(super) async fn prune_removes_the_oldest_beyond_the_size(backend: &impl Backend) {
    let store = backend.open().await;
    let shared = blob(9, 100_000);
    let mut sessions = Vec::new();
    for seed in 0..8 {
        let blobs = vec![blob(seed, 500_000), shared.clone()];
        let journal = session_at(&*store, 1_800_000_000_000, blobs).await;
        sessions.push(journal.session());
    }
    let retention = Retention {
        age: None,
        bytes: Some(2 * MIB),
    };
    let pruned = store.prune(retention).await.unwrap();
    assert_eq!(
        pruned,
        Pruned {
            removed: sessions[..5].to_vec(),
            kept: Vec::new(),
        }
    );
    let mut left = sessions[5..].to_vec();
    left.reverse();
    assert_eq!(ids(&*store).await, left);
    for seed in 0..8 {
        let found = store.read_blob(blob(seed, 500_000).digest).await;
        assert_eq!(found.is_ok(), seed >= 5, "{seed}");
    }
    assert!(store.read_blob(shared.digest).await.is_ok());
}

/// By age, whatever the size; and never what is in use or awaits something.
pub(super) async fn prune_keeps_sessions_in_use_or_awaiting(backend: &impl Backend) {
    let store = backend.open().await;
    let mut awaiting = Vec::new();
    for outcome in [
        "awaiting-confirmation",
        "awaiting-answer",
        "pending-tool-calls",
    ] {
        let journal = session_at(&*store, 1000, Vec::new()).await;
        let session = journal.session();
        let mut last = ended(session, outcome);
        last.at_ms = 1000;
        journal.append(&[last], Vec::new());
        journal.barrier().await.unwrap();
        awaiting.push((session, KeepReason::Awaiting));
    }
    let done = session_at(&*store, 1000, Vec::new()).await.session();
    let active = session_at(&*store, 1000, Vec::new()).await;
    let records = read(&*store, active.session()).await.unwrap();
    let (_recent, _) = session_of(&*store, 1).await;
    let mut old: Vec<_> = awaiting.iter().map(|(session, _)| *session).collect();
    old.extend([done, active.session()]);
    backend.age(&old).await;
    let retention = Retention {
        age: Some(Duration::from_secs(24 * 60 * 60)),
        bytes: None,
    };
    let pruned = store.prune(retention).await.unwrap();
    let kept = [awaiting, vec![(active.session(), KeepReason::InUse)]].concat();
    let removed = vec![done];
    assert_eq!(pruned, Pruned { removed, kept });
    assert_eq!(read(&*store, active.session()).await.unwrap(), records);
    assert_eq!(
        store.prune(Retention::default()).await.unwrap(),
        Pruned::default()
    );
}
