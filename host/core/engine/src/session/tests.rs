use super::*;
use crate::journal::MemoryJournal;
use agent_host_types::{
    id::Digest,
    output::{ContentPart, FileData, FilePart},
};
use pretty_assertions::assert_eq;

fn record(session: SessionId, seq: u64) -> EventRecord {
    EventRecord {
        v: EVENT_VERSION,
        session,
        seq,
        at_ms: 0,
        event: Event::SessionStarted {
            program: "test".into(),
            system: Some("Be brief.".into()),
            directory: None,
            client: None,
            parent: None,
            labels: Vec::new(),
        },
    }
}

/// Records that this program would misread are refused, with the reason.
#[tokio::test]
async fn incomplete_or_newer_session_is_refused() {
    let (id, other) = (SessionId::new(), SessionId::new());
    let newer = EventRecord {
        v: EVENT_VERSION + 1,
        ..record(id, 1)
    };
    let cases = [
        (vec![], format!("session {id} has no events")),
        (
            vec![record(id, 0), newer],
            format!(
                "record 1 of session {id} has version 14, and this program reads version 13; open the session with the \
                 program that wrote it"
            ),
        ),
        (
            vec![record(id, 0), record(id, 2)],
            format!(
                "record 2 of session {id} is at position 1 of session {id}; records are missing or mixed up; restore \
                 the session from a backup"
            ),
        ),
        (
            vec![record(other, 0)],
            format!(
                "record 0 of session {other} is at position 0 of session {id}; records are missing or mixed up; \
                 restore the session from a backup"
            ),
        ),
    ];
    for (records, expected) in cases {
        let journal = Arc::new(MemoryJournal::new(id));
        journal.append(&records, Vec::new());
        let error = Session::resume(journal).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn session_resumes_at_its_last_record() {
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let start = SessionStart {
        program: "test".into(),
        system: Some("Be brief.".into()),
        directory: Some("here".into()),
        client: None,
        parent: None,
        labels: Vec::new(),
    };
    let first = Session::start(journal.clone(), start);
    let mut again = Session::resume(journal.clone()).await.unwrap();
    assert_eq!((again.state(), again.next_seq()), (first.state(), 1));
    assert_eq!(again.state().system(), Some("Be brief."));
    let message = Message::text(agent_host_types::message::Role::User, "hi");
    again.record(
        Event::InputReceived {
            message,
            labels: Vec::new(),
            by: None,
        },
        Vec::new(),
    );
    let places: Vec<u64> = journal
        .records(0)
        .await
        .unwrap()
        .iter()
        .map(|record| record.seq)
        .collect();
    assert_eq!(places, [0, 1]);
}

/// A missing blob is an error, not an empty file.
#[tokio::test]
async fn lost_blob_is_an_error() {
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal, SessionStart::default());
    let lost = Digest::of(b"lost");
    let part = ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Blob(agent_host_types::output::BlobRef {
            digest: lost,
            size: 4,
        }),
        filename: None,
    });
    let message = Message::parts(agent_host_types::message::Role::User, vec![part]);
    session.record(
        Event::InputReceived {
            message,
            labels: Vec::new(),
            by: None,
        },
        Vec::new(),
    );
    let mut messages = session.conversation().unwrap();
    let error = session.hydrate_all(&mut messages).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("this session has no blob {lost}")
    );
}

/// The context is recorded once, the last one counts, and a copy begins without it.
#[tokio::test]
async fn custom_context_is_recorded_and_not_copied() {
    let context = |text: &str| text.parse::<CustomContext>().unwrap();
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal.clone(), SessionStart::default());
    session.set_context(CustomContext::default());
    session.set_context(context(r#"{"user":"ada"}"#));
    session.set_context(context(r#"{"user":"ada"}"#));
    session.set_context(context(r#"{"user":"bob"}"#));
    let records = journal.records(0).await.unwrap();
    assert_eq!(records.len(), 3);
    let resumed = Session::resume(journal.clone()).await.unwrap();
    assert_eq!(**resumed.state().context(), context(r#"{"user":"bob"}"#));

    let copied = SessionId::new();
    let mut copy = SessionCopy::new(session.id(), copied);
    let mut records: Vec<_> = records
        .into_iter()
        .map(|record| copy.next(record).unwrap())
        .collect();
    records.extend(copy.finish().unwrap());
    let journal = Arc::new(MemoryJournal::new(copied));
    journal.append(&records, Vec::new());
    let copy = Session::resume(journal).await.unwrap();
    assert_eq!(**copy.state().context(), CustomContext::default());
}
