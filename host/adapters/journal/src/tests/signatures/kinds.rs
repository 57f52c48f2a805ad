//! The kinds of rows that confer authority, and changes of them past the store.

use crate::{
    Firing, FiringState, JournalStore, ListPage, MemoryQuery, MemoryScope, Ownership, Remembered,
    SessionLink, SessionScope,
    chain::ChainLink,
    row::EventRow,
    tests::{
        check::Place,
        input, record,
        suite::{
            approvals::approval,
            memory_items::item,
            owners::{started_in, store_owned},
            tallies,
        },
    },
};
use agent_host_types::{event::Event, id::SessionId};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

/// The session that every case has.
const SESSION: &str = "0197a000-0000-7000-8000-000000000001";

/// The kinds of rows that are in both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tests) enum RowKind {
    Approval,
    Firing,
    Link,
    Memory,
    Owner,
    Session,
    Counted,
}

impl RowKind {
    pub(super) const ALL: [Self; 7] = [
        Self::Approval,
        Self::Firing,
        Self::Link,
        Self::Memory,
        Self::Owner,
        Self::Session,
        Self::Counted,
    ];
}

impl RowKind {
    /// The table of the rows, and its column of signatures.
    pub(super) fn signed(self, place: &Place) -> (&'static str, &'static str) {
        match (self, place.is_postgres()) {
            (Self::Approval, _) => ("approvals", "signature"),
            (Self::Firing, _) => ("firings", "signature"),
            (Self::Link, _) => ("links", "signature"),
            (Self::Memory, _) => ("memory", "signature"),
            (Self::Owner, true) => ("sessions", "owner_signature"),
            (Self::Owner, false) => ("owners", "signature"),
            (Self::Session, true) => ("progress", "signature"),
            (Self::Session, false) => ("sessions", "signature"),
            (Self::Counted, _) => ("tallies", "signature"),
        }
    }

    /// The statement that removes the signatures.
    pub(super) fn unsign(self, place: &Place) -> String {
        let (table, column) = self.signed(place);
        format!("UPDATE {table} SET {column} = NULL")
    }
}

/// A change past the store, and the rows that are believed and reported then.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) change: String,
    pub(super) believed: usize,
    pub(super) reported: usize,
}

fn case(name: &'static str, change: impl Into<String>, believed: usize, reported: usize) -> Case {
    Case {
        name,
        change: change.into(),
        believed,
        reported,
    }
}

pub(super) fn session() -> SessionId {
    SESSION.parse().unwrap()
}

fn events() -> Vec<Event> {
    vec![started_in("/here"), input("go")]
}

/// Has a store write one row of a kind.
pub(in crate::tests) async fn write(store: &dyn JournalStore, kind: RowKind) {
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
        RowKind::Link => {
            store_owned(store, session(), None, events()).await;
            let link = SessionLink {
                id: "1".to_owned(),
                session: session(),
                hash: "a".to_owned(),
                owner: Some("ci/1".to_owned()),
                by: "ci".to_owned(),
                created_at_ms: 7,
                expires_at_ms: 9,
                single_use: true,
                is_opened: false,
            };
            assert!(store.add_link(link, 0).await.unwrap());
        }
        RowKind::Memory => {
            let item = item("1", "a", &["http:a"]);
            assert_eq!(store.remember(item, 1).await.unwrap(), Remembered::Stored);
        }
        RowKind::Counted => tallies::write_one(store, session()).await,
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
pub(in crate::tests) async fn believed(store: &dyn JournalStore, kind: RowKind) -> usize {
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
        RowKind::Link => {
            let listed = store.links(session()).await.unwrap();
            for hash in ["a", "b"] {
                let found = store.find_link(hash.to_owned()).await.unwrap();
                // One of another session is not believed either.
                assert_eq!(found.as_ref(), listed.iter().find(|link| link.hash == hash));
            }
            listed.len()
        }
        RowKind::Memory => {
            let query = MemoryQuery::all(MemoryScope::All, 0);
            let all = store.memory_items(query.clone()).await.unwrap();
            for words in ["a", "b"] {
                let words = words.to_owned();
                let found = store.memory_items(MemoryQuery {
                    words,
                    ..query.clone()
                });
                assert!(found.await.unwrap().iter().all(|item| all.contains(item)));
            }
            all.len()
        }
        RowKind::Owner => seen(store).await,
        RowKind::Counted => tallies::counted(store, session()).await,
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
pub(super) fn bytes(place: &Place, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match place.is_postgres() {
        true => format!("decode('{hex}', 'hex')"),
        false => format!("x'{hex}'"),
    }
}

/// The statement that makes an event by hand, with the digest that its chain has.
pub(super) fn event_by_hand(place: &Place, seq: i64, text: &str) -> (String, String) {
    let json = serde_json::to_string(&input(text)).unwrap();
    let kind = input(text).kind();
    let mut link = ChainLink::start(session());
    for (number, event) in (0..seq).zip(events()) {
        let record = record(session(), u64::try_from(number).unwrap(), event);
        let row = EventRow::encode(&record).unwrap();
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

/// The cases of a second row of a table with an id: one without a signature, and a copy.
fn second_rows(table: &str, columns: &str) -> [Case; 2] {
    [("inserted", "NULL"), ("copied", "signature")].map(|(name, signature)| {
        let copy = format!(
            "INSERT INTO {table} (id, {columns}, signature)
             SELECT '2', {columns}, {signature} FROM {table}"
        );
        case(name, copy, 1, 1)
    })
}

/// The cases of a kind: rows that were inserted, copied, or changed in one value.
pub(super) fn cases(place: &Place, kind: RowKind) -> Vec<Case> {
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
        RowKind::Link => {
            let columns =
                "session, hash, owner, made_by, created_ms, expires_ms, single_use, opened";
            cases.extend(second_rows("links", columns));
            let sets = [
                "id = '2'",
                "session = '0197a000-0000-7000-8000-000000000002'",
                "session = 'none'",
                "hash = 'b'",
                "owner = NULL",
                "owner = 'di/1'",
                "made_by = 'di'",
                "created_ms = 8",
                "expires_ms = 10",
                if is_postgres {
                    "single_use = false"
                } else {
                    "single_use = 0"
                },
                if is_postgres {
                    "opened = true"
                } else {
                    "opened = 1"
                },
                "signature = NULL",
            ];
            cases.extend(change("links", &sets));
        }
        RowKind::Memory => {
            let words = if is_postgres { "words, " } else { "scope, " };
            let columns = format!(
                "text, {words}session, call, project, owner, sources, at_ms, expires_ms, forgotten"
            );
            cases.extend(second_rows("memory", &columns));
            let sets = [
                "id = '2'",
                "text = 'b'",
                "session = 'none'",
                "call = 'other'",
                "project = '/other'",
                "owner = 'di/1'",
                "sources = ''",
                "at_ms = 8",
                "expires_ms = 10",
                if is_postgres {
                    "forgotten = true"
                } else {
                    "forgotten = 1"
                },
                "signature = NULL",
            ];
            cases.extend(change("memory", &sets));
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
        RowKind::Counted => {
            let sets = [
                "project = '/other'",
                "owner = 'di/1'",
                "tool = 'sent'",
                "number = 2",
                "at_ms = at_ms - 1",
                "session = 'none'",
                "call = 'other'",
                "amounts = '{}'",
                "signature = NULL",
            ];
            cases.extend(change("tallies", &sets));
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
