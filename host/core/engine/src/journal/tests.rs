use super::*;
use agent_host_types::event::{EVENT_VERSION, Event};
use pretty_assertions::assert_eq;

#[tokio::test]
async fn records_come_back_in_order_and_blobs_by_digest() {
    let session = SessionId::new();
    let journal = MemoryJournal::new(session);
    let record = |seq| EventRecord {
        v: EVENT_VERSION,
        session,
        seq,
        at_ms: 1,
        event: Event::SessionStarted {
            program: "test".into(),
            system: None,
            directory: None,
            client: None,
            parent: None,
            labels: Vec::new(),
        },
    };
    let blob = Blob::new(b"bytes".to_vec());
    journal.append(&[record(0)], vec![blob.clone()]);
    journal.append(&[record(1), record(2)], Vec::new());
    assert_eq!(journal.session(), session);
    for (from, expected) in [
        (0, vec![record(0), record(1), record(2)]),
        (2, vec![record(2)]),
        (3, vec![]),
        (u64::MAX, vec![]),
    ] {
        assert_eq!(journal.records(from).await.unwrap(), expected, "{from}");
    }
    assert_eq!(journal.blob(blob.digest).await.unwrap(), b"bytes");
    assert_eq!(journal.barriers(), 0);
    journal.barrier().await.unwrap();
    assert_eq!(journal.barriers(), 1);

    let missing = Digest::of(b"other");
    let error = journal.blob(missing).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("this session has no blob {missing}")
    );
    assert!(matches!(error, JournalError::NotFound(_)));
}
