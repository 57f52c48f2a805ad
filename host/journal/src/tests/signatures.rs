//! Rows that confer authority: only those are believed that a host of the store wrote, as it wrote
//! them, where it wrote them. The others are reported.

use super::{
    check::Place,
    input,
    suite::{
        approvals::approval,
        families::{started, store_all},
    },
};
use crate::{
    Firing, FiringState, JournalStore, Maintenance, PostgresOptions, PostgresStore, SealKey,
    chain::Link, move_sessions,
};
use agent_host_types::{event::Event, id::SessionId};
use pretty_assertions::assert_eq;
use std::{ops::ControlFlow, sync::Arc};

/// The session that every case has.
const SESSION: &str = "0197a000-0000-7000-8000-000000000001";

/// The kinds of rows that are in both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    Approval,
    Firing,
    Session,
}

/// A change past the store, and the rows that are believed and reported then.
struct Case {
    name: &'static str,
    change: String,
    believed: usize,
    reported: usize,
}

fn case(name: &'static str, change: impl Into<String>, believed: usize, reported: usize) -> Case {
    Case {
        name,
        change: change.into(),
        believed,
        reported,
    }
}

fn session() -> SessionId {
    SESSION.parse().unwrap()
}

fn events() -> Vec<Event> {
    vec![started(None), input("go")]
}

/// Has a store write one row of a kind.
async fn write(store: &dyn JournalStore, kind: RowKind) {
    match kind {
        RowKind::Approval => {
            let approvals = vec![approval("/here", "a", session())];
            store.remember_approvals(approvals).await.unwrap();
        }
        RowKind::Firing => {
            let firing = Firing {
                trigger: "schedule a".to_owned(),
                key: "1".to_owned(),
                session: session(),
                at_ms: 7,
                state: FiringState::Waiting,
                message: Some("go".to_owned()),
                due_ms: Some(8),
                notified: None,
                attempts: 0,
            };
            store.record_firing(firing).await.unwrap();
        }
        RowKind::Session => store_all(store, session(), events(), Vec::new()).await,
    }
}

/// Returns the number of rows of a kind that a store believes.
async fn believed(store: &dyn JournalStore, kind: RowKind) -> usize {
    match kind {
        RowKind::Approval => store.approvals().await.unwrap().len(),
        RowKind::Firing => {
            let triggers = vec!["schedule a".to_owned(), "schedule b".to_owned()];
            let mut listed = 0;
            for trigger in &triggers {
                listed += store.firings(trigger.clone(), 9).await.unwrap().len();
            }
            let taken = store.take_firings(triggers, 100, 200).await.unwrap();
            // A list does not read messages: without the right one, a firing is listed only.
            assert!(taken.len() <= listed);
            taken.len()
        }
        RowKind::Session => {
            let mut opened = 0;
            for info in store.list().await.unwrap() {
                match store.open_session(info.id).await {
                    Ok(_) => opened += 1,
                    Err(error) => {
                        let why = "has no valid signature of ";
                        assert!(error.to_string().contains(why), "{error}");
                    }
                }
            }
            opened
        }
    }
}

/// The bytes that a statement of a database writes.
fn bytes(place: &Place, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match place.is_postgres() {
        true => format!("decode('{hex}', 'hex')"),
        false => format!("x'{hex}'"),
    }
}

/// The statement that makes an event by hand, with the digest that its chain has.
fn event_by_hand(place: &Place, seq: i64, text: &str) -> (String, String) {
    let json = serde_json::to_string(&input(text)).unwrap();
    let kind = input(text).kind();
    let mut link = Link::start(session());
    for (number, event) in (0..seq).zip(events()) {
        let record = super::record(session(), u64::try_from(number).unwrap(), event);
        let row = crate::row::Row::encode(&record).unwrap();
        link = link.next(
            [row.seq, row.at_ms, row.v],
            row.kind.as_bytes(),
            row.json.as_bytes(),
        );
    }
    let link = link.next([seq, 9, 1], kind.as_bytes(), json.as_bytes());
    let digest = bytes(place, &link.0);
    let row = format!("'{SESSION}', {seq}, 9, 1, '{kind}', '{json}', {digest}");
    (row, digest)
}

/// The cases of a kind: rows that were inserted, copied, or changed in one value.
fn cases(place: &Place, kind: RowKind) -> Vec<Case> {
    let is_postgres = place.is_postgres();
    let mut cases = vec![case("as it was written", "SELECT 1", 1, 0)];
    let change = |table: &str, values: &[&str]| -> Vec<Case> {
        let changes = values.iter();
        let changes = changes.map(|set| case("changed", format!("UPDATE {table} SET {set}"), 0, 1));
        changes.collect()
    };
    match kind {
        RowKind::Approval => {
            let id = if is_postgres { "id, " } else { "" };
            let new = if is_postgres { "'other', " } else { "" };
            let copy = |project: &str, signature: &str| {
                format!(
                    "INSERT INTO approvals ({id}project, rule, session, at_ms, signature)
                     SELECT {new}'{project}', rule, session, at_ms, {signature} FROM approvals"
                )
            };
            cases.push(case("inserted", copy("/other", "NULL"), 1, 1));
            cases.push(case(
                "copied to another project",
                copy("/other", "signature"),
                1,
                1,
            ));
            let sets = [
                "project = '/other'",
                "rule = replace(rule, '\"a\"', '\"b\"')",
                "session = '0197a000-0000-7000-8000-000000000002'",
                "session = 'none'",
                "rule = '{'",
                "at_ms = 8",
                "signature = NULL",
            ];
            cases.extend(change("approvals", &sets));
            if is_postgres {
                // A revocation would not find it.
                cases.extend(change("approvals", &["id = 'other'"]));
            }
        }
        RowKind::Firing => {
            let copy = |trigger: &str, key: &str, signature: &str| {
                format!(
                    "INSERT INTO firings SELECT '{trigger}', '{key}', session, at_ms, state, message,
                     due_ms, notified, attempts, {signature} FROM firings"
                )
            };
            cases.push(case("inserted", copy("schedule a", "2", "NULL"), 1, 1));
            cases.push(case("copied", copy("schedule b", "1", "signature"), 1, 1));
            let sets = [
                "trigger_name = 'schedule b'",
                "key = '2'",
                "session = '0197a000-0000-7000-8000-000000000002'",
                "session = 'none'",
                "at_ms = 8",
                "state = 'started'",
                "message = 'stop'",
                "message = NULL",
                "due_ms = 9",
                "notified = 1",
                "attempts = 1",
                "signature = NULL",
            ];
            cases.extend(change("firings", &sets));
        }
        RowKind::Session => {
            let end = if is_postgres { "progress" } else { "sessions" };
            let (next, _) = event_by_hand(place, 2, "and this");
            let append = format!("INSERT INTO events VALUES ({next}); UPDATE {end} SET events = 3");
            cases.push(case("continued by hand", append, 0, 1));
            let (last, _) = event_by_hand(place, 1, "other");
            let replace =
                format!("DELETE FROM events WHERE seq = 1; INSERT INTO events VALUES ({last})");
            cases.push(case("replaced by hand", replace, 0, 1));
            let cut = format!("DELETE FROM events WHERE seq = 1; UPDATE {end} SET events = 1");
            cases.push(case("cut", cut, 0, 1));
            cases.extend(change(end, &["signature = NULL"]));
        }
    }
    cases
}

#[tokio::test]
async fn row_is_believed_only_as_a_host_wrote_it() {
    for kind in [RowKind::Approval, RowKind::Firing, RowKind::Session] {
        let Some(first) = Place::all().pop() else {
            return;
        };
        let kinds = if first.is_postgres() { 2 } else { 1 };
        for index in 0..kinds {
            let make = || Place::all().swap_remove(index);
            let count = cases(&make(), kind).len();
            for number in 0..count {
                let place = make();
                let Case {
                    name,
                    change,
                    believed: expected,
                    reported,
                } = cases(&place, kind).swap_remove(number);
                let store = place.open().await;
                write(store.as_store(), kind).await;
                place.change(&change).await;
                let found = store.unsigned().await.unwrap();
                let what = format!("{kind:?}, {name}: {change}");
                assert_eq!(found.len(), reported, "{what}: {found:?}");
                assert_eq!(believed(store.as_store(), kind).await, expected, "{what}");
                // Nothing of it is removed, so it is still reported.
                assert_eq!(store.unsigned().await.unwrap(), found, "{what}");
            }
        }
    }
}

/// The same row in another store has another signature, which is not valid here.
#[tokio::test]
async fn row_of_another_store_is_not_believed() {
    for kind in [RowKind::Approval, RowKind::Firing, RowKind::Session] {
        for (place, other) in Place::all().into_iter().zip(Place::all()) {
            let (store, foreign) = (place.open().await, other.open().await);
            write(store.as_store(), kind).await;
            write(foreign.as_store(), kind).await;
            let table = match kind {
                RowKind::Approval => "approvals",
                RowKind::Firing => "firings",
                RowKind::Session if place.is_postgres() => "progress",
                RowKind::Session => "sessions",
            };
            let signature = bytes(&place, &other.signature(table).await);
            place
                .change(&format!("UPDATE {table} SET signature = {signature}"))
                .await;
            assert_eq!(store.unsigned().await.unwrap().len(), 1, "{kind:?}");
            assert_eq!(believed(store.as_store(), kind).await, 0, "{kind:?}");
        }
    }
}

/// A new approval or firing takes the place of a row that is not believed.
#[tokio::test]
async fn row_that_is_not_believed_gives_way_to_a_new_one() {
    for kind in [RowKind::Approval, RowKind::Firing] {
        for place in Place::all() {
            let store = place.open().await;
            write(store.as_store(), kind).await;
            let table = match kind {
                RowKind::Approval => "approvals",
                _ => "firings",
            };
            place
                .change(&format!("UPDATE {table} SET signature = NULL"))
                .await;
            write(store.as_store(), kind).await;
            assert_eq!(store.unsigned().await.unwrap(), [], "{kind:?}");
            assert_eq!(believed(store.as_store(), kind).await, 1, "{kind:?}");
        }
    }
}

/// A session that is not believed can be looked at, and a copy without approvals continues.
#[tokio::test]
async fn session_that_is_not_believed_continues_as_a_copy() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Session).await;
        let end = if place.is_postgres() {
            "progress"
        } else {
            "sessions"
        };
        place
            .change(&format!("UPDATE {end} SET signature = NULL"))
            .await;
        assert!(store.open_session(session()).await.is_err());
        assert_eq!(store.read(session(), 0).await.unwrap().len(), 2);
        let copy = store.fork(session(), None, None).await.unwrap();
        store.open_session(copy).await.unwrap();
        store.delete(session()).await.unwrap();
        assert_eq!(store.unsigned().await.unwrap(), []);
    }
}

/// A session that is not believed gets no signature by way of another store.
#[tokio::test]
async fn session_that_is_not_believed_leaves_as_a_copy_alone() {
    for (place, other) in Place::all().into_iter().zip(Place::all()) {
        let (store, to) = (place.open().await, other.open().await);
        write(store.as_store(), RowKind::Session).await;
        let end = if place.is_postgres() {
            "progress"
        } else {
            "sessions"
        };
        place
            .change(&format!("UPDATE {end} SET signature = NULL"))
            .await;
        let moved = move_sessions(&*store, &*to, &mut |_| ControlFlow::Continue(())).await;
        let kept = moved.unwrap().kept;
        let [(kept, why)] = kept.as_slice() else {
            panic!("{kept:?}");
        };
        assert_eq!(*kept, session());
        assert!(
            why.to_string().contains("has no valid signature of "),
            "{why}"
        );
        let key = SealKey::parse(&"07".repeat(32)).unwrap();
        let refused = store.as_store().export_sealed(session(), &key).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("has no valid signature of "), "{why}");
    }
}

/// A session that was changed while it was open here is not continued over the change.
#[tokio::test]
async fn open_session_is_not_continued_over_a_change() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Session).await;
        let journal = store.open_session(session()).await.unwrap();
        let (last, _) = event_by_hand(&place, 1, "other");
        let replace =
            format!("DELETE FROM events WHERE seq = 1; INSERT INTO events VALUES ({last})");
        place.change(&replace).await;
        journal.append(&[super::record(session(), 2, input("next"))], Vec::new());
        let written = journal.barrier().await;
        // PostgreSQL's journal follows the event that it wrote, so that the chain is broken.
        let is_refused = written.is_err() || store.read(session(), 0).await.is_err();
        assert!(is_refused);
    }
}

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
            let why = "back the database up, and run `agent-host store migrate`";
            assert!(refused.to_string().contains(why), "{refused}");
            let done = PostgresStore::migrate(url, options).await.unwrap();
            assert_eq!((done.from, done.to, done.signed), (1, 4, 3));
        }
        let store = place.open().await;
        assert_eq!(store.unsigned().await.unwrap(), []);
        for kind in [RowKind::Approval, RowKind::Session, RowKind::Firing] {
            assert_eq!(believed(store.as_store(), kind).await, 1, "{kind:?}");
        }
        // Tables that are taken back to the old version are not signed again.
        drop(store);
        place.change(&downgrade(&place)).await;
        if let Place::Postgres(url) = &place {
            let done = PostgresStore::migrate(url, place.options()).await.unwrap();
            assert_eq!((done.from, done.to, done.signed), (1, 4, 0));
        }
        let store = place.open().await;
        assert_eq!(store.unsigned().await.unwrap().len(), 3);
        assert_eq!(believed(store.as_store(), RowKind::Approval).await, 0);
    }
}

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
            "ALTER TABLE sessions DROP COLUMN project, DROP COLUMN owner;
             ALTER TABLE progress DROP COLUMN project, DROP COLUMN phase;"
        }
        false => "",
    };
    format!("{drops} {others} DROP TABLE sealed_sessions; UPDATE meta SET format_version = 1;")
}

/// Clones of a store share its key, and a second process has it, too.
#[tokio::test]
async fn rows_are_believed_by_every_process_of_the_store() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Approval).await;
        let other: Arc<dyn Maintenance> = place.open().await;
        assert_eq!(believed(other.as_store(), RowKind::Approval).await, 1);
    }
}

/// A key that seals the secrets anew leaves every row valid.
#[tokio::test]
async fn rows_stay_valid_when_the_key_of_the_store_changes() {
    let Some(url) = crate::postgres_server::database() else {
        return;
    };
    let place = Place::Postgres(url.clone());
    let store = place.open().await;
    write(store.as_store(), RowKind::Approval).await;
    drop(store);
    let old = place.options().seal;
    let options = PostgresOptions {
        seal: Some(SealKey::parse(&"08".repeat(32)).unwrap()),
        ..PostgresOptions::default()
    };
    let sealed = PostgresStore::rekey(&url, options.clone(), old).await;
    assert_eq!(sealed.unwrap(), 2);
    let store = PostgresStore::open(&url, options).await.unwrap();
    assert_eq!(believed(&store, RowKind::Approval).await, 1);
}
