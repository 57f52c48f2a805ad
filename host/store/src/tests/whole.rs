//! Forks and removals.

use super::{fresh, input, outcomes, read, record, session_of, text};
use crate::Store;
use agent_host_engine::journal::Journal as _;
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, SessionId},
    model::Provenance,
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use rusqlite::Connection;

fn settled(blob: &Blob) -> Event {
    let file = FilePart {
        media_type: "text/plain".to_owned(),
        data: FileData::Blob(blob.reference()),
        filename: None,
    };
    Event::CallSettled {
        call_id: CallId("call_1".to_owned()),
        tool: "read".to_owned(),
        output: ToolResultOutput::Content(vec![ContentPart::File(file)]),
        accounting: super::accounting(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        tape: None,
    }
}

/// A session of two turns: the events 3 and 6 end them, and something is said after that. Each turn has a blob.
async fn two_turns(store: &Store, blobs: [&Blob; 2]) -> Vec<EventRecord> {
    let session = SessionId::new();
    let provenance = Provenance {
        provider: "script".to_owned(),
        model: "tour".to_owned(),
    };
    let ended = outcomes(session, provenance, &CallId("call_1".to_owned()))
        .pop()
        .map(|outcome| Event::TurnEnded { outcome })
        .unwrap();
    let started = Event::SessionStarted {
        program: "test".to_owned(),
        system: None,
        folder: Some("/home/ann".to_owned()),
        client: None,
        parent: None,
    };
    let events = [
        started,
        input("first"),
        settled(blobs[0]),
        ended.clone(),
        input("second"),
        settled(blobs[1]),
        ended,
        input("third"),
    ];
    let records: Vec<_> = (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    let journal = store.create(session).unwrap();
    journal.append(&records, blobs.map(Clone::clone).to_vec());
    journal.barrier().await.unwrap();
    records
}

/// How many rows each table has.
fn rows(store: &Store) -> Vec<(String, i64)> {
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

#[tokio::test]
async fn a_fork_has_the_events_up_to_the_end_of_a_turn() {
    let (_dir, store) = fresh();
    let blobs = [b"one", b"two"].map(|bytes| Blob::new(bytes.to_vec()));
    let original = two_turns(&store, [&blobs[0], &blobs[1]]).await;
    let from = original[0].session;
    for (at, taken) in [(Some(3), 4), (Some(6), 7), (None, 8)] {
        let fork = store.fork(from, at).unwrap();
        let mut found = read(&store, fork).unwrap();
        let forked = found.pop().unwrap();
        let copied: Vec<_> = original[..taken]
            .iter()
            .map(|record| EventRecord {
                session: fork,
                ..record.clone()
            })
            .collect();
        assert_eq!(found, copied);
        let at = taken as u64 - 1;
        assert_eq!(
            forked,
            EventRecord {
                at_ms: forked.at_ms,
                ..record(fork, at + 1, Event::SessionForked { from, at })
            }
        );
        let rows = store.list().unwrap();
        let row = rows.iter().find(|row| row.id == fork).unwrap();
        assert_eq!(
            (row.title.as_deref(), row.folder.as_deref(), row.events),
            (Some("first"), Some("/home/ann"), at + 2)
        );
        // A fork can be forked, too.
        let again = store.fork(fork, Some(3)).unwrap();
        assert_eq!(read(&store, again).unwrap().len(), 5);
    }
    // The original is as it was.
    assert_eq!(read(&store, from).unwrap(), original);
}

#[tokio::test]
async fn a_fork_begins_at_the_end_of_a_turn_or_not_at_all() {
    let (_dir, store) = fresh();
    let blob = Blob::new(b"one".to_vec());
    let original = two_turns(&store, [&blob, &blob]).await;
    let from = original[0].session;
    let before = rows(&store);
    for at in [0, 2, 4, 7, 8, u64::MAX] {
        assert_eq!(
            text(store.fork(from, Some(at))),
            format!(
                "no turn of session {from} ends at event {at}; `agent-host sessions show {from}` numbers its events"
            )
        );
    }
    let unknown = SessionId::new();
    assert_eq!(
        text(store.fork(unknown, None)),
        format!(
            "there is no session {unknown}; `agent-host sessions list` shows those that there are"
        )
    );
    assert_eq!(rows(&store), before);
}

/// Half of a damaged session is no session: a fork that finds damage leaves nothing.
#[tokio::test]
async fn a_damaged_session_is_not_forked() {
    let (_dir, store) = fresh();
    let blob = Blob::new(b"one".to_vec());
    let original = two_turns(&store, [&blob, &blob]).await;
    let from = original[0].session;
    let db = Connection::open(store.file()).unwrap();
    db.execute_batch("UPDATE events SET json = replace(json, 'third', 'fourth')")
        .unwrap();
    let before = rows(&store);
    let error = text(store.fork(from, None));
    assert!(
        error.contains("event 7 has changed since it was stored"),
        "{error}"
    );
    assert_eq!(rows(&store), before);
}

/// What other programs stored under an id may be no session.
#[tokio::test]
async fn what_has_no_beginning_is_not_forked() {
    let (_dir, store) = fresh();
    let (_journal, records) = session_of(&store, 3).await;
    let from = records[0].session;
    assert_eq!(
        text(store.fork(from, None)),
        format!("cannot copy session {from}: its event 0 is not the beginning of a session")
    );
    assert_eq!(rows(&store), counted(1, 3, 0, 0));
}

#[tokio::test]
async fn a_blob_goes_with_the_last_session_that_refers_to_it() {
    let (_dir, store) = fresh();
    let [own, shared] = [b"own", b"all"].map(|bytes| Blob::new(bytes.to_vec()));
    let first = two_turns(&store, [&own, &shared]).await[0].session;
    let second = two_turns(&store, [&shared, &shared]).await[0].session;
    // A fork refers to all that its original refers to.
    let fork = store.fork(first, Some(3)).unwrap();
    assert_eq!(rows(&store), counted(3, 8 + 8 + 5, 2, 2 + 1 + 2));
    store.delete(first).unwrap();
    assert_eq!(rows(&store), counted(2, 8 + 5, 2, 1 + 2));
    assert_eq!(store.read_blob(own.digest).unwrap(), own.bytes);
    store.delete(fork).unwrap();
    assert_eq!(rows(&store), counted(1, 8, 1, 1));
    assert_eq!(
        text(store.read_blob(own.digest)),
        format!(
            "there is no blob {} in {}; check the digest",
            own.digest,
            store.file().display()
        )
    );
    assert_eq!(store.read_blob(shared.digest).unwrap(), shared.bytes);
    store.delete(second).unwrap();
    assert_eq!(rows(&store), counted(0, 0, 0, 0));
}

#[tokio::test]
async fn a_session_in_use_is_not_removed() {
    let (_dir, store) = fresh();
    let (journal, records) = session_of(&store, 2).await;
    let session = journal.session();
    let error = store.delete(session).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("session {session} is in use: process ")),
        "{error}"
    );
    assert_eq!(read(&store, session).unwrap(), records);
    drop(journal);
    store.delete(session).unwrap();
    assert_eq!(store.list().unwrap(), []);
    for gone in [
        store.delete(session).map(drop),
        store.open_session(session).map(drop),
    ] {
        assert_eq!(
            text(gone),
            format!(
                "there is no session {session}; `agent-host sessions list` shows those that there are"
            )
        );
    }
    // Its id is free again.
    drop(store.create(session).unwrap());
}
