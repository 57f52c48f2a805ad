//! Exported sessions: missing blobs, and files with a changed byte.

use super::{Database, every_event, fresh, input, record, text};
use crate::{ImportAs, ImportSource, SessionScope};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    output::Blob,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{io::Cursor, sync::LazyLock};
use tempfile::TempDir;

/// Makes a session of events of every kind with two blobs, one of them named in a text alone.
async fn filled() -> (TempDir, Database, Vec<EventRecord>, [Blob; 2]) {
    let (dir, store) = fresh();
    let session = SessionId::new();
    let blobs = [vec![7; 300], b"spilled".to_vec()].map(Blob::new);
    let journal = store.create(session, None).unwrap();
    let records: Vec<_> = (0..)
        .zip(every_event(session, &blobs[0]))
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    journal.append(&records, blobs.to_vec());
    journal.barrier().await.unwrap();
    (dir, store, records, blobs)
}

fn import(store: &Database, file: &[u8], how: ImportAs) -> Result<SessionId, JournalError> {
    let source = ImportSource::File(Box::new(Cursor::new(file.to_vec())));
    store.import(source, how, None)
}

/// Whether a blob or its reference is missing, the export names it and writes nothing.
#[tokio::test]
async fn export_with_missing_blobs_names_them() {
    for statement in [
        "DELETE FROM blob_references",
        "PRAGMA foreign_keys = OFF; DELETE FROM blobs",
        "PRAGMA foreign_keys = OFF; DELETE FROM blob_references; DELETE FROM blobs",
    ] {
        let (_dir, store, records, blobs) = filled().await;
        let db = rusqlite::Connection::open(store.file()).unwrap();
        db.execute_batch(statement).unwrap();
        // Without its reference, a blob that only a text names is unknown.
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
                "cannot export session {session}: {} lacks some of its blobs ({}); restore the file from a \
                 backup",
                store.file().display(),
                named.join(", ")
            ),
            "{statement}"
        );
        assert_eq!(out, b"", "{statement}");
    }
}

/// Returns a file with these lines and a valid last line, as a forger makes it.
pub(in crate::tests) fn sealed(lines: &[Value]) -> Vec<u8> {
    let mut file: Vec<u8> = lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
    let blake3 = blake3::hash(&file).to_hex().to_string();
    file.extend(format!("{}\n", json!({ "blake3": blake3 })).into_bytes());
    file
}

/// The first line, two events, and a blob.
pub(in crate::tests) fn small() -> Vec<Value> {
    let session: SessionId = "0198a000-0000-7000-8000-000000000001".parse().unwrap();
    let blob = Blob::new(b"x".to_vec());
    let started = Event::SessionStarted {
        program: "test".to_owned(),
        system: None,
        directory: None,
        client: None,
        parent: None,
        labels: Vec::new(),
    };
    vec![
        json!({"format": "agent-host-session", "version": 1, "session": session, "events": 2, "blobs": 1}),
        json!(record(session, 0, started)),
        json!(record(session, 1, input("hello"))),
        json!({"digest": blob.digest, "bytes": "eA=="}),
    ]
}

/// A file with the small session.
pub(in crate::tests) static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| sealed(&small()));

mod fuzz {
    use super::*;

    /// One store for all cases, since none of them may leave anything in it.
    static STORE: LazyLock<(TempDir, Database)> = LazyLock::new(fresh);

    proptest! {
        /// A file in which any byte has changed is refused.
        #[test]
        fn import_of_a_changed_file_is_refused(place in 0..FILE.len(), mask in 1..=u8::MAX) {
            let mut file = FILE.clone();
            file[place] ^= mask;
            prop_assert!(import(&STORE.1, &file, ImportAs::NewCopy).is_err());
            prop_assert_eq!(STORE.1.reader().sessions(&SessionScope::All).unwrap(), []);
        }
    }
}
