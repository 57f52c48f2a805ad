//! Rows that confer authority: only those are believed that a host of the store wrote, as it wrote
//! them, where it wrote them. The others are reported.

use super::{
    check::Place,
    input,
    suite::{
        approvals::approval,
        owners::{started_in, store_owned},
    },
};
use crate::{
    Firing, FiringState, JournalStore, ListPage, Maintenance, Ownership, PostgresOptions,
    PostgresStore, SealKey, SessionScope, UnsignedRow, chain::ChainLink, move_sessions,
};
use agent_host_types::{event::Event, id::SessionId};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

/// The session that every case has.
const SESSION: &str = "0197a000-0000-7000-8000-000000000001";

/// The kinds of rows that are in both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    Approval,
    Firing,
    Owner,
    Session,
}

impl RowKind {
    /// The table of the rows, and its column of signatures.
    fn signed(self, place: &Place) -> (&'static str, &'static str) {
        match (self, place.is_postgres()) {
            (Self::Approval, _) => ("approvals", "signature"),
            (Self::Firing, _) => ("firings", "signature"),
            (Self::Owner, true) => ("sessions", "owner_signature"),
            (Self::Owner, false) => ("owners", "signature"),
            (Self::Session, true) => ("progress", "signature"),
            (Self::Session, false) => ("sessions", "signature"),
        }
    }

    /// The statement that removes the signatures.
    fn unsign(self, place: &Place) -> String {
        let (table, column) = self.signed(place);
        format!("UPDATE {table} SET {column} = NULL")
    }
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
    vec![started_in("/here"), input("go")]
}

/// Has a store write one row of a kind.
pub(super) async fn write(store: &dyn JournalStore, kind: RowKind) {
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
        RowKind::Owner | RowKind::Session => {
            let ownership = Ownership {
                project: "/here".to_owned(),
                owner: Some("ci".to_owned()),
            };
            store_owned(store, session(), Some(ownership), events()).await;
        }
    }
}

/// Returns the number of sessions that anyone but those sees who see all.
async fn seen(store: &dyn JournalStore) -> usize {
    let own = |project: &str, owner: &str| SessionScope::Own {
        project: project.to_owned(),
        owner: owner.to_owned(),
    };
    let mut seen = BTreeSet::new();
    for scope in [
        SessionScope::Project("/here".to_owned()),
        SessionScope::Project("/there".to_owned()),
        own("/here", "ci"),
        own("/here", "di"),
        own("/there", "ci"),
    ] {
        let listed = store.list_in(scope.clone()).await.unwrap();
        let page = ListPage {
            limit: 10,
            scope: scope.clone(),
            ..ListPage::default()
        };
        assert_eq!(store.list_page(page).await.unwrap(), listed);
        for info in store.list().await.unwrap() {
            let is_within = store.is_within(info.id, scope.clone()).await.unwrap();
            assert_eq!(is_within, listed.iter().any(|listed| listed.id == info.id));
        }
        seen.extend(listed.into_iter().map(|info| info.id));
    }
    seen.len()
}

/// Returns the number of rows of a kind that a store believes.
pub(super) async fn believed(store: &dyn JournalStore, kind: RowKind) -> usize {
    match kind {
        RowKind::Approval => store.approvals(None).await.unwrap().len(),
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
        RowKind::Owner => seen(store).await,
        RowKind::Session => {
            let mut opened = 0;
            for info in store.list().await.unwrap() {
                match store.open_session(info.id).await {
                    Ok(_) => opened += 1,
                    Err(error) => {
                        let why = "has no valid signature in ";
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
    let mut link = ChainLink::start(session());
    for (number, event) in (0..seq).zip(events()) {
        let record = super::record(session(), u64::try_from(number).unwrap(), event);
        let row = crate::row::EventRow::encode(&record).unwrap();
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
        RowKind::Owner => {
            let set = |column: &str, value: &str| match is_postgres {
                // The list finds the sessions of a project by this copy.
                true => format!(
                    "UPDATE sessions SET {column} = {value};
                     UPDATE progress SET project = (SELECT project FROM sessions)"
                ),
                false => format!("UPDATE owners SET {column} = {value}"),
            };
            for (column, value) in [
                ("project", "'/there'"),
                ("owner", "'di'"),
                ("owner", "NULL"),
                (kind.signed(place).1, "NULL"),
            ] {
                cases.push(case("changed", set(column, value), 0, 1));
            }
            let remove = match is_postgres {
                true => "UPDATE sessions SET project = NULL, owner = NULL, owner_signature = NULL",
                false => "DELETE FROM owners",
            };
            cases.push(case("removed", remove.to_owned(), 0, 1));
            let other = "'0197a000-0000-7000-8000-000000000002'";
            let copy = match is_postgres {
                true => format!(
                    "INSERT INTO sessions (id, started_ms, project, owner, owner_signature)
                     SELECT {other}, started_ms, project, owner, owner_signature FROM sessions;
                     INSERT INTO events SELECT {other}, seq, at_ms, v, kind, json, digest FROM events;
                     INSERT INTO progress (session, last_ms, events, bytes, last_write, project)
                     SELECT {other}, last_ms, events, bytes, 9, project FROM progress"
                ),
                false => format!(
                    "INSERT INTO sessions SELECT {other}, started_ms, last_ms, events, title,
                     directory, outcome, NULL, parent, model, cost_micros, last_write, project,
                     phase, stats, uncounted FROM sessions;
                     INSERT INTO events SELECT {other}, seq, at_ms, v, kind, json, digest FROM events;
                     INSERT INTO owners SELECT {other}, project, owner, signature FROM owners"
                ),
            };
            // Both the owner and the end of the other session are reported.
            cases.push(case("copied to another session", copy, 1, 2));
        }
        RowKind::Session => {
            let (end, _) = kind.signed(place);
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
    for kind in [
        RowKind::Approval,
        RowKind::Firing,
        RowKind::Owner,
        RowKind::Session,
    ] {
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
                let (gone, stay): (Vec<_>, Vec<_>) =
                    found.iter().cloned().partition(UnsignedRow::is_removable);
                let removed = store.remove_unsigned(found).await.unwrap();
                assert_eq!(removed, gone.len() as u64, "{what}");
                assert_eq!(store.unsigned().await.unwrap(), stay, "{what}");
                // A firing that is taken is due no more.
                if kind != RowKind::Firing {
                    assert_eq!(believed(store.as_store(), kind).await, expected, "{what}");
                }
            }
        }
    }
}

/// The same row in another store has another signature, which is not valid here.
#[tokio::test]
async fn row_of_another_store_is_not_believed() {
    for kind in [
        RowKind::Approval,
        RowKind::Firing,
        RowKind::Owner,
        RowKind::Session,
    ] {
        for (place, other) in Place::all().into_iter().zip(Place::all()) {
            let (store, foreign) = (place.open().await, other.open().await);
            write(store.as_store(), kind).await;
            write(foreign.as_store(), kind).await;
            let (table, column) = kind.signed(&place);
            let signature = bytes(&place, &other.signature(table, column).await);
            place
                .change(&format!("UPDATE {table} SET {column} = {signature}"))
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
            place.change(&kind.unsign(&place)).await;
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
        place.change(&RowKind::Session.unsign(&place)).await;
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
        place.change(&RowKind::Session.unsign(&place)).await;
        let moved = move_sessions(&*store, &*to, &mut |_| ControlFlow::Continue(())).await;
        let kept = moved.unwrap().kept;
        let [(kept, why)] = kept.as_slice() else {
            panic!("{kept:?}");
        };
        assert_eq!(*kept, session());
        assert!(
            why.to_string().contains("has no valid signature in "),
            "{why}"
        );
        let key = SealKey::parse(&"07".repeat(32)).unwrap();
        let refused = store.as_store().export_sealed(session(), &key).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("has no valid signature in "), "{why}");
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
