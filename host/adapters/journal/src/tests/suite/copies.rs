//! Forks and removals.

use super::{Backend, ids, read, session_of};
use crate::{
    JournalStore, KeepReason, Retention,
    tests::{input, record, text, two_turns},
};
use agent_host_types::{
    event::{Event, EventRecord, ParentCall},
    id::{CallId, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;

/// Stores a session of two turns with a blob in each: events 3 and 6 end them, and event 7 follows.
async fn stored_turns(store: &dyn JournalStore, blobs: [&Blob; 2]) -> Vec<EventRecord> {
    let session = SessionId::new();
    let records = two_turns(session, blobs);
    let journal = store.create(session).await.unwrap();
    journal.append(&records, blobs.map(Clone::clone).to_vec());
    journal.barrier().await.unwrap();
    records
}

/// Returns a record as a copy of its session has it.
fn copy(mut record: EventRecord, into: SessionId) -> EventRecord {
    record.session = into;
    if let Event::TurnEnded { outcome, .. } = &mut record.event {
        outcome.summary.session = into;
    }
    record
}

pub(super) async fn fork_has_the_events_up_to_the_end_of_a_turn(backend: &impl Backend) {
    let store = backend.open().await;
    let blobs = [b"one", b"two"].map(|bytes| Blob::new(bytes.to_vec()));
    let original = stored_turns(&*store, [&blobs[0], &blobs[1]]).await;
    let from = original[0].session;
    for (at, taken) in [(Some(3), 4), (Some(6), 7), (None, 8)] {
        let fork = store.fork(from, at, None).await.unwrap();
        let mut found = read(&*store, fork).await.unwrap();
        let forked = found.pop().unwrap();
        let copied = original[..taken].iter().cloned();
        let copied: Vec<_> = copied.map(|record| copy(record, fork)).collect();
        assert_eq!(found, copied);
        let at = taken as u64 - 1;
        assert_eq!(
            forked,
            EventRecord {
                at_ms: forked.at_ms,
                ..record(fork, at + 1, Event::SessionForked { from, at, by: None })
            }
        );
        let sessions = store.list().await.unwrap();
        let info = sessions.iter().find(|info| info.id == fork).unwrap();
        assert_eq!(
            (
                info.title.as_deref(),
                info.directory.as_deref(),
                info.events
            ),
            (Some("first"), Some("/home/ann"), at + 2)
        );
        // A fork can be forked, too.
        let again = store.fork(fork, Some(3), None).await.unwrap();
        assert_eq!(read(&*store, again).await.unwrap().len(), 5);
    }
    // The original is as it was.
    assert_eq!(read(&*store, from).await.unwrap(), original);
}

pub(super) async fn fork_elsewhere_than_at_a_turn_end_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let blob = Blob::new(b"one".to_vec());
    let original = stored_turns(&*store, [&blob, &blob]).await;
    let from = original[0].session;
    for at in [0, 2, 4, 7, 8, u64::MAX] {
        assert_eq!(
            text(store.fork(from, Some(at), None).await),
            format!(
                "no turn of session {from} ends at event {at}; `agent-host sessions show {from}` numbers its events"
            )
        );
    }
    let unknown = SessionId::new();
    assert_eq!(
        text(store.fork(unknown, None, None).await),
        format!("no session {unknown}; `agent-host sessions list` shows all sessions")
    );
    assert_eq!(ids(&*store).await, [from]);
}

pub(super) async fn fork_without_a_beginning_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (_journal, records) = session_of(&*store, 3).await;
    let from = records[0].session;
    assert_eq!(
        text(store.fork(from, None, None).await),
        format!("cannot copy session {from}: its event 0 is not the beginning of a session")
    );
    assert_eq!(ids(&*store).await, [from]);
}

pub(super) async fn blob_is_removed_with_its_last_session(backend: &impl Backend) {
    let store = backend.open().await;
    let [own, shared] = [b"own", b"all"].map(|bytes| Blob::new(bytes.to_vec()));
    let first = stored_turns(&*store, [&own, &shared]).await[0].session;
    let second = stored_turns(&*store, [&shared, &shared]).await[0].session;
    // A fork refers to all that its original refers to.
    let fork = store.fork(first, Some(3), None).await.unwrap();
    store.delete(first).await.unwrap();
    assert_eq!(store.read_blob(own.digest).await.unwrap(), own.bytes);
    store.delete(fork).await.unwrap();
    let gone = text(store.read_blob(own.digest).await);
    assert!(
        gone.starts_with(&format!("no blob {} in ", own.digest)),
        "{gone}"
    );
    assert_eq!(store.read_blob(shared.digest).await.unwrap(), shared.bytes);
    store.delete(second).await.unwrap();
    assert!(store.read_blob(shared.digest).await.is_err());
    assert_eq!(ids(&*store).await, []);
}

/// The session of an agent is no latest one, and goes with the one that started it.
pub(super) async fn session_of_an_agent_stays_with_its_parent(backend: &impl Backend) {
    let store = backend.open().await;
    let (parent, other) = (SessionId::new(), SessionId::new());
    let start = async |session: SessionId, parent: Option<SessionId>| {
        let journal = store.create(session).await.unwrap();
        let started = Event::SessionStarted {
            program: "test".to_owned(),
            system: None,
            directory: None,
            client: None,
            parent: parent.map(|session| ParentCall {
                session,
                call_id: CallId("call_0".to_owned()),
            }),
            labels: Vec::new(),
        };
        journal.append(
            &[record(session, 0, started), record(session, 1, input("x"))],
            Vec::new(),
        );
        journal.barrier().await.unwrap();
        journal
    };
    drop(start(other, None).await);
    drop(start(parent, None).await);
    let child = SessionId::from_hash([7; 32]);
    drop(start(child, Some(parent)).await);
    let grandchild = SessionId::from_hash([9; 32]);
    let running = start(grandchild, Some(child)).await;
    let listed = store.list().await.unwrap();
    let parents: Vec<_> = listed.iter().map(|info| (info.id, info.parent)).collect();
    let expected = [
        (grandchild, Some(child)),
        (child, Some(parent)),
        (parent, None),
        (other, None),
    ];
    assert_eq!(parents, expected);
    assert_eq!(store.find("latest").await.unwrap(), parent);
    assert_eq!(store.find("07070707").await.unwrap(), child);
    assert_eq!(
        text(store.delete(child).await),
        format!("session {child} belongs to an agent of session {parent}; remove that one instead")
    );
    let all = Retention {
        bytes: Some(0),
        age: None,
    };
    assert!(text(store.delete(parent).await).contains("is in use"));
    let pruned = store.prune(all).await.unwrap();
    assert_eq!(pruned.removed, [other]);
    assert_eq!(pruned.kept, [(parent, KeepReason::InUse)]);
    drop(running);
    // A copy is no agent's.
    let copy = store.fork(child, None, None).await.unwrap();
    store.delete(parent).await.unwrap();
    assert_eq!(ids(&*store).await, [copy]);
    assert_eq!(store.find("latest").await.unwrap(), copy);
    assert_eq!(store.prune(all).await.unwrap().removed, [copy]);
}

pub(super) async fn delete_of_a_session_in_use_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, records) = session_of(&*store, 2).await;
    let session = journal.session();
    let error = text(store.delete(session).await);
    assert!(
        error.starts_with(&format!("session {session} is in use: process ")),
        "{error}"
    );
    assert_eq!(read(&*store, session).await.unwrap(), records);
    drop(journal);
    store.delete(session).await.unwrap();
    assert_eq!(ids(&*store).await, []);
    for gone in [
        store.delete(session).await,
        store.open_session(session).await.map(drop),
    ] {
        assert_eq!(
            text(gone),
            format!("no session {session}; `agent-host sessions list` shows all sessions")
        );
    }
    // Its id is free again.
    drop(store.create(session).await.unwrap());
}
