//! Moves of all sessions between SQLite and PostgreSQL, killed at every step.

use crate::{
    Maintenance, MemoryItem, MemoryQuery, MemoryScope, MoveError, MoveStep, Moved, Ownership,
    PostgresOptions, PostgresStore, SessionInfo, SessionName, SqliteOptions, SqliteStore,
    move_sessions,
    postgres_server::database,
    tests::{
        input, record,
        suite::{
            approvals::approval,
            families::{family, replied, spawned, started, store_all},
            memory_items::item,
            owners::store_owned,
            read,
            stats::compare,
        },
        text, two_turns,
    },
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use pretty_assertions::assert_eq;
use rustix::process::{Signal, getpid, kill_process};
use std::{
    collections::BTreeMap, env, ops::ControlFlow, os::unix::process::ExitStatusExt as _,
    process::Command, sync::Arc,
};
use tempfile::TempDir;

/// The variable with the two places and the number of the step after which the child is killed.
const CHILD: &str = "AGENT_HOST_TEST_MOVE";

/// Opens the store of a place: a directory, or a database.
async fn open(place: &str) -> Arc<dyn Maintenance> {
    if place.starts_with('/') {
        let store = SqliteStore::open(place.as_ref(), SqliteOptions::default());
        return Arc::new(store.await.unwrap());
    }
    let store = PostgresStore::open(place, PostgresOptions::default());
    Arc::new(store.await.unwrap())
}

/// Moves everything; `stop` says after which step it ends.
async fn moved(
    from: &dyn Maintenance,
    to: &dyn Maintenance,
    mut stop: impl FnMut(usize) -> bool + Send,
) -> Result<Moved, MoveError> {
    let mut steps = 0;
    let mut each = |_: MoveStep| {
        steps += 1;
        match stop(steps) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    move_sessions(from, to, &mut each).await
}

/// Everything that moves.
#[derive(Debug, PartialEq)]
struct Content {
    /// In the order of writing.
    sessions: Vec<(SessionId, Option<String>)>,
    records: BTreeMap<String, Vec<EventRecord>>,
    owners: BTreeMap<String, Option<Ownership>>,
    blobs: Vec<Vec<u8>>,
    approvals: usize,
    items: Vec<MemoryItem>,
    key: [u8; 32],
}

const BLOBS: [&[u8]; 3] = [b"a picture", b"one", b"two"];

async fn content(store: &dyn Maintenance) -> Content {
    let list = store.list().await.unwrap();
    let owner = |info: &SessionInfo| (info.id.to_string(), info.ownership.clone());
    let owners = list.iter().map(owner).collect();
    let mut records = BTreeMap::new();
    for info in &list {
        let stored = read(store.as_store(), info.id).await.unwrap();
        records.insert(info.id.to_string(), stored);
    }
    let mut blobs = Vec::new();
    for blob in BLOBS {
        blobs.extend(store.read_blob(Digest::of(blob)).await);
    }
    // Those of agents come after the ones that started them, in another order than before.
    let roots = list.into_iter().filter(|info| info.parent.is_none());
    let items = MemoryQuery::all(MemoryScope::All, 20);
    Content {
        sessions: roots.map(|info| (info.id, info.name)).collect(),
        records,
        owners,
        blobs,
        approvals: store.approvals(None).await.unwrap().len(),
        items: store.memory_items(items).await.unwrap(),
        key: store.continuation_key().await.unwrap(),
    }
}

/// Fills a store: a session with agents, one that waits for an agent, and a named one with two
/// turns.
async fn fill(store: &dyn Maintenance) -> [SessionId; 3] {
    let [file, one, two] = BLOBS.map(|bytes| Blob::new(bytes.to_vec()));
    let [first, ..] = family(store.as_store(), &file).await;
    let (waiting, child) = (SessionId::new(), SessionId::from_hash([11; 32]));
    let events = vec![started(None), input("go"), replied(), spawned(child)];
    let ownership = Ownership {
        project: "/project".to_owned(),
        owner: Some("ci/1".to_owned()),
    };
    store_owned(store.as_store(), waiting, Some(ownership), events).await;
    let events = vec![started(Some(waiting)), input("go")];
    store_all(store.as_store(), child, events, Vec::new()).await;
    let named = SessionId::new();
    let journal = store.create(named).await.unwrap();
    journal.append(&two_turns(named, [&one, &two]), vec![one, two]);
    journal.barrier().await.unwrap();
    drop(journal);
    let name = SessionName::parse("release notes").unwrap();
    store.name_session(named, name).await.unwrap();
    let remembered = approval("/project", "a", first);
    store.remember_approvals(vec![remembered]).await.unwrap();
    for (call, source) in [("1", &["http:a"][..]), ("2", &[])] {
        store.remember(item(call, "text", source), 2).await.unwrap();
    }
    [first, waiting, named]
}

/// Whether a host may continue a session.
async fn may_continue(store: &dyn Maintenance, session: SessionId) -> bool {
    match store.open_session(session).await {
        Ok(_) => true,
        Err(JournalError::Locked { .. } | JournalError::NotFound(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Makes two places, a directory and a database, in both orders.
fn places(dir: &TempDir) -> Option<[[String; 2]; 2]> {
    let path = |name: &str| dir.path().join(name).display().to_string();
    Some([
        [path("source"), database()?],
        [database()?, path("destination")],
    ])
}

#[tokio::test]
async fn move_takes_everything_along() {
    let dir = TempDir::new().unwrap();
    let Some(places) = places(&dir) else { return };
    for [from, to] in places {
        let (from, to) = (open(&from).await, open(&to).await);
        let [first, waiting, named] = fill(&*from).await;
        let before = content(&*from).await;
        let done = moved(&*from, &*to, |_| false).await.unwrap();
        assert_eq!(done.sessions, [first, waiting, named]);
        assert_eq!((done.agents, done.approvals, done.items), (3, 1, 2));
        assert!(done.has_key && done.kept.is_empty() && done.unnamed.is_empty());
        assert_eq!(content(&*to).await, before);
        let left = content(&*from).await;
        assert_eq!((left.sessions.len(), left.records.len()), (0, 0));
        assert_eq!(
            (left.blobs.len(), left.approvals, left.items),
            (0, 0, Vec::new())
        );
        // What they used is counted where they are.
        assert!(compare(to.as_store()).await > 0);
        assert_eq!(compare(from.as_store()).await, 0);
        // And back, with another session that was made there meanwhile.
        let more = SessionId::new();
        let events = vec![started(None), input("more")];
        store_all(to.as_store(), more, events, Vec::new()).await;
        let done = moved(&*to, &*from, |_| false).await.unwrap();
        assert_eq!(done.sessions, [first, waiting, named, more]);
        assert!(may_continue(&*from, waiting).await);
        let same = moved(&*from, &*from, |_| false).await;
        let same = same.unwrap_err().to_string();
        assert!(same.starts_with("both stores are the "), "{same}");
    }
}

/// The session of an agent whose starter is gone moves as it is.
#[tokio::test]
async fn session_without_the_one_that_started_it_moves() {
    let dir = TempDir::new().unwrap();
    let Some(places) = places(&dir) else { return };
    for [from, to] in places {
        let (from, to) = (open(&from).await, open(&to).await);
        let orphan = SessionId::new();
        let events = vec![started(Some(SessionId::new())), input("go")];
        store_all(from.as_store(), orphan, events, Vec::new()).await;
        let before = content(&*from).await;
        let done = moved(&*from, &*to, |_| false).await.unwrap();
        assert_eq!(done.sessions, [orphan], "{done:?}");
        assert_eq!(content(&*to).await, before);
    }
}

/// A killed move leaves each session whole in one store that may continue it, or held in the
/// source; the next move completes it.
#[tokio::test]
async fn move_that_is_killed_is_completed_by_the_next() {
    if let Ok(child) = env::var(CHILD) {
        let [from, to, step] = child.split('|').collect::<Vec<_>>().try_into().unwrap();
        let step: usize = step.parse().unwrap();
        let kill = |now| {
            if now == step {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
            false
        };
        moved(&*open(from).await, &*open(to).await, kill)
            .await
            .unwrap();
        return;
    }
    for forwards in [true, false] {
        for step in 1.. {
            let dir = TempDir::new().unwrap();
            let Some(places) = places(&dir) else { return };
            let [from, to] = &places[usize::from(!forwards)];
            let (sessions, before) = {
                let source = open(from).await;
                (fill(&*source).await, content(&*source).await)
            };
            let killed = Command::new(env::current_exe().unwrap())
                .args([
                    "--exact",
                    "tests::moving::move_that_is_killed_is_completed_by_the_next",
                ])
                .env(CHILD, format!("{from}|{to}|{step}"))
                .output()
                .unwrap();
            if killed.status.success() {
                // One step to prepare, and four for each session.
                assert_eq!(step, 1 + 4 * sessions.len() + 1);
                break;
            }
            assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
            let (source, other) = (open(from).await, open(to).await);
            for (place, session) in sessions.into_iter().enumerate() {
                let owners = [
                    may_continue(&*source, session).await,
                    may_continue(&*other, session).await,
                ];
                // Its steps are held, stored, compared and removed.
                let done = step.saturating_sub(1 + 4 * place);
                let expected = [done == 0, done >= 2];
                assert_eq!(owners, expected, "step {step}, session {place}");
                let holder = if done < 4 { &source } else { &other };
                let stored = read(holder.as_store(), session).await.unwrap();
                assert_eq!(stored, before.records[&session.to_string()]);
            }
            moved(&*source, &*other, |_| false).await.unwrap();
            assert_eq!(content(&*other).await, before);
            assert!(compare(other.as_store()).await > 0);
            assert_eq!(content(&*source).await.records.len(), 0);
        }
    }
}

/// A session that another host runs stays, and so does one whose id another store has.
#[tokio::test]
async fn session_in_use_stays_where_it_is() {
    let dir = TempDir::new().unwrap();
    let Some(places) = places(&dir) else { return };
    for [from, to] in places {
        let (source, other) = (open(&from).await, open(&to).await);
        let [first, waiting, named] = fill(&*source).await;
        let host = open(&from).await;
        let running = host.open_session(waiting).await.unwrap();
        let events = vec![started(None), input("something else")];
        store_all(other.as_store(), named, events, Vec::new()).await;
        let done = moved(&*source, &*other, |_| false).await.unwrap();
        assert_eq!(done.sessions, [first]);
        // The other store had a session, so it keeps its own key.
        assert!(!done.has_key);
        let [(locked, in_use), (same, differs)] = <[_; 2]>::try_from(done.kept).unwrap();
        assert_eq!((locked, same), (waiting, named));
        assert!(matches!(in_use, JournalError::Locked { .. }), "{in_use}");
        let differs = differs.to_string();
        assert!(
            differs.contains("has different events in the "),
            "{differs}"
        );
        // The approvals stay with what stays.
        assert_eq!(source.approvals(None).await.unwrap().len(), 1);
        drop(running);
        // A store gives up its sessions before it ends.
        drop(host);
        // It waits for an agent, whose session a host with another key does not find.
        let done = moved(&*source, &*other, |_| false).await.unwrap();
        let [(_, bound), _] = <[_; 2]>::try_from(done.kept).unwrap();
        assert!(bound.to_string().contains("it waits for agents"), "{bound}");
        assert!(may_continue(&*source, waiting).await);
    }
}

/// A move that did not end binds its sessions to its destination: elsewhere they would have two
/// owners.
#[tokio::test]
async fn session_of_an_unfinished_move_goes_to_no_third_store() {
    let dir = TempDir::new().unwrap();
    let Some(places) = places(&dir) else { return };
    for (place, [from, to]) in places.into_iter().enumerate() {
        let (source, other) = (open(&from).await, open(&to).await);
        let third = dir.path().join(format!("third{place}"));
        let third = open(&third.display().to_string()).await;
        let [first, ..] = fill(&*source).await;
        // Prepared, held, stored.
        let stopped = moved(&*source, &*other, |step| step == 3).await;
        assert!(matches!(stopped, Err(MoveError::Stopped)));
        let in_use = text(source.open_session(first).await);
        let said = format!(
            "session {first} is in use: process {} on ",
            std::process::id()
        );
        assert!(in_use.starts_with(&said), "{in_use}");
        assert!(in_use.contains(", which moves it to the "), "{in_use}");
        for refused in [
            source.delete(first).await,
            source.open_session(first).await.map(drop),
        ] {
            assert!(matches!(refused, Err(JournalError::Locked { .. })));
        }
        let done = moved(&*source, &*third, |_| false).await.unwrap();
        let [(kept, why)] = <[_; 1]>::try_from(done.kept).unwrap();
        assert_eq!(kept, first);
        let said = format!("session {first} is being moved to another store (the ");
        assert!(why.to_string().starts_with(&said), "{why}");
        // It may go on there meanwhile.
        let journal = other.open_session(first).await.unwrap();
        let next = read(other.as_store(), first).await.unwrap().len() as u64;
        journal.append(&[record(first, next, input("on time"))], Vec::new());
        journal.barrier().await.unwrap();
        drop(journal);
        let done = moved(&*source, &*other, |_| false).await.unwrap();
        assert_eq!(done.sessions, [first]);
        let stored = read(other.as_store(), first).await.unwrap();
        assert_eq!(stored.len() as u64, next + 1);
    }
}
