use super::{FoldedSessions, MIN_FOLDED_RECORDS};
use crate::test_host;
use agent_host_engine::{
    observer::Unobserved,
    session::{FoldedSession, Session},
};
use agent_host_journal::{
    ImportAs, ImportSource, JournalStore as _, SqliteOptions, SqliteStore, Transcript,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Records restored paths until a session is long enough to be kept.
async fn lengthen(session: &mut Session) {
    while session.record_count() < MIN_FOLDED_RECORDS {
        let paths = vec![session.record_count().to_string()];
        let recorded = session.record_restored(paths, None, &Unobserved);
        recorded.await.unwrap();
    }
}

/// A long session is taken from memory once, and what was recorded elsewhere meanwhile is read. One
/// that was deleted and begun again is another one.
#[tokio::test]
async fn long_session_resumes_from_memory() {
    let project = tempfile::tempdir().unwrap();
    let host = test_host::open(project.path(), "").await;
    let sessions = host.sessions();
    let mut session = sessions.start(None).await.unwrap();
    let id = session.id();
    lengthen(&mut session).await;
    sessions.give_up(session).await;
    let kept = sessions.folded.take(id).unwrap();
    sessions.folded.keep(kept);

    let name = id.to_string();
    let mut resumed = sessions.resume(&name).await.unwrap();
    assert!(sessions.folded.take(id).is_none());
    let paths = vec!["of another run".to_owned()];
    let recorded = resumed.record_restored(paths, None, &Unobserved);
    recorded.await.unwrap();
    sessions.give_up(resumed).await;

    let journal = sessions.store().open_session(id).await.unwrap();
    let read = Session::resume(journal).await.unwrap();
    let (state, records) = (read.state().clone(), read.record_count());
    drop(read);
    let resumed = sessions.resume(&name).await.unwrap();
    assert_eq!(resumed.state(), &state);
    assert_eq!(resumed.record_count(), records);
    sessions.give_up(resumed).await;

    sessions.store().delete(id).await.unwrap();
    let mut again = sessions.start_as(id, None, None).await.unwrap();
    test_host::record(&mut again, "new").await;
    drop(again);
    let resumed = sessions.resume(&name).await.unwrap();
    assert_eq!(resumed.record_count(), 2);
}

#[tokio::test]
async fn short_session_is_not_kept() {
    let project = tempfile::tempdir().unwrap();
    let host = test_host::open(project.path(), "").await;
    let sessions = host.sessions();
    let mut session = sessions.start(None).await.unwrap();
    test_host::record(&mut session, "a").await;
    let id = session.id();
    sessions.give_up(session).await;
    assert!(sessions.folded.take(id).is_none());
}

/// Returns a session with a message of this many bytes.
async fn folded(bytes: usize) -> FoldedSession {
    let conversation = json!([{"role": "user", "content": "a".repeat(bytes)}]);
    let conversation = Transcript::from_json(conversation).unwrap();
    let state = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(state.path(), SqliteOptions::default())
        .await
        .unwrap();
    let source = ImportSource::Conversation(conversation);
    let imported = store.import_owned(source, ImportAs::NewCopy, None);
    let journal = store.open_session(imported.await.unwrap()).await.unwrap();
    let session = Session::resume(journal).await.unwrap();
    session.into_folded().await.unwrap()
}

#[tokio::test]
async fn oldest_sessions_make_room() {
    const MIB: usize = 1024 * 1024;
    let cases = [
        // The sizes of messages in bytes, and how many of the last ones are kept.
        (vec![5 * MIB; 6], 4),
        (vec![1; 70], 64),
        (vec![1, 1, 20 * MIB], 3),
        (vec![15 * MIB, 1, 15 * MIB], 2),
        (vec![30 * MIB], 0),
    ];
    for (sizes, expected) in cases {
        let kept = FoldedSessions::default();
        let mut sessions = Vec::new();
        for size in &sizes {
            let folded = folded(*size).await;
            sessions.push(folded.session());
            kept.keep(folded);
        }
        let found: Vec<bool> = sessions
            .iter()
            .map(|session| kept.take(*session).is_some())
            .collect();
        let last = found.len() - expected;
        assert!(!found[..last].contains(&true), "{sizes:?}");
        assert!(!found[last..].contains(&false), "{sizes:?}");
    }
}
