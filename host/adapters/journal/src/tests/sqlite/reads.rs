//! The checks of everything that is read.

use super::{Database, fresh, input, read, record, records_of, session_of, text};
use crate::{SessionScope, chain::ChainLink, copy, sqlite::StoredSession};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::{
    event::EVENT_VERSION,
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;

/// Changes the database on a connection of its own.
fn tamper(store: &Database, sql: &str) {
    let db = rusqlite::Connection::open(store.file()).unwrap();
    db.execute_batch(sql).unwrap();
}

/// Every change of a stored event is found and named with its number. The first two of three events
/// have the same length, so that swapping them changes their order alone.
#[tokio::test]
async fn damaged_events_are_refused_with_their_number() {
    for (sql, what) in [
        (
            "DELETE FROM events WHERE seq = 1",
            "event 1 is missing (the next one is 2)",
        ),
        (
            "DELETE FROM events WHERE seq = 2",
            "its last events are missing (2 of 3 are left)",
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
            "UPDATE events SET v = 0 WHERE seq = 2",
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
            let Err(JournalError::Corrupt(error)) = result else {
                panic!("{sql}: {result:?}");
            };
            assert_eq!(
                error.to_string(),
                format!(
                    "cannot read session {session} from {}: {what}; restore the file from a backup, or start another \
                     session (other sessions can still be read)",
                    store.file().display()
                ),
                "{sql}"
            );
        }
    }
}

/// The events of one session are moved into another.
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

/// Events with a valid digest that a newer program wrote, or no program.
#[tokio::test]
async fn unknown_forms_of_events_are_refused() {
    let newer = EVENT_VERSION + 1;
    for ((at_ms, v, json), what) in [
        (
            (0, newer, r#"{"kind":"dance"}"#),
            format!(
                "its event 1 has version {newer}, and this program reads versions up to {EVENT_VERSION}; use the \
                 version of agent-host that wrote it, probably a newer one"
            ),
        ),
        (
            (0, EVENT_VERSION, r#"{"kind":"dance"}"#),
            "event 1 does not match its format (unknown variant `dance`".to_owned(),
        ),
        (
            (0, EVENT_VERSION, r#"{"kind":"#),
            "event 1 does not match its format (EOF".to_owned(),
        ),
        (
            (
                -1,
                EVENT_VERSION,
                r#"{"kind":"input-received","message":{"role":"user"}}"#,
            ),
            "event 1 has an invalid time".to_owned(),
        ),
    ] {
        let (_dir, store) = fresh();
        let (journal, _) = session_of(&store, 1).await;
        let session = journal.session();
        let db = rusqlite::Connection::open(store.file()).unwrap();
        let before = db
            .query_row("SELECT digest FROM events", [], |row| row.get(0))
            .unwrap();
        let digest = ChainLink(before).next([1, at_ms, v.into()], b"dance", json.as_bytes());
        db.execute(
            "INSERT INTO events VALUES (?1, 1, ?2, ?3, 'dance', ?4, ?5)",
            rusqlite::params![session.to_string(), at_ms, v, json, digest.0],
        )
        .unwrap();
        tamper(&store, "UPDATE sessions SET events = 2");
        let Err(JournalError::Corrupt(error)) = read(&store, session) else {
            panic!("{what}");
        };
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("cannot read session {session}")) && text.contains(&what),
            "{text}"
        );
    }
}

/// Nothing follows an error: a session that is damaged behind its first page is read up to there.
#[tokio::test]
async fn records_after_a_damaged_page_are_not_read() {
    let (_dir, store) = fresh();
    let long = "x".repeat(300 * 1024);
    let session = SessionId::new();
    let journal = store.create(session, None).unwrap();
    let records: Vec<_> = (0..8)
        .map(|seq| record(session, seq, input(&format!("{seq} {long}"))))
        .collect();
    journal.append(&records, Vec::new());
    journal.barrier().await.unwrap();
    tamper(&store, "UPDATE events SET json = '{}' WHERE seq = 6");
    let source = StoredSession {
        database: &store,
        session,
    };
    let mut reading = copy::records(&source);
    assert_eq!(reading.by_ref().map_while(Result::ok).count(), 4);
    assert!(reading.next().is_none());
}

#[tokio::test]
async fn damaged_session_leaves_others_readable() {
    let (_dir, store) = fresh();
    let (_bad, _) = session_of(&store, 2).await;
    tamper(&store, "UPDATE events SET json = 'x'");
    let (good, records) = session_of(&store, 1).await;
    assert_eq!(read(&store, good.session()).unwrap(), records);
    assert_eq!(
        store.reader().sessions(&SessionScope::All).unwrap().len(),
        2
    );
}

#[tokio::test]
async fn changed_blob_is_refused() {
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
    assert_eq!(text(store.reader().blob(blob.digest)), expected);
    assert_eq!(text(journal.blob(blob.digest).await), expected);
    let never = Digest::of(b"never stored");
    assert_eq!(
        text(store.reader().blob(never)),
        format!("no blob {never} in {}; check the digest", file.display())
    );
}
