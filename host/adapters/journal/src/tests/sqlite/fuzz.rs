//! Damaged databases: a session is read as it was written, to its last event, or refused with the
//! reason.

use super::{every_event, input, open, read, record, text};
use crate::{SessionScope, mutations::mutated};
use agent_host_engine::journal::Journal as _;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use proptest::prelude::*;
use std::sync::LazyLock;
use tempfile::TempDir;
use tokio::runtime::Builder;

/// A journal as it is on the disk after it was closed, and its content.
struct Kept {
    bytes: Vec<u8>,
    sessions: Vec<(SessionId, Vec<EventRecord>)>,
    blob: Digest,
}

static KEPT: LazyLock<Kept> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let dir = TempDir::new().unwrap();
    let store = open(dir.path()).unwrap();
    let blob = Blob::new(vec![7; 3_000]);
    let mut sessions = Vec::new();
    for few in [false, true] {
        let session = SessionId::new();
        let events = if few {
            vec![input("one")]
        } else {
            every_event(session, &blob)
        };
        let records: Vec<_> = (0..)
            .zip(events)
            .map(|(seq, event)| record(session, seq, event))
            .collect();
        let journal = store.create(session, None).unwrap();
        journal.append(&records, vec![blob.clone()]);
        runtime.block_on(journal.barrier()).unwrap();
        sessions.push((session, records));
    }
    let file = store.file().to_owned();
    drop(store);
    assert!(
        !file.with_extension("db-wal").exists(),
        "the log is in the file"
    );
    Kept {
        bytes: std::fs::read(file).unwrap(),
        sessions,
        blob: blob.digest,
    }
});

proptest! {
    #[test]
    fn damaged_database_is_read_right_or_refused(bytes in Just(KEPT.bytes.clone()).prop_flat_map(mutated)) {
        let dir = TempDir::new().unwrap();
        // An empty file becomes a new journal without sessions.
        std::fs::write(dir.path().join("agent-host.db"), &bytes).unwrap();
        let store = match open(dir.path()) {
            Ok(store) => store,
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                return Ok(());
            }
        };
        for (session, records) in &KEPT.sessions {
            match read(&store, *session) {
                Ok(found) => prop_assert_eq!(&found, records),
                Err(error) => prop_assert!(error.to_string().contains("agent-host")
                    || error.to_string().contains("no session"), "{error}"),
            }
        }
        match store.reader().blob(KEPT.blob) {
            Ok(found) => prop_assert_eq!(found, vec![7; 3_000]),
            Err(error) => prop_assert!(error.to_string().contains("agent-host.db"), "{error}"),
        }
        // A list is a summary and may be wrong; it must end.
        let _ = store.reader().sessions(&SessionScope::All);
        let _ = text(store.find("no such session"));
    }
}
