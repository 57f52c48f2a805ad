//! Sessions as files: what goes out comes in again, and nothing else does.

use super::{every_event, fresh, input, read, record, text};
use crate::Store;
use agent_host_engine::{
    journal::{Journal as _, JournalError},
    session::SessionCopy,
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    output::Blob,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A store with a session that has events of every kind and two blobs, one of them named in a text alone.
async fn filled() -> (TempDir, Store, Vec<EventRecord>, [Blob; 2]) {
    let (dir, store) = fresh();
    let session = SessionId::new();
    let blobs = [vec![7; 300], b"spilled".to_vec()].map(Blob::new);
    let journal = store.create(session).unwrap();
    let records: Vec<_> = (0..)
        .zip(every_event(session, &blobs[0]))
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    journal.append(&records, blobs.to_vec());
    journal.barrier().await.unwrap();
    (dir, store, records, blobs)
}

fn exported(store: &Store, session: SessionId) -> Vec<u8> {
    let mut file = Vec::new();
    store.export(session, &mut file).unwrap();
    file
}

fn import(store: &Store, mut file: &[u8], as_new: bool) -> Result<SessionId, JournalError> {
    store.import(&mut file, as_new)
}

/// What a copy of these records is.
fn copied(records: &[EventRecord], into: SessionId) -> Vec<Event> {
    let mut copy = SessionCopy::new(records[0].session, into);
    let mut events: Vec<_> = records
        .iter()
        .map(|record| copy.next(record.clone()).unwrap().event)
        .collect();
    events.extend(
        copy.finish()
            .unwrap()
            .into_iter()
            .map(|record| record.event),
    );
    events
}

/// Whatever of a blob is missing, the export names it and writes nothing.
#[tokio::test]
async fn export_without_all_blobs_names_them() {
    for statement in [
        "DELETE FROM blob_references",
        "PRAGMA foreign_keys = OFF; DELETE FROM blobs",
        "PRAGMA foreign_keys = OFF; DELETE FROM blob_references; DELETE FROM blobs",
    ] {
        let (_dir, store, records, blobs) = filled().await;
        let db = rusqlite::Connection::open(store.file()).unwrap();
        db.execute_batch(statement).unwrap();
        // Without its reference, nothing tells of the blob that a text alone names.
        let mut missing = vec![blobs[0].digest];
        if !statement.contains("blob_references") {
            missing.push(blobs[1].digest);
        }
        missing.sort();
        let named: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let session = records[0].session;
        let mut out = Vec::new();
        assert_eq!(
            text(store.export(session, &mut out)),
            format!(
                "cannot export session {session}: {} has not all blobs that it refers to ({}); restore the file from a backup",
                store.file().display(),
                named.join(", ")
            ),
            "{statement}"
        );
        assert_eq!(out, b"", "{statement}");
    }
}

#[tokio::test]
async fn what_goes_out_comes_in() {
    let (_dir, store, records, blobs) = filled().await;
    let session = records[0].session;
    let file = exported(&store, session);
    let (_other_dir, other) = fresh();
    assert_eq!(import(&other, &file, false).unwrap(), session);
    let found = read(&other, session).unwrap();
    assert_eq!(found[..records.len()], records);
    let events: Vec<Event> = found.into_iter().map(|record| record.event).collect();
    assert_eq!(events, copied(&records, session));
    for blob in &blobs {
        assert_eq!(other.read_blob(blob.digest).unwrap(), blob.bytes);
    }
    // The copy can go out, come in and be removed like any other.
    let (_third_dir, third) = fresh();
    import(&third, &exported(&other, session), false).unwrap();
    third.delete(session).unwrap();
    assert_eq!(third.list().unwrap(), []);
}

#[tokio::test]
async fn a_session_that_is_there_is_imported_as_a_new_one() {
    let (_dir, store, records, blobs) = filled().await;
    let session = records[0].session;
    let file = exported(&store, session);
    assert_eq!(
        text(import(&store, &file, false)),
        format!(
            "cannot begin session {session}: there is a session of this id; resume it, or begin one with another id"
        )
    );
    let new = import(&store, &file, true).unwrap();
    assert_ne!(new, session);
    let events: Vec<Event> = read(&store, new)
        .unwrap()
        .into_iter()
        .map(|record| record.event)
        .collect();
    assert_eq!(events, copied(&records, new));
    // Each of the two keeps the blobs for itself.
    store.delete(session).unwrap();
    assert_eq!(store.read_blob(blobs[0].digest).unwrap(), blobs[0].bytes);
}

/// The lines of a file, its last line made anew: what somebody makes who knows the form.
fn sealed(lines: &[Value]) -> Vec<u8> {
    let mut file: Vec<u8> = lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
    let blake3 = blake3::hash(&file).to_hex().to_string();
    file.extend(format!("{}\n", json!({ "blake3": blake3 })).into_bytes());
    file
}

/// The first line, two events, and a blob.
fn small() -> Vec<Value> {
    let session: SessionId = "0198a000-0000-7000-8000-000000000001".parse().unwrap();
    let blob = Blob::new(b"x".to_vec());
    let started = Event::SessionStarted {
        program: "test".to_owned(),
        system: None,
        folder: None,
        client: None,
        parent: None,
    };
    vec![
        json!({"format": "agent-host-session", "version": 1, "session": session, "events": 2, "blobs": 1}),
        json!(record(session, 0, started)),
        json!(record(session, 1, input("hello"))),
        json!({"digest": blob.digest, "bytes": "eA=="}),
    ]
}

#[test]
fn forged_files_are_refused() {
    let (_dir, store) = fresh();
    let other = SessionId::new();
    let file_part = json!({"type": "file", "media_type": "text/plain", "data": {"type": "blob", "value": {"digest": Blob::new(b"y".to_vec()).digest, "size": 1}}});
    let missing = Blob::new(b"y".to_vec()).digest;
    for (line, pointer, value, expected) in [
        (0, "/format", json!("zip"), "line 1 says that the file is `zip` 1, and this program reads `agent-host-session` 1".to_owned()),
        (0, "/version", json!(2), "line 1 says that the file is `agent-host-session` 2, and this program reads `agent-host-session` 1".to_owned()),
        (0, "/session", json!("../x"), "line 1 is not what is expected there".to_owned()),
        (0, "/events", json!(3), "line 4 is not what is expected there".to_owned()),
        (0, "/events", json!(1), "line 3 is not what is expected there".to_owned()),
        (0, "/events", json!(0), "line 1 cannot be taken over (cannot copy session 0198a000-0000-7000-8000-000000000001: it has no events)".to_owned()),
        (0, "/blobs", json!(0), "line 4 is not what is expected there".to_owned()),
        (0, "/blobs", json!(u64::MAX), "line 5 is not what is expected there".to_owned()),
        (1, "/event", json!({"kind": "dance"}), "line 2 has an event that is not in the form that was written".to_owned()),
        (1, "/v", json!(4_000_000), "line 2 has an event that has version 4000000".to_owned()),
        (1, "/session", json!(other), "line 2 cannot be taken over (record 0 of session".to_owned()),
        (2, "/seq", json!(2), "line 3 cannot be taken over (record 2 of session".to_owned()),
        (2, "/at_ms", json!(u64::MAX), "line 3 cannot be taken over (cannot write session".to_owned()),
        (2, "/event/message/role", json!("system"), "line 3 cannot be taken over (cannot copy session 0198a000-0000-7000-8000-000000000001: its event 1 is an input that is not a person's message)".to_owned()),
        (2, "/event/message/content/0", file_part, format!("line 4 ends the blobs, and {missing}, which an event refers to, is not among them")),
        (3, "/bytes", json!("eQ=="), "line 4 has bytes that do not have its digest".to_owned()),
        (3, "/bytes", json!("x"), "line 4 is not base64".to_owned()),
        (3, "/digest", json!("x"), "line 4 is not what is expected there".to_owned()),
    ] {
        let mut lines = small();
        *lines[line].pointer_mut(pointer).unwrap() = value;
        let error = text(import(&store, &sealed(&lines), false));
        let expected = format!("cannot import the session: {expected}");
        assert!(error.starts_with(&expected), "{error}\n  is not\n{expected}");
        assert!(error.ends_with("nothing was stored, export the session again"), "{error}");
        assert_eq!(store.list().unwrap(), [], "{error}");
    }
    let mut longer = sealed(&small());
    longer.extend(b"\n");
    assert_eq!(
        text(import(&store, &longer, false)),
        "cannot import the session: line 6 comes after the last one; nothing was stored, export the session again"
    );
    assert!(read(&store, import(&store, &sealed(&small()), false).unwrap()).is_ok());
}

/// A file with the small session.
static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| sealed(&small()));

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let (_dir, store) = fresh();
    for length in 0..FILE.len() {
        let error = text(import(&store, &FILE[..length], false));
        assert!(
            error.contains("has no end: the file was cut off there")
                || error.contains("is missing: the file was cut off before it"),
            "{length}: {error}"
        );
    }
    assert_eq!(store.list().unwrap(), []);
}

mod fuzz {
    use super::*;

    /// A store for all cases, since none of them may leave anything in it.
    static STORE: LazyLock<(TempDir, Store)> = LazyLock::new(fresh);

    proptest! {
        /// Whatever byte of a file is another one, it is refused.
        #[test]
        fn changed_files(place in 0..FILE.len(), mask in 1..=u8::MAX) {
            let mut file = FILE.clone();
            file[place] ^= mask;
            prop_assert!(import(&STORE.1, &file, true).is_err());
            prop_assert_eq!(STORE.1.list().unwrap(), []);
        }
    }
}
