//! The statuses of sessions in lists: one state machine for every store.

use super::{Backend, session_of};
use crate::{
    JournalStore, SessionScope,
    tests::{ended, input, record},
};
use agent_host_engine::journal::Journal;
use agent_host_types::{
    event::Event,
    id::SessionId,
    session_status::SessionStatus::{self, *},
};
use pretty_assertions::assert_eq;
use std::{collections::BTreeMap, sync::Arc};

/// Makes a session whose first event is an input, followed by turns that end so, and `Input` for
/// another input.
async fn session_with(store: &dyn JournalStore, then: &[&str]) -> Arc<dyn Journal> {
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    let events = then.iter().map(|end| match *end {
        "input" => input("again"),
        end => ended(session, end).event,
    });
    let events = std::iter::once(input("first")).chain(events);
    let records: Vec<_> = (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    // Each event in a write of its own.
    for one in records {
        journal.append(&[one], Vec::new());
        journal.barrier().await.unwrap();
    }
    journal
}

async fn status(store: &dyn JournalStore, session: SessionId) -> SessionStatus {
    store.infos(vec![session]).await.unwrap()[0].status
}

/// The status while a process has the session, and after the process has ended.
pub(super) async fn status_follows_events_and_claims(backend: &impl Backend) {
    let store = backend.open().await;
    let cases: [(&[&str], SessionStatus, SessionStatus); 11] = [
        (&[], Running, Interrupted),
        (&["done"], Done, Done),
        // The next turn was killed.
        (&["done", "input"], Running, Interrupted),
        (&["needs-more-turns"], Running, Interrupted),
        (&["budget-exceeded"], OverBudget, OverBudget),
        (
            &["awaiting-confirmation"],
            WaitingForApproval,
            WaitingForApproval,
        ),
        (&["awaiting-answer"], WaitingForAnswer, WaitingForAnswer),
        (
            &["pending-tool-calls"],
            WaitingForResults,
            WaitingForResults,
        ),
        (&["awaiting-confirmation", "input"], Running, Interrupted),
        (&["cancelled"], Cancelled, Cancelled),
        (&["error"], Failed, Failed),
    ];
    let mut expected = BTreeMap::new();
    for (then, held, left) in cases {
        let journal = session_with(&*store, then).await;
        let session = journal.session();
        assert_eq!(status(&*store, session).await, held, "{then:?}");
        // Another process sees the same.
        assert_eq!(
            status(&*backend.open().await, session).await,
            held,
            "{then:?}"
        );
        drop(journal);
        assert_eq!(status(&*store, session).await, left, "{then:?}");
        *expected.entry(left).or_default() += 1;
        // Resumed, and left again.
        let journal = store.open_session(session).await.unwrap();
        assert_eq!(status(&*store, session).await, held, "{then:?}");
        drop(journal);
    }
    assert_eq!(
        store.count_statuses(SessionScope::All).await.unwrap(),
        expected
    );
    assert_eq!(
        backend
            .open()
            .await
            .count_statuses(SessionScope::All)
            .await
            .unwrap(),
        expected
    );
}

pub(super) async fn waiting_sessions_are_listed_oldest_first(backend: &impl Backend) {
    let store = backend.open().await;
    let mut expected = Vec::new();
    for then in [
        "done",
        "awaiting-confirmation",
        "error",
        "awaiting-answer",
        "pending-tool-calls",
    ] {
        let journal = session_with(&*store, &[then]).await;
        if !["done", "error"].contains(&then) {
            expected.push(journal.session());
        }
    }
    // One is answered.
    let answered = expected.remove(1);
    let journal = store.open_session(answered).await.unwrap();
    journal.append(&[record(answered, 2, input("no"))], Vec::new());
    journal.barrier().await.unwrap();
    let waiting = store.list_waiting().await.unwrap();
    let waiting: Vec<SessionId> = waiting.iter().map(|info| info.id).collect();
    assert_eq!(waiting, expected);
}

/// Nothing waits and nothing runs in a copy.
pub(super) async fn copy_has_a_status_of_its_own(backend: &impl Backend) {
    let store = backend.open().await;
    for (end, expected) in [("done", Done), ("awaiting-confirmation", New)] {
        let session = SessionId::new();
        let journal = store.create(session).await.unwrap();
        let started = Event::SessionStarted {
            program: "test".to_owned(),
            system: None,
            directory: None,
            client: None,
            parent: None,
            labels: Vec::new(),
        };
        let events = [started, input("first"), ended(session, end).event];
        let records: Vec<_> = (0..)
            .zip(events)
            .map(|(seq, event)| record(session, seq, event))
            .collect();
        journal.append(&records, Vec::new());
        journal.barrier().await.unwrap();
        drop(journal);
        let copy = store.fork(session, None, None).await.unwrap();
        assert_eq!(status(&*store, copy).await, expected, "{end}");
        let mut file = Vec::new();
        store
            .for_each_record(copy, |record| file.push(record))
            .await
            .unwrap();
        assert_eq!(file.last().unwrap().event.kind(), "session-forked");
    }
    let (_held, _) = session_of(&*store, 1).await;
    assert_eq!(store.list_waiting().await.unwrap().len(), 1);
}
