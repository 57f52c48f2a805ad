//! The events that are found without reading the others.

use super::{Backend, families::started, read, session_of};
use crate::{
    FoundEvents, JournalStore, MESSAGE_KEY,
    tests::{every_event, input, record},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn message(text: &str, key: &str) -> Event {
    let mut event = input(text);
    if let Event::InputReceived { message, .. } = &mut event {
        message.metadata.insert(MESSAGE_KEY.to_owned(), json!(key));
    }
    event
}

async fn found(
    store: &dyn JournalStore,
    session: SessionId,
    which: FoundEvents,
) -> Vec<EventRecord> {
    let mut found = Vec::new();
    let keep = |record| found.push(record);
    store.for_each_found(session, which, keep).await.unwrap();
    found
}

/// Of all kinds of events, those with blobs are among the found ones; a key finds its inputs.
pub(super) async fn found_events_are_those_of_the_session(backend: &impl Backend) {
    let store = backend.open().await;
    let (session, bytes) = (SessionId::new(), b"a file".to_vec());
    let blob = Blob {
        digest: Digest::of(&bytes),
        bytes,
    };
    let quoted = format!("{{\"{MESSAGE_KEY}\":\"k2\"}}");
    let mut events = every_event(session, &blob);
    let taken = Event::KeyTaken {
        key: "k4".to_owned(),
        input: Digest::of(b"an answer"),
    };
    let others = [
        taken,
        message("one", "k1"),
        input(&quoted),
        message(&quoted, "k1"),
        message("three", "k3"),
    ];
    events.extend(others);
    let records: Vec<_> = (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    let journal = store.create(session).await.unwrap();
    journal.append(&records, vec![blob.clone()]);
    journal.barrier().await.unwrap();
    let all = read(&*store, session).await.unwrap();
    let count = all.len();
    for (key, expected) in [
        ("k1", vec![count - 4, count - 2]),
        ("k2", vec![]),
        ("k3", vec![count - 1]),
        ("k4", vec![count - 5]),
    ] {
        let inputs = found(&*store, session, FoundEvents::InputsOf(key.to_owned())).await;
        let expected: Vec<_> = expected.into_iter().map(|seq| all[seq].clone()).collect();
        assert_eq!(inputs, expected, "{key}");
    }
    let of_artifacts = found(&*store, session, FoundEvents::OfArtifacts).await;
    let text = |record: &EventRecord| json!(record.event).to_string();
    let with_blob = all.iter().filter(|record| {
        FoundEvents::OfArtifacts.has(&record.event)
            && text(record).contains(&blob.digest.to_string())
    });
    assert!(with_blob.clone().count() > 2);
    for record in with_blob {
        assert!(of_artifacts.contains(record), "{record:?}");
    }
    assert!(of_artifacts.is_sorted_by_key(|record| record.seq));
    for (session, digest, expected) in [
        (session, blob.digest, true),
        (session, Digest::of(b"other"), false),
        (SessionId::new(), blob.digest, false),
    ] {
        assert_eq!(store.has_blob(session, digest).await.unwrap(), expected);
    }
    let absent = store.read_found(SessionId::new(), FoundEvents::OfArtifacts, 0);
    assert!(absent.await.is_err());
}

/// The last event before a number is found however far back it is.
pub(super) async fn last_record_is_found_far_back(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, records) = session_of(&*store, 400).await;
    let session = journal.session();
    let named = |wanted: u64| {
        let wanted = input(&format!("message {wanted}"));
        move |event: &Event| *event == wanted
    };
    for (wanted, near, below, expected) in [
        (399, 400, u64::MAX, Some(399)),
        (0, 400, u64::MAX, Some(0)),
        (100, 400, 101, Some(100)),
        (100, 400, 100, None),
        (390, 100, u64::MAX, Some(390)),
    ] {
        let last = store.last_record(session, near, below, named(wanted));
        let expected = expected.map(|seq: usize| records[seq].clone());
        assert_eq!(last.await.unwrap(), expected, "{wanted} below {below}");
    }
    let any = store.last_record(session, 400, 250, |_| true);
    assert_eq!(any.await.unwrap(), Some(records[249].clone()));
    let never = store.last_record(session, 400, u64::MAX, |event| *event == started(None));
    assert_eq!(never.await.unwrap(), None);
}
