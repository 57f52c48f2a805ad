//! Exported sessions: a file is imported whole, and no other file is.

use super::{Backend, ids, read};
use crate::{
    ImportAs, JournalStore,
    tests::{
        every_event, record,
        sqlite::transfer::{FILE, sealed, small},
        text,
    },
};
use agent_host_engine::{journal::JournalError, session::SessionCopy};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    output::Blob,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    io::{self, Cursor, Write},
    sync::{Arc, Mutex},
};

/// Stores a session that has events of every kind and two blobs, one of them named in a text alone.
async fn filled(store: &dyn JournalStore) -> (Vec<EventRecord>, [Blob; 2]) {
    let session = SessionId::new();
    let blobs = [vec![7; 300], b"spilled".to_vec()].map(Blob::new);
    let journal = store.create(session).await.unwrap();
    let records: Vec<_> = (0..)
        .zip(every_event(session, &blobs[0]))
        .map(|(seq, event)| record(session, seq, event))
        .collect();
    journal.append(&records, blobs.to_vec());
    journal.barrier().await.unwrap();
    (records, blobs)
}

/// A file in memory.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(in crate::tests) async fn exported(store: &dyn JournalStore, session: SessionId) -> Vec<u8> {
    let buffer = Buffer::default();
    let out = Box::new(buffer.clone());
    store.export(session, out).await.unwrap();
    buffer.0.lock().unwrap().clone()
}

pub(super) async fn import(
    store: &dyn JournalStore,
    file: &[u8],
    how: ImportAs,
) -> Result<SessionId, JournalError> {
    store
        .import(Box::new(Cursor::new(file.to_vec())), how)
        .await
}

/// Returns the events of a copy of these records.
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

pub(super) async fn exported_session_is_imported<P: Backend>(backend: &P) {
    let store = backend.open().await;
    let (records, blobs) = filled(&*store).await;
    let session = records[0].session;
    let file = exported(&*store, session).await;
    let elsewhere = P::make().await.unwrap();
    let other = elsewhere.open().await;
    assert_eq!(
        import(&*other, &file, ImportAs::Copy).await.unwrap(),
        session
    );
    let found = read(&*other, session).await.unwrap();
    assert_eq!(found[..records.len()], records);
    let events: Vec<Event> = found.into_iter().map(|record| record.event).collect();
    assert_eq!(events, copied(&records, session));
    for blob in &blobs {
        assert_eq!(other.read_blob(blob.digest).await.unwrap(), blob.bytes);
    }
    // The copy can be exported, imported and removed like any other session.
    let elsewhere = P::make().await.unwrap();
    let third = elsewhere.open().await;
    let file = exported(&*other, session).await;
    import(&*third, &file, ImportAs::Copy).await.unwrap();
    third.delete(session).await.unwrap();
    assert_eq!(ids(&*third).await, []);
}

pub(super) async fn session_that_exists_is_imported_as_new(backend: &impl Backend) {
    let store = backend.open().await;
    let (records, blobs) = filled(&*store).await;
    let session = records[0].session;
    let file = exported(&*store, session).await;
    let refused = import(&*store, &file, ImportAs::Copy).await.unwrap_err();
    assert!(matches!(refused, JournalError::Exists(_)), "{refused:?}");
    let new = import(&*store, &file, ImportAs::NewCopy).await.unwrap();
    assert_ne!(new, session);
    let found = read(&*store, new).await.unwrap().into_iter();
    let events: Vec<Event> = found.map(|record| record.event).collect();
    assert_eq!(events, copied(&records, new));
    // Each of the two keeps the blobs for itself.
    store.delete(session).await.unwrap();
    assert_eq!(
        store.read_blob(blobs[0].digest).await.unwrap(),
        blobs[0].bytes
    );
}

pub(super) async fn forged_files_are_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let other = SessionId::new();
    let file_part = json!({"type": "file", "media_type": "text/plain", "data": {"type": "blob", "value": {"digest": Blob::new(b"y".to_vec()).digest, "size": 1}}});
    let missing = Blob::new(b"y".to_vec()).digest;
    for (line, pointer, value, expected) in [
        (0, "/format", json!("zip"), "line 1 says that the file is `zip` 1, and this program reads `agent-host-session` 1 and 2".to_owned()),
        (0, "/version", json!(3), "line 1 says that the file is `agent-host-session` 3, and this program reads `agent-host-session` 1 and 2".to_owned()),
        (0, "/session", json!("../x"), "line 1 is not what is expected here".to_owned()),
        (0, "/events", json!(3), "line 4 is not what is expected here".to_owned()),
        (0, "/events", json!(1), "line 3 is not what is expected here".to_owned()),
        (0, "/events", json!(0), "line 1 cannot be imported (cannot copy session \
            0198a000-0000-7000-8000-000000000001: it has no events)".to_owned()),
        (0, "/blobs", json!(0), "line 4 is not what is expected here".to_owned()),
        (0, "/blobs", json!(u64::MAX), "line 5 is not what is expected here".to_owned()),
        (1, "/event", json!({"kind": "dance"}), "line 2 has an event that does not match its format".to_owned()),
        (1, "/v", json!(4_000_000), "line 2 has an event that has version 4000000".to_owned()),
        (1, "/session", json!(other), "line 2 cannot be imported (record 0 of session".to_owned()),
        (2, "/seq", json!(2), "line 3 cannot be imported (record 2 of session".to_owned()),
        (2, "/at_ms", json!(u64::MAX), "line 3 cannot be imported (cannot write session".to_owned()),
        (2, "/event/message/role", json!("system"), "line 3 cannot be imported (cannot copy session \
            0198a000-0000-7000-8000-000000000001: its event 1 is an input that is not a user message)".to_owned()),
        (2, "/event/message/content/0", file_part, format!("line 4 ends the blobs, but {missing}, which an event \
            refers to, is missing")),
        (3, "/bytes", json!("eQ=="), "line 4 does not match its digest".to_owned()),
        (3, "/bytes", json!("x"), "line 4 is not base64".to_owned()),
        (3, "/digest", json!("x"), "line 4 is not what is expected here".to_owned()),
    ] {
        let mut lines = small();
        *lines[line].pointer_mut(pointer).unwrap() = value;
        let error = text(import(&*store, &sealed(&lines), ImportAs::Copy).await);
        let expected = format!("cannot import the session: {expected}");
        assert!(error.starts_with(&expected), "{error}\n  is not\n{expected}");
        assert!(error.ends_with("nothing was stored; export the session again"), "{error}");
        assert_eq!(ids(&*store).await, [], "{error}");
    }
    let mut longer = sealed(&small());
    longer.extend(b"\n");
    assert_eq!(
        text(import(&*store, &longer, ImportAs::Copy).await),
        "cannot import the session: line 6 comes after the last one; nothing was stored; export the session again"
    );
    let imported = import(&*store, &sealed(&small()), ImportAs::Copy)
        .await
        .unwrap();
    assert!(read(&*store, imported).await.is_ok());
}

pub(super) async fn truncated_file_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    for length in 0..FILE.len() {
        let error = text(import(&*store, &FILE[..length], ImportAs::Copy).await);
        assert!(
            error.contains("is incomplete: the file was cut off there")
                || error.contains("is missing: the file was cut off before it"),
            "{length}: {error}"
        );
    }
    assert_eq!(ids(&*store).await, []);
}
