//! Reading: lists, finding by prefix, and the checks on what is stored.

use super::{every_event, fresh, input, record, session_of, text};
use crate::{SessionRow, Store};
use agent_host_core::{
    id::{Digest, SessionId},
    journal::{Journal as _, JournalError},
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
                title: Some("What is in this folder?".to_owned()),
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
            "UPDATE events SET json = '{\"kind\":' WHERE seq = 1",
            "event 1 is not in the form that was written (EOF",
        ),
        (
            "UPDATE events SET json = '{\"kind\":\"dance\"}' WHERE seq = 2",
            "event 2 is not in the form that was written (unknown variant",
        ),
        (
            "UPDATE events SET at_ms = -1 WHERE seq = 0",
            "event 0 has an impossible time",
        ),
        (
            "UPDATE events SET v = 3 WHERE seq = 2",
            "its event 2 has version 3 and this program knows version 2; use the agent-host that wrote it, probably a newer one",
        ),
        (
            "UPDATE events SET v = 1 WHERE seq = 2",
            "its event 2 has version 1 and this program knows version 2; use the agent-host that wrote it, an older one",
        ),
    ] {
        let (_dir, store) = fresh();
        let (journal, _) = session_of(&store, 3).await;
        let session = journal.session();
        tamper(&store, sql);
        for result in [store.read(session), journal.records().await] {
            let Err(JournalError::Corrupt(text)) = result else {
                panic!("{sql}: {result:?}");
            };
            assert!(
                text.starts_with("cannot read session ") && text.contains(what),
                "{sql}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn a_damaged_session_does_not_hide_the_others() {
    let (_dir, store) = fresh();
    let (_bad, _) = session_of(&store, 2).await;
    tamper(&store, "UPDATE events SET json = 'x'");
    let (good, records) = session_of(&store, 1).await;
    assert_eq!(store.read(good.session()).unwrap(), records);
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
