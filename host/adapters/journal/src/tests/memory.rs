//! The bound of a store in memory.

use super::{input, record, text};
use crate::{JournalStore as _, MemoryStore};
use agent_host_types::{id::SessionId, output::Blob};
use pretty_assertions::assert_eq;

/// A full store refuses what exceeds it, and stores it once there is space again.
#[tokio::test]
async fn full_memory_store_stops_a_session_until_a_retry() {
    let store = MemoryStore::with_limit(1000);
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    let records = [
        record(session, 0, input("first")),
        record(session, 1, input("second")),
    ];
    journal.append(&records[..1], vec![Blob::new(vec![1; 600])]);
    journal.barrier().await.unwrap();
    let filler = store.fork(session, None, None).await;
    assert!(filler.is_err(), "an event is no session");
    journal.append(&records[1..], vec![Blob::new(vec![2; 600])]);
    let full = "cannot write the journal: it is kept in memory, where the maximum is 1000 bytes; delete sessions, or \
        keep the journal on disk";
    assert_eq!(text(journal.barrier().await), full);
    assert_eq!(
        text(journal.barrier().await),
        full,
        "no retry was requested"
    );
    assert!(journal.retry());
    assert_eq!(text(journal.barrier().await), full, "still full");
    assert_eq!(store.read(session, 0).await.unwrap(), records[..1]);
    drop(journal);

    // The space of a removed session is free again.
    store.delete(session).await.unwrap();
    let journal = store.create(session).await.unwrap();
    journal.append(&records, vec![Blob::new(vec![2; 600])]);
    journal.barrier().await.unwrap();
    assert_eq!(store.read(session, 0).await.unwrap(), records);
}
