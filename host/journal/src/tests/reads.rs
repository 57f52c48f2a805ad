//! Reading: lists, finding by prefix, and the checks on what is stored.

use super::{every_event, fresh, input, read, record, records_of, session_of, text};
use crate::{
    SessionRow, Store,
    chain::Link,
    row::{Row, Summary},
};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::{
    event::EVENT_VERSION,
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;

/// Changes the file behind the store's back.
fn tamper(store: &Store, sql: &str) {
    let db = rusqlite::Connection::open(store.file()).unwrap();
    db.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_list_shows_the_latest_session_first() {
    let (_dir, store) = fresh();
    assert_eq!(store.list().unwrap(), vec![]);
    let (old, new) = (SessionId::new(), SessionId::new());
    // The older session is written to last: what counts is activity.
    let journal = store.create(new).unwrap();
    let long = format!("  {}\nword ", "w".repeat(90));
    journal.append(&[record(new, 0, input(&long))], Vec::new());
    journal.barrier().await.unwrap();
    let other = store.create(old).unwrap();
    let records: Vec<_> = (0..)
        .zip(every_event(old, &Blob::new(Vec::new())))
        .map(|(seq, event)| record(old, seq, event))
        .collect();
    other.append(&records, Vec::new());
    other.barrier().await.unwrap();
    let start = 1_800_000_000_000;
    let events = records.len() as u64;
    assert_eq!(
        store.list().unwrap(),
        vec![
            SessionRow {
                id: old,
                started_ms: start,
                last_ms: start + events - 1,
                events,
                title: Some("MCP client notes 2.1".to_owned()),
                folder: Some("/home/ann/photos".to_owned()),
                outcome: Some("done".to_owned()),
            },
            SessionRow {
                id: new,
                started_ms: start,
                last_ms: start,
                events: 1,
                title: Some(format!("{}…", "w".repeat(79))),
                folder: None,
                outcome: None,
            },
        ]
    );
    assert_eq!(store.find("latest").unwrap(), old);
}

/// The clock goes back a year between two sessions, and once more within one.
#[tokio::test]
async fn latest_follows_the_order_of_writing_not_the_clock() {
    let (_dir, store) = fresh();
    let year = 365 * 24 * 60 * 60 * 1000;
    let mut sessions = Vec::new();
    for years_back in [0, 1, 2] {
        let journal = store.create(SessionId::new()).unwrap();
        let mut first = record(journal.session(), 0, input("x"));
        first.at_ms -= years_back * year;
        journal.append(&[first], Vec::new());
        journal.barrier().await.unwrap();
        sessions.push(journal);
    }
    let ids = |order: [usize; 3]| order.map(|place| sessions[place].session());
    let listed = || {
        let rows = store.list().unwrap();
        rows.iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(), ids([2, 1, 0]));
    assert_eq!(store.find("latest").unwrap(), sessions[2].session());
    // What is gone on with is the latest.
    let mut next = record(sessions[0].session(), 1, input("y"));
    next.at_ms -= 3 * year;
    sessions[0].append(&[next], Vec::new());
    sessions[0].barrier().await.unwrap();
    assert_eq!(listed(), ids([0, 2, 1]));
    assert_eq!(store.find("latest").unwrap(), sessions[0].session());
}

#[tokio::test]
async fn a_session_is_found_by_the_beginning_of_its_id() {
    let (_dir, store) = fresh();
    assert_eq!(
        text(store.find("latest")),
        "there is no session yet; begin one with `agent-host run`"
    );
    let mut ids = Vec::new();
    for n in 1..=6 {
        let id: SessionId = format!("0198{n}000-0000-7000-8000-00000000000{n}")
            .parse()
            .unwrap();
        let journal = store.create(id).unwrap();
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
        assert_eq!(store.find(prefix).unwrap(), found, "{prefix}");
    }
    assert_eq!(
        text(store.find("0198")),
        format!(
            "several sessions have an id that begins with `0198`: {}, {}, {}, {}, {}, ...; give more of the id",
            ids[5], ids[4], ids[3], ids[2], ids[1]
        )
    );
    for unknown in ["0197", "%", "_198", "'"] {
        assert_eq!(
            text(store.find(unknown)),
            format!(
                "there is no session whose id begins with `{}`; `agent-host sessions list` shows those that there are",
                unknown.escape_debug()
            )
        );
    }
}

/// Each change of a stored event is found, whatever it touches, and named with its place. Three events of which the first two
/// are of one length, so that swapping them changes nothing but their order.
#[tokio::test]
async fn damaged_events_are_not_half_read() {
    for (sql, what) in [
        (
            "DELETE FROM events WHERE seq = 1",
            "event 1 is missing (the next one is 2)",
        ),
        (
            "DELETE FROM events WHERE seq = 2",
            "its last events are missing (2 of 3 are there)",
        ),
        (
            "UPDATE events SET json = replace(json, 'message 1', 'message 7') WHERE seq = 1",
            "event 1 has changed since it was stored",
        ),
        (
            "UPDATE events SET json = CAST(x'ff' AS TEXT) WHERE seq = 2",
            "event 2 has changed since it was stored",
        ),
        (
            "UPDATE events SET kind = 'turn-ended' WHERE seq = 0",
            "event 0 has changed since it was stored",
        ),
        (
            "UPDATE events SET at_ms = -1 WHERE seq = 0",
            "event 0 has changed since it was stored",
        ),
        (
            "UPDATE events SET v = 1 WHERE seq = 2",
            "event 2 has changed since it was stored",
        ),
        (
            "UPDATE events SET digest = zeroblob(32) WHERE seq = 1",
            "event 1 has changed since it was stored",
        ),
        (
            "UPDATE events SET seq = 9 WHERE seq = 0; UPDATE events SET seq = 0 WHERE seq = 1;
             UPDATE events SET seq = 1 WHERE seq = 9",
            "event 0 has changed since it was stored",
        ),
        (
            "DELETE FROM events WHERE seq = 1; UPDATE events SET seq = 1 WHERE seq = 2; UPDATE sessions SET events = 2",
            "event 1 has changed since it was stored",
        ),
    ] {
        let (_dir, store) = fresh();
        let (journal, _) = session_of(&store, 3).await;
        let session = journal.session();
        tamper(&store, sql);
        for result in [read(&store, session), records_of(&journal).await] {
            let Err(JournalError::Corrupt(text)) = result else {
                panic!("{sql}: {result:?}");
            };
            assert_eq!(
                text,
                format!(
                    "cannot read session {session} from {}: {what}; restore the file from a backup, or begin another session \
                     (other sessions can still be read)",
                    store.file().display()
                ),
                "{sql}"
            );
        }
    }
}

/// A session that another one's events were put into.
#[tokio::test]
async fn events_of_another_session_are_refused() {
    let (_dir, store) = fresh();
    let (first, _) = session_of(&store, 2).await;
    let (second, _) = session_of(&store, 2).await;
    let sql = format!(
        "DELETE FROM events WHERE session = '{0}'; UPDATE events SET session = '{0}' WHERE session = '{1}'",
        first.session(),
        second.session()
    );
    tamper(&store, &sql);
    let refused = text(read(&store, first.session()));
    assert!(
        refused.contains("event 0 has changed since it was stored"),
        "{refused}"
    );
}

/// What a newer program wrote with its right digest, and what nothing of ours ever wrote.
#[tokio::test]
async fn events_that_this_program_cannot_follow_are_refused() {
    let newer = EVENT_VERSION + 1;
    for (row, what) in [
        (
            stored(1, 0, newer, r#"{"kind":"dance"}"#),
            format!(
                "its event 1 has version {newer} and this program knows versions up to {EVENT_VERSION}; use the agent-host \
                 that wrote it, probably a newer one"
            ),
        ),
        (
            stored(1, 0, EVENT_VERSION, r#"{"kind":"dance"}"#),
            "event 1 is not in the form that was written (unknown variant `dance`".to_owned(),
        ),
        (
            stored(1, 0, EVENT_VERSION, r#"{"kind":"#),
            "event 1 is not in the form that was written (EOF".to_owned(),
        ),
        (
            stored(
                1,
                -1,
                EVENT_VERSION,
                r#"{"kind":"input-received","message":{"role":"user"}}"#,
            ),
            "event 1 has an impossible time".to_owned(),
        ),
    ] {
        let (_dir, store) = fresh();
        let (journal, _) = session_of(&store, 1).await;
        let session = journal.session();
        let db = rusqlite::Connection::open(store.file()).unwrap();
        let before = db
            .query_row("SELECT digest FROM events", [], |row| row.get(0))
            .unwrap();
        let digest = Link(before).next(row.seq, row.at_ms, row.v, b"dance", row.json.as_bytes());
        db.execute(
            "INSERT INTO events VALUES (?1, ?2, ?3, ?4, 'dance', ?5, ?6)",
            rusqlite::params![
                session.to_string(),
                row.seq,
                row.at_ms,
                row.v,
                row.json,
                digest.0
            ],
        )
        .unwrap();
        tamper(&store, "UPDATE sessions SET events = 2");
        let Err(JournalError::Corrupt(text)) = read(&store, session) else {
            panic!("{what}");
        };
        assert!(
            text.starts_with(&format!("cannot read session {session}")) && text.contains(&what),
            "{text}"
        );
    }
}

fn stored(seq: i64, at_ms: i64, v: u32, json: &str) -> Row {
    Row {
        seq,
        at_ms,
        v: v.into(),
        kind: "dance",
        json: json.to_owned(),
        summary: Summary::default(),
    }
}

/// A session that is longer than a page, read from the file alone and together with what waits for its barrier.
#[tokio::test]
async fn a_long_session_is_read_in_pages() {
    let (_dir, store) = fresh();
    let session = SessionId::new();
    let journal = store.create(session).unwrap();
    let long = "x".repeat(300 * 1024);
    let records: Vec<_> = (0..9)
        .map(|seq| record(session, seq, input(&format!("{seq} {long}"))))
        .collect();
    journal.append(&records[..8], Vec::new());
    journal.barrier().await.unwrap();
    let page = journal.records(0).await.unwrap();
    assert_eq!(page, records[..4], "the fourth goes beyond 1 MiB");
    assert_eq!(read(&store, session).unwrap(), records[..8]);
    journal.append(&records[8..], Vec::new());
    assert_eq!(records_of(&journal).await.unwrap(), records);
    assert_eq!(journal.records(7).await.unwrap(), records[7..8]);
    assert_eq!(journal.records(8).await.unwrap(), records[8..]);
    assert_eq!(journal.records(9).await.unwrap(), []);
    tamper(&store, "UPDATE events SET json = '{}' WHERE seq = 6");
    let mut reading = store.read(session).unwrap();
    assert_eq!(reading.by_ref().map_while(Result::ok).count(), 4);
    assert!(reading.next().is_none(), "nothing follows an error");
}

#[tokio::test]
async fn a_damaged_session_does_not_hide_the_others() {
    let (_dir, store) = fresh();
    let (_bad, _) = session_of(&store, 2).await;
    tamper(&store, "UPDATE events SET json = 'x'");
    let (good, records) = session_of(&store, 1).await;
    assert_eq!(read(&store, good.session()).unwrap(), records);
    assert_eq!(store.list().unwrap().len(), 2);
}

#[tokio::test]
async fn a_changed_blob_is_refused() {
    let (_dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let blob = Blob::new(b"the real bytes".to_vec());
    journal.append(&[], vec![blob.clone()]);
    journal.barrier().await.unwrap();
    tamper(&store, "UPDATE blobs SET bytes = x'00'");
    let file = store.file();
    let expected = format!(
        "the bytes of blob {} in {} have changed since they were stored; restore the file from a backup",
        blob.digest,
        file.display()
    );
    assert_eq!(text(store.read_blob(blob.digest)), expected);
    assert_eq!(text(journal.blob(blob.digest).await), expected);
    let never = Digest::of(b"never stored");
    assert_eq!(
        text(store.read_blob(never)),
        format!(
            "there is no blob {never} in {}; check the digest",
            file.display()
        )
    );
}
