//! Stores of older versions: what is signed, and whose the sessions are, after the update.

use super::{
    check::Place,
    ended, input, record,
    signatures::{RowKind, believed, write},
    suite::{
        families::{spawned, started, store_all},
        owners::started_in,
        stats::{compare, reply, resume},
    },
};
use crate::{ListPage, Maintenance, PostgresStore, SessionScope};
use agent_host_types::{id::SessionId, session_status::SessionStatus::*, stats::StatsBy};
use pretty_assertions::assert_eq;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tempfile::TempDir;

/// Rows of before the signatures are signed with the update, and only then.
#[tokio::test]
async fn rows_of_an_older_version_are_signed_by_the_update() {
    for place in Place::all() {
        let store = place.open().await;
        for kind in [RowKind::Approval, RowKind::Firing, RowKind::Session] {
            write(store.as_store(), kind).await;
        }
        drop(store);
        place.change(&downgrade(&place)).await;
        place.forget_key().await;
        if let Place::Postgres(url) = &place {
            let options = place.options();
            let refused = PostgresStore::open(url, options.clone()).await.unwrap_err();
            let why = "back up the database, and run `agent-host store migrate`";
            assert!(refused.to_string().contains(why), "{refused}");
            let done = PostgresStore::migrate(url, options).await.unwrap();
            assert_eq!((done.from, done.to, done.signed), (1, 9, 4));
        }
        let store = place.open().await;
        assert_eq!(store.unsigned().await.unwrap(), []);
        for kind in [
            RowKind::Approval,
            RowKind::Session,
            RowKind::Firing,
            RowKind::Owner,
        ] {
            assert_eq!(believed(store.as_store(), kind).await, 1, "{kind:?}");
        }
        // Tables that are taken back to the old version are not signed again.
        drop(store);
        place.change(&downgrade(&place)).await;
        if let Place::Postgres(url) = &place {
            let done = PostgresStore::migrate(url, place.options()).await.unwrap();
            assert_eq!((done.from, done.to, done.signed), (1, 9, 0));
        }
        let store = place.open().await;
        assert_eq!(store.unsigned().await.unwrap().len(), 4);
        assert_eq!(believed(store.as_store(), RowKind::Approval).await, 0);
    }
}

/// The statements that take the tables of SQLite back to version 2.
const WITHOUT_LISTS: &str = "
    DROP INDEX sessions_by_last_write; DROP INDEX sessions_by_project; DROP INDEX sessions_by_parent;
    DROP INDEX sessions_by_end; DROP INDEX names_by_name; DROP INDEX events_of_artifacts;
    DROP INDEX events_by_key;
    ALTER TABLE sessions DROP COLUMN parent; ALTER TABLE sessions DROP COLUMN model;
    ALTER TABLE sessions DROP COLUMN cost_micros; ALTER TABLE sessions DROP COLUMN last_write;
    ALTER TABLE sessions DROP COLUMN project;";

/// The statements that take the tables of SQLite back to version 3.
const WITHOUT_SUMS: &str = "
    DROP TABLE tallies; DROP TABLE memory_words; DROP TABLE memory; DROP TABLE links; DROP TABLE sums; DROP INDEX sessions_uncounted;
    ALTER TABLE sessions DROP COLUMN stats; ALTER TABLE sessions DROP COLUMN uncounted;";

/// The statements that take the tables back to version 1.
fn downgrade(place: &Place) -> String {
    let tables: &[&str] = match place.is_postgres() {
        true => &["approvals", "firings", "progress", "runs"],
        false => &["approvals", "firings", "sessions"],
    };
    let drops = tables.iter();
    let drops = drops.map(|table| format!("ALTER TABLE {table} DROP COLUMN signature;"));
    let drops: String = drops.collect();
    // The columns of the steps beside that of signatures.
    let others = match place.is_postgres() {
        true => {
            "ALTER TABLE sessions DROP COLUMN project, DROP COLUMN owner, DROP COLUMN owner_signature;
             ALTER TABLE progress DROP COLUMN project, DROP COLUMN phase;
             DROP INDEX events_of_artifacts; DROP INDEX events_by_key; DROP TABLE sums;
             DROP TABLE links; DROP TABLE memory; DROP TABLE tallies; ALTER TABLE progress DROP COLUMN stats, DROP COLUMN uncounted;"
        }
        false => &format!(
            "{WITHOUT_SUMS} {WITHOUT_LISTS} DROP TABLE owners; DROP INDEX sessions_waiting;
             ALTER TABLE sessions DROP COLUMN phase;"
        ),
    };
    format!("{drops} {others} DROP TABLE sealed_sessions; UPDATE meta SET format_version = 1;")
}

/// Brings a store of version 1 up to date.
async fn update(place: &Place) -> Arc<dyn Maintenance> {
    if let Place::Postgres(url) = place {
        let migrated = PostgresStore::migrate(url, place.options()).await.unwrap();
        assert_eq!((migrated.from, migrated.to), (1, 9));
    }
    place.open().await
}

/// Older sessions belong to their directories, and those of agents to the project of the one that
/// started them.
#[tokio::test]
async fn older_sessions_belong_to_their_directories() {
    for place in Place::all() {
        let store = place.open().await;
        let ids @ [root, agent, of_agent] = [1, 2, 3].map(|byte| SessionId::from_hash([byte; 32]));
        let to = store.as_store();
        store_all(to, root, vec![started_in("/a")], Vec::new()).await;
        store_all(to, of_agent, vec![started(Some(agent))], Vec::new()).await;
        store_all(to, agent, vec![started(Some(root))], Vec::new()).await;
        store_all(to, SessionId::new(), vec![started(None)], Vec::new()).await;
        drop(store);
        place.change(&downgrade(&place)).await;
        place.forget_key().await;
        let store = update(&place).await;
        let scope = SessionScope::Project("/a".to_owned());
        let seen = store.list_in(scope).await.unwrap().into_iter();
        let seen: BTreeSet<_> = seen.map(|info| info.id).collect();
        assert_eq!(seen, BTreeSet::from(ids));
        assert_eq!(store.unsigned().await.unwrap(), []);
    }
}

/// The statuses of older sessions are read from their events.
#[tokio::test]
async fn older_sessions_have_the_status_of_their_events() {
    for place in Place::all() {
        let store = place.open().await;
        let mut expected = BTreeMap::new();
        for (outcome, status) in [
            (None, Interrupted),
            (Some("done"), Done),
            (Some("awaiting-answer"), WaitingForAnswer),
        ] {
            let session = SessionId::new();
            let end = outcome.map(|outcome| ended(session, outcome).event);
            let events = [started(None), input("go")].into_iter().chain(end);
            store_all(store.as_store(), session, events.collect(), Vec::new()).await;
            expected.insert(session, status);
        }
        drop(store);
        place.change(&downgrade(&place)).await;
        place.forget_key().await;
        let store = update(&place).await;
        let listed = store.list().await.unwrap().into_iter();
        let listed: BTreeMap<_, _> = listed.map(|info| (info.id, info.status)).collect();
        assert_eq!(listed, expected);
        assert_eq!(store.list_waiting().await.unwrap().len(), 1);
    }
}

/// The columns of lists are filled from the events of older sessions.
#[tokio::test]
async fn sessions_of_an_older_file_are_listed_as_before() {
    let place = Place::Sqlite(TempDir::new().unwrap());
    let store = place.open().await;
    let [root, agent, other] = [1, 2, 3].map(|byte| SessionId::from_hash([byte; 32]));
    let to = store.as_store();
    let ended_as = |session, outcome| ended(session, outcome).event;
    let of_root = vec![started_in("/a"), ended_as(root, "done"), input("more")];
    store_all(to, root, of_root, Vec::new()).await;
    store_all(to, agent, vec![started(Some(root))], Vec::new()).await;
    let of_other = vec![started_in("/b"), ended_as(other, "refusal")];
    store_all(to, other, of_other, Vec::new()).await;
    let before = store.list().await.unwrap();
    let models: Vec<_> = before.iter().map(|info| info.model.as_deref()).collect();
    assert_eq!(models, [Some("script:tour"), None, Some("script:tour")]);
    drop(store);
    let version = "UPDATE meta SET format_version = 2;";
    let without = format!("{WITHOUT_SUMS} {WITHOUT_LISTS}");
    place.change(&format!("{without} {version}")).await;

    let store = place.open().await;
    assert_eq!(store.list().await.unwrap(), before);
    let scope = SessionScope::Project("/a".to_owned());
    let page = ListPage {
        limit: 9,
        scope,
        ..ListPage::default()
    };
    let listed = store.list_page(page).await.unwrap();
    assert_eq!(listed, [before[2].clone()]);
    assert_eq!(store.find("latest").await.unwrap(), other);
    assert_eq!(store.unsigned().await.unwrap(), []);
    // What is written next comes first.
    let journal = store.open_session(root).await.unwrap();
    journal.append(&[record(root, 3, input("now"))], Vec::new());
    journal.barrier().await.unwrap();
    assert_eq!(store.find("latest").await.unwrap(), root);
}

/// The sums of older sessions are made from their events; a session with one that cannot be read is
/// named.
#[tokio::test]
async fn older_sessions_are_in_the_sums() {
    for place in Place::all() {
        let store = place.open().await;
        let root = SessionId::from_hash([1; 32]);
        let [child, open, broken] = [2, 3, 4].map(|byte| SessionId::from_hash([byte; 32]));
        for (session, first) in [
            (root, started_in("/a")),
            (open, started_in("/a")),
            (broken, started_in("/b")),
        ] {
            let events = vec![first, input("go"), reply("one", 11), spawned(child)];
            store_all(store.as_store(), session, events, Vec::new()).await;
        }
        let of_child = vec![started(Some(root)), reply("two", 22)];
        store_all(store.as_store(), child, of_child, Vec::new()).await;
        resume(
            store.as_store(),
            root,
            20_900,
            vec![ended(root, "done").event],
        )
        .await;
        drop(store);
        let change = format!(
            "{} UPDATE events SET json = '{{}}' WHERE session = '{broken}' AND seq = 2;",
            downgrade(&place)
        );
        place.change(&change).await;
        place.forget_key().await;
        let store = update(&place).await;
        let stats = store.stats(SessionScope::All, StatsBy::Agent, 0).await;
        assert_eq!(stats.unwrap().unreadable, [broken]);
        store.delete(broken).await.unwrap();
        assert_eq!(compare(store.as_store()).await, 3);
        // They go on from there.
        resume(store.as_store(), open, 20_901, vec![reply("one", 33)]).await;
        assert_eq!(compare(store.as_store()).await, 3);
    }
}
