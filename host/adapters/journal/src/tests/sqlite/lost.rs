//! Lost events: a write-ahead log that was damaged, truncated or removed, and older copies.

use super::{fresh, input, open, read, record, session_of, text};
use crate::{
    LostEvents, SqliteStore,
    tests::{
        ended,
        suite::{
            read as reads,
            stats::{compare, reply, resume},
        },
    },
};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use std::{fs, path::Path};
use tempfile::TempDir;

/// Returns the state directory of a process that died, with a session of `events` events whose last
/// two commits are in the log alone.
async fn died(events: u64) -> (TempDir, SessionId) {
    let (dir, store) = fresh();
    let (first, _) = session_of(&store, events - 2).await;
    let session = first.session();
    drop((first, store));
    let store = open(&dir.path().join("state")).unwrap();
    let journal = store.open_session(session).unwrap();
    for seq in events - 2..events {
        journal.append(&[record(session, seq, input("late"))], Vec::new());
        journal.barrier().await.unwrap();
    }
    let copy = TempDir::new().unwrap();
    copy_tree(&dir.path().join("state"), &copy.path().join("state"));
    (copy, session)
}

fn copy_tree(from: &Path, into: &Path) {
    fs::create_dir_all(into).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = into.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The name of the damage, the damage, and the number of events that are left of five.
type Damage = (&'static str, fn(&Path), u64);

const DAMAGES: [Damage; 4] = [
    ("none", |_| {}, 5),
    ("removed", |log| fs::remove_file(log).unwrap(), 3),
    (
        "cut off",
        |log| {
            let bytes = fs::read(log).unwrap();
            fs::write(log, &bytes[..bytes.len() - 1]).unwrap();
        },
        4,
    ),
    (
        "changed",
        |log| {
            let mut bytes = fs::read(log).unwrap();
            bytes[100] ^= 1;
            fs::write(log, bytes).unwrap();
        },
        3,
    ),
];

#[tokio::test]
async fn damaged_log_is_refused_with_the_number_of_lost_events() {
    for (damage, apply, left) in DAMAGES {
        let (dir, session) = died(5).await;
        let state = dir.path().join("state");
        apply(&state.join("agent-host.db-wal"));
        let store = open(&state).unwrap();
        let missing = 5 - left;
        if missing == 0 {
            assert_eq!(read(&store, session).unwrap().len(), 5, "{damage}");
            assert_eq!(store.lost_events().unwrap(), [], "{damage}");
            continue;
        }
        let lost = LostEvents {
            session,
            left,
            missing,
        };
        assert_eq!(store.lost_events().unwrap(), [lost], "{damage}");
        let file = store.file();
        let file = file.display();
        let refused = format!(
            "cannot read session {session} from {file}: its last {missing} events are missing ({left} of 5 are \
             left): the file's write-ahead log was damaged or removed, or the file was replaced by an older one; \
             restore it from a backup, or accept the session as it is: `agent-host sessions recover {session}`"
        );
        assert_eq!(text(read(&store, session)), refused, "{damage}");
        let journal = store.open_session(session).unwrap();
        assert_eq!(text(journal.records(0).await), refused, "{damage}");
        drop(journal);
        let mut out = Vec::new();
        assert_eq!(text(store.export(session, &mut out)), refused, "{damage}");
        assert_eq!(out, b"", "{damage}");
        assert_eq!(
            text(store.find("latest")),
            format!(
                "cannot tell which session is the latest: {file} has lost the last {missing} events of session \
                 {session}; name a session, restore the file from a backup, or accept the session as it is with \
                 `agent-host sessions recover {session}`"
            ),
            "{damage}"
        );
        // After an explicit recovery, the session continues with the events that are left.
        assert_eq!(store.recover(session).unwrap(), left, "{damage}");
        assert_eq!(store.lost_events().unwrap(), [], "{damage}");
        assert_eq!(store.find("latest").unwrap(), session, "{damage}");
        assert_eq!(read(&store, session).unwrap().len() as u64, left);
        let journal = store.open_session(session).unwrap();
        journal.append(&[record(session, left, input("next"))], Vec::new());
        journal.barrier().await.unwrap();
        assert_eq!(read(&store, session).unwrap().len() as u64, left + 1);
    }
}

#[tokio::test]
async fn session_lost_as_a_whole_is_named() {
    let (dir, store) = fresh();
    let kept = session_of(&store, 1).await.0.session();
    drop(store);
    let state = dir.path().join("state");
    let before = fs::read(state.join("agent-host.db")).unwrap();
    let store = open(&state).unwrap();
    let lost = session_of(&store, 2).await.0.session();
    drop(store);
    fs::write(state.join("agent-host.db"), before).unwrap();

    let store = open(&state).unwrap();
    assert_eq!(read(&store, kept).unwrap().len(), 1);
    let refused = text(store.open_session(lost).map(drop));
    assert!(
        refused.contains("its last 2 events are missing (0 of 2 are left)"),
        "{refused}"
    );
    let missing = LostEvents {
        session: lost,
        left: 0,
        missing: 2,
    };
    assert_eq!(store.lost_events().unwrap(), [missing]);
    assert_eq!(store.recover(lost).unwrap(), 0);
    assert_eq!(store.lost_events().unwrap(), []);
    assert!(matches!(read(&store, lost), Err(JournalError::NotFound(_))));
}

/// A copy with another history has as many events, and others.
#[tokio::test]
async fn session_with_another_last_event_is_refused() {
    let (dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let session = journal.session();
    drop((journal, store));
    let state = dir.path().join("state");
    let before = fs::read(state.join("agent-host.db")).unwrap();
    let resume_with = async |text: &str| {
        let store = open(&state).unwrap();
        let journal = store.open_session(session).unwrap();
        journal.append(&[record(session, 1, input(text))], Vec::new());
        journal.barrier().await.unwrap();
    };
    resume_with("one").await;
    let note = fs::read(state.join(format!("locks/{session}.lock"))).unwrap();
    fs::write(state.join("agent-host.db"), before).unwrap();
    resume_with("other").await;
    fs::write(state.join(format!("locks/{session}.lock")), note).unwrap();
    let store = open(&state).unwrap();
    let refused = text(read(&store, session));
    assert!(
        refused.contains("its event 1 is not the one that was stored"),
        "{refused}"
    );
}

/// A mark that is absent or in another form refuses nothing.
#[tokio::test]
async fn unreadable_marks_refuse_nothing() {
    for content in ["", "{\"pid\":1}", &"9".repeat(86), &" ".repeat(200)] {
        let (dir, store) = fresh();
        let (journal, records) = session_of(&store, 2).await;
        let session = journal.session();
        drop(journal);
        let lock = dir.path().join(format!("state/locks/{session}.lock"));
        fs::write(lock, content).unwrap();
        assert_eq!(read(&store, session).unwrap(), records, "{content}");
        assert_eq!(store.lost_events().unwrap(), [], "{content}");
    }
}

/// A process that ends amid a run has counted what it made durable, and the next one continues there.
#[tokio::test]
async fn sums_after_a_crash_are_those_of_the_events() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path()).unwrap();
    let session = SessionId::new();
    let journal = store.create(session, None).unwrap();
    let used = [input("go"), reply("one", 11), reply("one", 12)];
    let records = (0..)
        .zip(used)
        .map(|(seq, event)| record(session, seq, event));
    let records: Vec<_> = records.collect();
    journal.append(&records[..2], Vec::new());
    journal.barrier().await.unwrap();
    journal.append(&records[2..], Vec::new());
    let crashed = TempDir::new().unwrap();
    copy_tree(dir.path(), crashed.path());
    drop((journal, store));
    let store = SqliteStore::from(open(crashed.path()).unwrap());
    assert_eq!(compare(&store).await, 1);
    resume(&store, session, 20_900, vec![reply("two", 13)]).await;
    let end = ended(session, "done").event;
    resume(&store, session, 20_901, vec![end, reply("one", 14)]).await;
    assert_eq!(compare(&store).await, 1);
    assert_eq!(reads(&store, session).await.unwrap().len(), 5);
}
