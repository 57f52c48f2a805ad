//! Lists, finding by prefix, and pages.

use super::{Backend, ids, read, session_of};
use crate::{
    ListPage, Ownership, SessionInfo, SessionName, SessionScope,
    tests::{every_event, input, record, records_of, text},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::Event,
    id::{Digest, SessionId},
    output::Blob,
    session_status::SessionStatus,
};
use pretty_assertions::assert_eq;

pub(super) async fn list_shows_the_latest_session_first(backend: &impl Backend) {
    let store = backend.open().await;
    assert_eq!(store.list().await.unwrap(), vec![]);
    let (old, new) = (SessionId::new(), SessionId::new());
    // The older session is written to last: the order is that of activity.
    let journal = store.create(new).await.unwrap();
    let long = format!("  {}\nword ", "w".repeat(90));
    journal.append(&[record(new, 0, input(&long))], Vec::new());
    journal.barrier().await.unwrap();
    let other = store.create(old).await.unwrap();
    let records: Vec<_> = (0..)
        .zip(every_event(old, &Blob::new(Vec::new())))
        .map(|(seq, event)| record(old, seq, event))
        .collect();
    other.append(&records, Vec::new());
    other.barrier().await.unwrap();
    let start = 1_800_000_000_000;
    let events = records.len() as u64;
    assert_eq!(
        store.list().await.unwrap(),
        vec![
            SessionInfo {
                id: old,
                status: SessionStatus::Done,
                started_ms: start,
                last_ms: start + events - 1,
                events,
                title: Some("MCP client notes 2.1".to_owned()),
                directory: Some("/home/ann/photos".to_owned()),
                outcome: Some("done".to_owned()),
                parent: None,
                name: None,
                model: Some("script:tour".to_owned()),
                cost_micros: None,
                ownership: Some(Ownership {
                    project: "/home/ann/photos".to_owned(),
                    owner: None,
                }),
            },
            SessionInfo {
                id: new,
                status: SessionStatus::Running,
                started_ms: start,
                last_ms: start,
                events: 1,
                title: Some(format!("{}…", "w".repeat(79))),
                directory: None,
                outcome: None,
                parent: None,
                name: None,
                model: None,
                cost_micros: None,
                ownership: None,
            },
        ]
    );
    assert_eq!(store.find("latest").await.unwrap(), old);
}

/// The clock goes back a year between two sessions, and once more within one.
pub(super) async fn list_is_read_in_pages_and_searched(backend: &impl Backend) {
    let store = backend.open().await;
    let mut sessions = Vec::new();
    let titles = [
        "Grüße aus Köln",
        "List the files of a-b.c",
        "'); DROP 'x\\':*",
        "files & lists",
    ];
    for title in titles {
        let session = SessionId::new();
        let journal = store.create(session).await.unwrap();
        journal.append(&[record(session, 0, input(title))], Vec::new());
        journal.barrier().await.unwrap();
        sessions.insert(0, session);
    }
    let name = SessionName::parse("the Postcard").unwrap();
    store.name_session(sessions[3], name).await.unwrap();
    let page = async |offset, limit, search: Option<&str>| -> Vec<usize> {
        let search = search.map(str::to_owned);
        let page = ListPage {
            offset,
            limit,
            search,
            ..ListPage::default()
        };
        let found = store.list_page(page).await.unwrap();
        let place = |info: SessionInfo| sessions.iter().position(|id| *id == info.id).unwrap();
        found.into_iter().map(place).collect()
    };
    for (offset, limit, expected) in [(0, 9, vec![0, 1, 2, 3]), (1, 2, vec![1, 2]), (4, 1, vec![])]
    {
        assert_eq!(page(offset, limit, None).await, expected);
    }
    for (search, expected) in [
        ("FILE", vec![0, 2]),
        ("list of", vec![2]),
        ("b", vec![2]),
        ("grüß kö", vec![3]),
        ("post aus", vec![3]),
        ("drop", vec![1]),
        ("x':* & y", vec![]),
        (" ?! ", vec![0, 1, 2, 3]),
        ("ist", vec![]),
    ] {
        assert_eq!(page(0, 9, Some(search)).await, expected, "{search}");
    }
    let counted = store.count_statuses(SessionScope::All).await.unwrap();
    assert_eq!(counted, [(SessionStatus::Interrupted, 4)].into());
    let all = store.list().await.unwrap();
    for info in all {
        let wanted = vec![info.id, SessionId::new()];
        assert_eq!(store.infos(wanted).await.unwrap(), [info]);
    }
}

pub(super) async fn latest_follows_the_order_of_writing(backend: &impl Backend) {
    let store = backend.open().await;
    let year = 365 * 24 * 60 * 60 * 1000;
    let mut sessions = Vec::new();
    for years_back in [0, 1, 2] {
        let journal = store.create(SessionId::new()).await.unwrap();
        let mut first = record(journal.session(), 0, input("x"));
        first.at_ms -= years_back * year;
        journal.append(&[first], Vec::new());
        journal.barrier().await.unwrap();
        sessions.push(journal);
    }
    let order = |order: [usize; 3]| order.map(|index| sessions[index].session());
    assert_eq!(ids(&*store).await, order([2, 1, 0]));
    assert_eq!(store.find("latest").await.unwrap(), sessions[2].session());
    // The session that is continued is the latest.
    let mut next = record(sessions[0].session(), 1, input("y"));
    next.at_ms -= 3 * year;
    sessions[0].append(&[next], Vec::new());
    sessions[0].barrier().await.unwrap();
    assert_eq!(ids(&*store).await, order([0, 2, 1]));
    assert_eq!(store.find("latest").await.unwrap(), sessions[0].session());
}

pub(super) async fn session_is_found_by_the_beginning_of_its_id(backend: &impl Backend) {
    let store = backend.open().await;
    assert_eq!(
        text(store.find("latest").await),
        "there are no sessions yet; start one with `agent-host run`"
    );
    let mut ids = Vec::new();
    for n in 1..=6 {
        let id: SessionId = format!("0198{n}000-0000-7000-8000-00000000000{n}")
            .parse()
            .unwrap();
        let journal = store.create(id).await.unwrap();
        journal.append(&[record(id, 0, input("x"))], Vec::new());
        journal.barrier().await.unwrap();
        ids.push(id);
    }
    for (prefix, found) in [
        ("01981", ids[0]),
        ("01983000-0000-7000-8000-000000000003", ids[2]),
        (" 01986000-0 ", ids[5]),
        ("latest", ids[5]),
    ] {
        assert_eq!(store.find(prefix).await.unwrap(), found, "{prefix}");
    }
    assert_eq!(
        text(store.find("0198").await),
        format!(
            "several sessions are named `0198` or have an id that begins or ends with it: {}, {}, {}, {}, {}, ...; \
             give the whole id",
            ids[5], ids[4], ids[3], ids[2], ids[1]
        )
    );
    for unknown in ["0197", "%", "_198", "'"] {
        assert_eq!(
            text(store.find(unknown).await),
            format!(
                "no session is named `{}` or has an id that begins or ends with it; `agent-host sessions list` shows \
                 all sessions",
                unknown.escape_debug()
            )
        );
    }
}

pub(super) async fn session_is_found_by_its_end_name_and_directory(backend: &impl Backend) {
    let store = backend.open().await;
    let mut ids = Vec::new();
    for (number, directory) in ["/a", "/b", "/a"].into_iter().enumerate() {
        let id: SessionId = format!("01980000-0000-7000-8000-00001234000{number}")
            .parse()
            .unwrap();
        let journal = store.create(id).await.unwrap();
        let started = Event::SessionStarted {
            program: "1".to_owned(),
            system: None,
            directory: Some(directory.to_owned()),
            client: None,
            parent: None,
            labels: Vec::new(),
        };
        journal.append(&[record(id, 0, started)], Vec::new());
        if number == 0 {
            journal.append(&[record(id, 1, input("x"))], Vec::new());
        }
        journal.barrier().await.unwrap();
        ids.push(id);
    }
    let name = |name: &str| SessionName::parse(name).unwrap();
    store.name_session(ids[0], name("lamp")).await.unwrap();
    store.name_session(ids[1], name("lamp")).await.unwrap();
    store.name_session(ids[2], name("draft")).await.unwrap();
    store.name_session(ids[2], name("desk")).await.unwrap();
    assert_eq!(
        text(store.name_session(ids[2], name("lamp")).await),
        format!(
            "session {0} already has the name `lamp`; choose another name, or rename that session: agent-host \
             sessions name {0} NAME",
            ids[0]
        )
    );
    let listed = store.list().await.unwrap();
    let names: Vec<_> = listed.iter().map(|info| info.name.as_deref()).collect();
    assert_eq!(names, [Some("desk"), Some("lamp"), Some("lamp")]);
    for (directory, given, found) in [
        ("/a", "12340001", ids[1]),
        ("/a", "desk", ids[2]),
        ("/b", "desk", ids[2]),
        ("/a", "lamp", ids[0]),
        ("/b", " lamp ", ids[1]),
        // The one behind it has no input.
        ("/a", "latest", ids[0]),
        ("/b", "Latest", ids[1]),
    ] {
        let here = store.find_in(directory, given).await;
        assert_eq!(here.unwrap(), found, "{given} in {directory}");
    }
    for (directory, expected) in [
        ("/a", vec![ids[2], ids[0]]),
        ("/b", vec![ids[1]]),
        ("/", vec![]),
    ] {
        let page = ListPage {
            limit: 9,
            directory: Some(directory.to_owned()),
            ..ListPage::default()
        };
        let found = store.list_page(page).await.unwrap().into_iter();
        assert_eq!(found.map(|info| info.id).collect::<Vec<_>>(), expected);
    }
    for (directory, given) in [("/c", "lamp"), ("/a", "draft"), ("/a", "2340001")] {
        assert!(store.find_in(directory, given).await.is_err(), "{given}");
    }
    assert_eq!(
        text(store.find_in("/c", "latest").await),
        "there are no sessions of this directory yet (/c); start one with `agent-host run`, or list those of all \
         directories: agent-host sessions list"
    );
    store.delete(ids[2]).await.unwrap();
    store.name_session(ids[0], name("desk")).await.unwrap();
    assert_eq!(store.find("desk").await.unwrap(), ids[0]);
}

#[test]
fn name_that_could_mean_something_else_is_refused() {
    let long = "x".repeat(65);
    for name in [
        "",
        " ",
        "latest",
        "LATEST",
        "0198",
        "beef-1",
        "a\u{1b}b",
        "a\nb",
        long.as_str(),
    ] {
        assert!(SessionName::parse(name).is_err(), "{name:?}");
    }
    assert_eq!(SessionName::parse(" my work ").unwrap().as_str(), "my work");
}

/// A session of more than a page, read from the store alone and with the queue of its journal.
pub(super) async fn long_session_is_read_in_pages(backend: &impl Backend) {
    let store = backend.open().await;
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    let long = "x".repeat(300 * 1024);
    let records: Vec<_> = (0..9)
        .map(|seq| record(session, seq, input(&format!("{seq} {long}"))))
        .collect();
    journal.append(&records[..8], Vec::new());
    journal.barrier().await.unwrap();
    let page = journal.records(0).await.unwrap();
    assert_eq!(page, records[..4], "the fourth exceeds 1 MiB");
    assert_eq!(store.read(session, 1).await.unwrap(), records[1..5]);
    assert_eq!(store.read(session, 8).await.unwrap(), []);
    assert_eq!(store.read(session, u64::MAX).await.unwrap(), []);
    assert_eq!(read(&*store, session).await.unwrap(), records[..8]);
    journal.append(&records[8..], Vec::new());
    assert_eq!(records_of(&*journal).await.unwrap(), records);
    assert_eq!(journal.records(7).await.unwrap(), records[7..8]);
    assert_eq!(journal.records(8).await.unwrap(), records[8..]);
    assert_eq!(journal.records(9).await.unwrap(), []);
}

pub(super) async fn absent_sessions_and_blobs_are_not_found(backend: &impl Backend) {
    let store = backend.open().await;
    let (session, digest) = (SessionId::new(), Digest::of(b"never stored"));
    let errors = [
        store.read(session, 0).await.map(drop).unwrap_err(),
        store.read_blob(digest).await.map(drop).unwrap_err(),
        store.delete(session).await.unwrap_err(),
        store.fork(session, None, None).await.map(drop).unwrap_err(),
        store
            .export(session, Box::new(std::io::sink()))
            .await
            .unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, JournalError::NotFound(_)), "{error:?}");
    }
}

pub(super) async fn undamaged_store_has_lost_nothing(backend: &impl Backend) {
    let store = backend.open().await;
    let (journal, _) = session_of(&*store, 3).await;
    let session = journal.session();
    drop(journal);
    assert_eq!(store.lost_events().await.unwrap(), []);
    assert_eq!(store.recover(session).await.unwrap(), 3);
    assert_eq!(store.recover(SessionId::new()).await.unwrap(), 0);
}
