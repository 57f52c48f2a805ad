use super::super::{Session, SessionStart};
use crate::{
    BoxFuture,
    journal::{Journal, JournalError, MemoryJournal},
    observer::Unobserved,
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;
use std::{
    mem,
    sync::{Arc, Mutex},
};

/// A journal that knows from which positions it was read.
struct ReadJournal {
    inner: MemoryJournal,
    from: Mutex<Vec<u64>>,
}

impl ReadJournal {
    fn new(session: SessionId) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryJournal::new(session),
            from: Mutex::default(),
        })
    }

    /// Returns the positions since the last time.
    fn was_read_from(&self) -> Vec<u64> {
        mem::take(&mut self.from.lock().unwrap())
    }
}

impl Journal for ReadJournal {
    fn session(&self) -> SessionId {
        self.inner.session()
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        self.inner.append(records, blobs);
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        self.inner.barrier()
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        self.from.lock().unwrap().push(from);
        self.inner.records(from)
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        self.inner.blob(digest)
    }
}

/// Starts a session, or resumes it, and records one restored path for each name.
async fn restored(journal: &Arc<ReadJournal>, paths: &[&str]) -> Session {
    let mut session = match Session::resume(journal.clone()).await {
        Ok(session) => session,
        Err(_) => Session::start(journal.clone(), SessionStart::default()),
    };
    for path in paths {
        let paths = vec![(*path).to_owned()];
        let recorded = session.record_restored(paths, None, &Unobserved);
        recorded.await.unwrap();
    }
    session
}

#[tokio::test]
async fn folded_session_resumes_with_the_records_since() {
    let id = SessionId::new();
    let journal = ReadJournal::new(id);
    let folded = restored(&journal, &["a", "b", "c"]).await.into_folded();
    let folded = folded.await.unwrap();
    assert_eq!(folded.session(), id);

    // Another process records something.
    let elsewhere = restored(&journal, &["d"]).await;
    let shorter = ReadJournal::new(id);
    drop(restored(&shorter, &["a", "b"]).await);
    let other = ReadJournal::new(id);
    drop(restored(&other, &["a", "b", "C", "d"]).await);

    let cases = [
        ("the same", &journal, vec![3, 4, 5]),
        ("with fewer records", &shorter, vec![3, 0, 3]),
        ("with other records", &other, vec![3, 0, 5]),
    ];
    for (name, journal, read_from) in cases {
        let expected = Session::resume(journal.clone()).await.unwrap();
        let _ = journal.was_read_from();
        let resumed = Session::resume_from(journal.clone(), folded.clone()).await;
        let resumed = resumed.unwrap();
        assert_eq!(journal.was_read_from(), read_from, "{name}");
        assert_eq!(resumed.state(), expected.state(), "{name}");
        assert_eq!(resumed.record_count(), expected.record_count(), "{name}");
        assert_eq!(resumed.started_ms(), expected.started_ms(), "{name}");
    }
    assert_eq!(elsewhere.record_count(), 5);
}

#[tokio::test]
async fn session_with_undurable_records_is_not_folded() {
    let journal = ReadJournal::new(SessionId::new());
    let mut session = restored(&journal, &["a"]).await;
    session.place_run("here", &std::collections::BTreeMap::new());
    assert!(session.into_folded().await.is_none());
}
