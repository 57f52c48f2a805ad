//! Writing: crashes, group commit, full disks, and files that vanish.

use super::{
    Database, every_event, fresh, input, open, read, record, records_of, session_of, text,
};
use crate::{SessionScope, SqliteOptions, row::EventRow, sqlite::MAX_QUEUED_BYTES};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::{
    event::Event,
    id::{Digest, SessionId},
    output::Blob,
    turn::TurnReport,
};
use pretty_assertions::assert_eq;
use rusqlite::TransactionBehavior;
use std::path::Path;
use tempfile::TempDir;

/// Opens a copy of the files on the disk: the state after a crash at this moment.
fn after_crash(store: &Database) -> (TempDir, Database) {
    let copy = TempDir::new().unwrap();
    for entry in std::fs::read_dir(store.file().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    let store = open(copy.path()).unwrap();
    (copy, store)
}

#[test]
fn columns_agree_with_the_json() {
    let session = SessionId::new();
    let mut kinds = std::collections::BTreeSet::new();
    for event in every_event(session, &Blob::new(Vec::new())) {
        let row = EventRow::encode(&record(session, 0, event.clone())).unwrap();
        let json: serde_json::Value = serde_json::from_str(&row.json).unwrap();
        assert_eq!(json["kind"], row.kind);
        kinds.insert(row.kind);
        if let Event::TurnEnded { outcome, .. } = event {
            let outcome: &TurnReport = &outcome;
            let tag = serde_json::to_value(outcome).unwrap()["type"].clone();
            assert_eq!(row.listing.outcome.map(Into::into), Some(tag));
        }
    }
    assert_eq!(kinds.len(), 32, "one row for each kind: {kinds:?}");
}

#[tokio::test]
async fn crash_keeps_everything_before_the_last_barrier() {
    let (_dir, store) = fresh();
    let (journal, records) = session_of(&store, 2).await;
    let (kept, lost) = (Blob::new(b"kept".to_vec()), Blob::new(b"lost".to_vec()));
    journal.append(&[], vec![kept.clone()]);
    journal.barrier().await.unwrap();
    let third = record(journal.session(), 2, input("never barriered"));
    journal.append(std::slice::from_ref(&third), vec![lost.clone()]);

    let (_copy, crashed) = after_crash(&store);
    assert_eq!(read(&crashed, journal.session()).unwrap(), records);
    assert_eq!(crashed.reader().blob(kept.digest).unwrap(), kept.bytes);
    assert!(matches!(
        crashed.reader().blob(lost.digest),
        Err(JournalError::NotFound(_))
    ));

    // The session continues behind its last event; the copy has locks of its own.
    let resumed = crashed.open_session(journal.session()).unwrap();
    resumed.append(std::slice::from_ref(&third), Vec::new());
    resumed.barrier().await.unwrap();
    assert_eq!(
        read(&crashed, journal.session()).unwrap(),
        [records, vec![third]].concat()
    );
}

#[tokio::test]
async fn barriers_during_a_commit_share_the_next() {
    const SESSIONS: usize = 32;
    let (_dir, store) = fresh();
    let journals: Vec<_> = (0..SESSIONS)
        .map(|_| store.create(SessionId::new(), None).unwrap())
        .collect();
    // Another process writes: the first commit waits for it, and the other barriers arrive
    // meanwhile.
    let other = rusqlite::Connection::open(store.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut barriers = Vec::new();
    for journal in &journals {
        let first = record(journal.session(), 0, input("hello"));
        journal.append(&[first], Vec::new());
        barriers.push(journal.barrier());
    }
    other.execute_batch("ROLLBACK").unwrap();
    for barrier in barriers {
        barrier.await.unwrap();
    }
    // One for the batches that had arrived when the writer first looked, one for all others.
    let commits = store.commits();
    assert!((1..=2).contains(&commits), "{commits} commits");
    assert_eq!(
        store.reader().sessions(&SessionScope::All).unwrap().len(),
        SESSIONS
    );
}

#[tokio::test]
async fn barrier_with_nothing_new_commits_nothing() {
    let (_dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let before = store.commits();
    journal.barrier().await.unwrap();
    assert_eq!(store.commits(), before);
}

#[tokio::test]
async fn long_queue_is_written_before_its_barrier() {
    let (_dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let large = Blob::new(vec![7; MAX_QUEUED_BYTES + 1]);
    let digest = large.digest;
    journal.append(&[], vec![large]);
    // The next barrier has nothing of its own to send, and still waits for the earlier batch.
    journal.barrier().await.unwrap();
    assert_eq!(store.commits(), 2);
    assert_eq!(Digest::of(&store.reader().blob(digest).unwrap()), digest);
}

#[tokio::test]
async fn full_disk_stops_the_session_and_keeps_its_events() {
    let dir = TempDir::new().unwrap();
    let store = Database::open(dir.path(), SqliteOptions::default(), Some(40)).unwrap();
    let (journal, records) = session_of(&store, 2).await;
    let session = journal.session();
    let next = record(session, 2, input("too much"));
    journal.append(&[next], vec![Blob::new(vec![1; 1024 * 1024])]);
    let full = format!(
        "cannot write the journal: no space is left on the disk that contains {}; free some space, then resume the \
         session: everything up to the last completed step is kept",
        store.file().display()
    );
    assert_eq!(text(journal.barrier().await), full);
    // There is space for this one, but not without a gap.
    journal.append(&[record(session, 3, input("small"))], Vec::new());
    assert_eq!(text(journal.barrier().await), full);
    drop(journal);
    assert_eq!(read(&store, session).unwrap(), records);

    // Other sessions continue, and so does this one when it is opened again.
    session_of(&store, 1).await;
    let resumed = store.open_session(session).unwrap();
    resumed.append(&[record(session, 2, input("small"))], Vec::new());
    resumed.barrier().await.unwrap();
    assert_eq!(read(&store, session).unwrap().len(), 3);
}

/// The writer has the events and the claim of a dropped journal; who opens the session waits for
/// it.
#[tokio::test]
async fn dropped_journal_is_written_before_its_session_is_opened() {
    let dir = TempDir::new().unwrap();
    let store = Database::open(dir.path(), SqliteOptions::default(), None).unwrap();
    let (journal, mut records) = session_of(&store, 1).await;
    let session = journal.session();
    let mut blocker = store.connect_writer().unwrap();
    let blocking = blocker
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    records.push(record(session, 1, input("last words")));
    journal.append(&records[1..], Vec::new());
    drop(journal);
    let other = open(dir.path()).unwrap();
    let refused = other.open_session(session).map(drop).unwrap_err();
    assert!(
        matches!(refused, JournalError::Locked { .. }),
        "{refused:?}"
    );
    assert_eq!(read(&store, session).unwrap(), records[..1]);
    drop(blocking);
    drop(store.open_session(session).unwrap());
    assert_eq!(read(&store, session).unwrap(), records);
}

/// Everything that was not stored is stored once there is space again, in its order and once.
#[tokio::test]
async fn retry_after_a_full_disk_stores_everything_once() {
    let dir = TempDir::new().unwrap();
    let store = Database::open(dir.path(), SqliteOptions::default(), Some(300)).unwrap();
    let (journal, mut records) = session_of(&store, 2).await;
    let session = journal.session();
    // A session that can be removed takes the space.
    let (filler, _) = session_of(&store, 1).await;
    filler.append(&[], vec![Blob::new(vec![1; 800 * 1024])]);
    filler.barrier().await.unwrap();
    let blob = Blob::new(vec![2; 400 * 1024]);
    records.push(record(session, 2, input("too much")));
    journal.append(&records[2..], vec![blob.clone()]);
    let (first, second) = (journal.barrier(), journal.barrier());
    let full = text(first.await);
    assert!(full.contains("no space is left"), "{full}");
    assert_eq!(text(second.await), full);
    records.push(record(session, 3, input("recorded meanwhile")));
    journal.append(&records[3..], Vec::new());
    assert_eq!(
        text(journal.barrier().await),
        full,
        "no retry was requested"
    );
    assert!(journal.retry());
    assert_eq!(text(journal.barrier().await), full, "still full");
    let filler = {
        let session = filler.session();
        drop(filler);
        session
    };
    store.delete(filler).unwrap();
    assert!(journal.retry());
    journal.barrier().await.unwrap();
    assert_eq!(read(&store, session).unwrap(), records);
    assert_eq!(store.reader().blob(blob.digest).unwrap(), blob.bytes);
    assert_eq!(records_of(&journal).await.unwrap(), records);
}

/// A database that another process holds beyond the timeout delays a session, and does not end it.
#[tokio::test]
async fn retry_after_a_locked_database_stores_everything() {
    let dir = TempDir::new().unwrap();
    let options = SqliteOptions {
        lock_timeout: std::time::Duration::from_millis(20),
        ..SqliteOptions::default()
    };
    let store = Database::open(dir.path(), options, None).unwrap();
    let (journal, mut records) = session_of(&store, 1).await;
    let other = rusqlite::Connection::open(store.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    records.push(record(journal.session(), 1, input("later")));
    journal.append(&records[1..], Vec::new());
    assert_eq!(
        text(journal.barrier().await),
        format!(
            "cannot write the journal: another program has locked {}; stop it (a backup, or an open sqlite3 shell?) \
             and try again",
            store.file().display()
        )
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert!(journal.retry());
    journal.barrier().await.unwrap();
    assert_eq!(read(&store, journal.session()).unwrap(), records);
}

/// A directory or file that vanishes or is replaced fails the next barrier.
#[tokio::test]
async fn barrier_after_the_files_vanished_is_refused() {
    /// The file that the error names, and the change of the state directory.
    type Vanish = (&'static str, fn(&Path));
    let vanish: [Vanish; 4] = [
        ("", |state| std::fs::remove_dir_all(state).unwrap()),
        ("agent-host.db", |state| {
            std::fs::rename(state.join("agent-host.db"), state.join("moved")).unwrap();
        }),
        ("agent-host.db", |state| {
            let copy = std::fs::read(state.join("agent-host.db")).unwrap();
            std::fs::remove_file(state.join("agent-host.db")).unwrap();
            std::fs::write(state.join("agent-host.db"), copy).unwrap();
        }),
        ("agent-host.db-wal", |state| {
            std::fs::remove_file(state.join("agent-host.db-wal")).unwrap();
        }),
    ];
    for (name, vanish) in vanish {
        let (dir, store) = fresh();
        let (journal, _) = session_of(&store, 1).await;
        vanish(&dir.path().join("state"));
        journal.append(&[record(journal.session(), 1, input("x"))], Vec::new());
        let name = if name.is_empty() {
            "agent-host.db"
        } else {
            name
        };
        assert_eq!(
            text(journal.barrier().await),
            format!(
                "cannot write the journal: {} was removed or replaced while this program had it open; put it back, \
                 or restart the program",
                store.file().with_file_name(name).display()
            )
        );
    }
}

#[tokio::test]
async fn bad_batch_stops_its_own_session_alone() {
    // A gap in front of the batch, and one in it.
    for numbers in [&[5, 6], &[1, 3]] {
        stops_alone(numbers).await;
    }
}

async fn stops_alone(numbers: &[u64]) {
    let (_dir, store) = fresh();
    let (bad, _) = session_of(&store, 1).await;
    let (good, _) = session_of(&store, 1).await;
    let other = rusqlite::Connection::open(store.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let events = numbers
        .iter()
        .map(|seq| record(bad.session(), *seq, input("a gap")));
    bad.append(&events.collect::<Vec<_>>(), Vec::new());
    good.append(&[record(good.session(), 1, input("in order"))], Vec::new());
    let (bad_barrier, good_barrier) = (bad.barrier(), good.barrier());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        text(bad_barrier.await),
        format!(
            "cannot write the journal: session {} has changed in {} since it was opened here, so another process \
             writes to it although the session is locked; if the directory is on a network file system, check that \
             it supports file locks",
            bad.session(),
            store.file().display()
        )
    );
    good_barrier.await.unwrap();
    assert_eq!(read(&store, bad.session()).unwrap().len(), 1);
    assert_eq!(read(&store, good.session()).unwrap().len(), 2);
}

#[tokio::test]
async fn lock_without_a_readable_owner_still_holds() {
    let (dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let session = journal.session();
    let lock = dir.path().join(format!("state/locks/{session}.lock"));
    std::fs::write(Path::new(&lock), "{").unwrap();
    let refused = text(store.open_session(session));
    assert!(
        refused.contains("is in use: another process is writing to it"),
        "{refused}"
    );
}
