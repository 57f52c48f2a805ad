//! Writing: claims, barriers, and what a failure leaves.

use super::{Backend, read, session_of};
use crate::tests::{every_event, input, record, records_of, text};
use agent_host_engine::journal::{JournalError, SessionOwner};
use agent_host_types::{event::EventRecord, id::SessionId, output::Blob};
use pretty_assertions::assert_eq;
use std::slice::from_ref;

pub(super) async fn events_of_all_kinds_come_back_unchanged(backend: &impl Backend) {
    let store = backend.open().await;
    let session = SessionId::new();
    let blob = Blob::new(vec![0, 1, 2, 255]);
    let records: Vec<EventRecord> = (0..)
        .zip(every_event(session, &blob))
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    let journal = store.create(session).await.unwrap();
    assert_eq!(journal.session(), session);
    journal.append(&records, vec![blob.clone()]);
    assert!(journal.appended_bytes() > 1000);
    assert_eq!(records_of(&*journal).await.unwrap(), records, "queued");
    assert_eq!(journal.blob(blob.digest).await.unwrap(), blob.bytes);
    journal.barrier().await.unwrap();
    assert_eq!(records_of(&*journal).await.unwrap(), records, "durable");
    assert_eq!(journal.blob(blob.digest).await.unwrap(), blob.bytes);
    drop(journal);
    drop(store);

    let store = backend.open().await;
    assert_eq!(read(&*store, session).await.unwrap(), records, "reopened");
    assert_eq!(store.read_blob(blob.digest).await.unwrap(), blob.bytes);
    let resumed = store.open_session(session).await.unwrap();
    assert_eq!(records_of(&*resumed).await.unwrap(), records, "resumed");
}

pub(super) async fn events_before_their_barrier_are_not_durable(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let (journal, records) = session_of(&*store, 2).await;
    let blob = Blob::new(b"queued".to_vec());
    let third = record(journal.session(), 2, input("third"));
    journal.append(from_ref(&third), vec![blob.clone()]);
    assert_eq!(read(&*other, journal.session()).await.unwrap(), records);
    assert!(other.read_blob(blob.digest).await.is_err());
    journal.barrier().await.unwrap();
    assert_eq!(
        read(&*other, journal.session()).await.unwrap(),
        [records, vec![third]].concat()
    );
    assert_eq!(other.read_blob(blob.digest).await.unwrap(), blob.bytes);
}

pub(super) async fn drop_stores_the_queue_and_frees_the_session(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, mut records) = session_of(&*store, 1).await;
    let session = journal.session();
    records.push(record(session, 1, input("last words")));
    journal.append(&records[1..], Vec::new());
    drop(journal);
    let opened = store.open_session(session).await.unwrap();
    assert_eq!(records_of(&*opened).await.unwrap(), records);
}

pub(super) async fn barrier_with_a_dropped_future_is_carried_out(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, _) = session_of(&*store, 1).await;
    journal.append(&[record(journal.session(), 1, input("x"))], Vec::new());
    drop(journal.barrier());
    journal.barrier().await.unwrap();
    let found = read(&*store, journal.session()).await.unwrap();
    assert_eq!(found.len(), 2);
}

/// Events that cannot be the next ones of the session are not tried again.
pub(super) async fn retry_after_a_gap_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, records) = session_of(&*store, 1).await;
    let session = journal.session();
    journal.append(&[record(session, 5, input("a gap"))], Vec::new());
    let gap = text(journal.barrier().await);
    assert!(gap.contains("has changed in"), "{gap}");
    assert!(!journal.retry());
    assert_eq!(text(journal.barrier().await), gap);
    assert_eq!(read(&*store, session).await.unwrap(), records);
}

pub(super) async fn second_claim_is_refused_with_the_owner(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let (journal, records) = session_of(&*store, 1).await;
    let session = journal.session();
    let refused = other.open_session(session).await.map(drop).unwrap_err();
    let JournalError::Locked {
        session: locked,
        owner: Some(SessionOwner { pid, host, since }),
    } = &refused
    else {
        panic!("{refused:?}");
    };
    let this_host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(
        (*locked, *pid, host.as_str()),
        (session, std::process::id(), this_host.trim())
    );
    assert!(since.starts_with('2') && since.ends_with('Z'), "{since}");
    assert_eq!(
        refused.to_string(),
        format!(
            "session {session} is in use: process {pid} on {host} since {since} is writing to it; wait for it, stop \
             it, or start another session (reading this one is always possible)"
        )
    );
    assert!(other.recover(session).await.is_err());
    assert_eq!(read(&*other, session).await.unwrap(), records);
    drop(journal);
    other.open_session(session).await.unwrap();
}

pub(super) async fn create_of_a_session_that_exists_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, _) = session_of(&*store, 1).await;
    let session = journal.session();
    drop(journal);
    assert_eq!(
        text(store.create(session).await),
        format!(
            "cannot start session {session}: a session with this id exists; resume it, or start one with another id"
        )
    );
    let never = SessionId::new();
    assert_eq!(
        text(store.open_session(never).await),
        format!("no session {never}; `agent-host sessions list` shows all sessions")
    );
}
