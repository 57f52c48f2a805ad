//! The calls that rules count.

use super::{Backend, owners::started_in, transfer::exported};
use crate::{
    ImportAs, ImportSource, JournalStore, Ownership,
    tests::{ended, record},
};
use agent_host_engine::journal::{CountedCall, Journal, Tallies, TallyQuery};
use agent_host_types::{
    facts::MAX_WINDOW_MS,
    id::{CallId, SessionId},
};
use pretty_assertions::assert_eq;
use serde_json::{Number, Value, json};
use std::{collections::BTreeMap, io::Cursor, sync::Arc};

const HOUR: u64 = 60 * 60 * 1_000;

/// The time of the first call.
const START: u64 = 1_800_000_000_000;

/// A session of a project and an owner, with a journal that is open.
async fn session(store: &dyn JournalStore, project: &str, owner: Option<&str>) -> Arc<dyn Journal> {
    let ownership = Ownership {
        project: project.to_owned(),
        owner: owner.map(str::to_owned),
    };
    let id = SessionId::new();
    let journal = store.create_owned(id, Some(ownership)).await.unwrap();
    journal.append(&[record(id, 0, started_in("/elsewhere"))], Vec::new());
    journal.barrier().await.unwrap();
    journal
}

/// Reads the tallies before a call of `send` within an hour and a day.
async fn read(journal: &dyn Journal, call: &str, at_ms: u64) -> Tallies {
    let query = TallyQuery {
        call: CallId(call.to_owned()),
        tool: "send".to_owned(),
        at_ms,
        windows: vec![HOUR, 24 * HOUR],
        arguments: vec!["/amount".to_owned()],
    };
    journal.tallies(query).await.unwrap()
}

/// The counts and the sums of windows, for comparison.
fn windows(tallies: &Tallies) -> Value {
    let windows = tallies.windows.iter();
    windows
        .map(|window| json!([window.count, window.sums["/amount"]]))
        .collect()
}

/// Counts a call after these many others.
async fn count(journal: &dyn Journal, call: &str, at_ms: u64, counted: u64, amount: Value) -> bool {
    let amount: Option<Number> = serde_json::from_value(amount).unwrap();
    let call = CountedCall {
        call: CallId(call.to_owned()),
        tool: "send".to_owned(),
        at_ms,
        counted,
        amounts: BTreeMap::from([("/amount".to_owned(), amount)]),
    };
    journal.count_call(call).await.unwrap()
}

/// Counts a call of a session with this id.
pub(in crate::tests) async fn write_one(store: &dyn JournalStore, id: SessionId) {
    let journal = store.create(id).await.unwrap();
    journal.append(&[record(id, 0, started_in("/here"))], Vec::new());
    journal.barrier().await.unwrap();
    assert!(count(&*journal, "a", START, 0, json!(7)).await);
}

/// Returns the number of calls before another one of that session; none where a row is refused, so
/// that the call is.
pub(in crate::tests) async fn counted(store: &dyn JournalStore, id: SessionId) -> usize {
    let journal = store.open_session(id).await.unwrap();
    let query = TallyQuery {
        call: CallId("b".to_owned()),
        tool: "send".to_owned(),
        at_ms: START,
        windows: vec![HOUR],
        arguments: vec!["/amount".to_owned()],
    };
    match journal.tallies(query.clone()).await {
        Ok(found) => usize::try_from(found.windows[0].count).unwrap(),
        Err(error) => {
            let why = "have no valid signature: another program changed them";
            assert!(error.to_string().contains(why), "{error}");
            let call = CountedCall {
                call: query.call,
                tool: query.tool,
                at_ms: START,
                counted: 1,
                amounts: BTreeMap::new(),
            };
            journal.count_call(call).await.unwrap_err();
            0
        }
    }
}

pub(super) async fn calls_amount_to_what_is_within_a_window(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let first = session(&*store, "/a", Some("ci/1")).await;
    let second = session(&*other, "/a", Some("ci/1")).await;
    let before = read(&*first, "x", START).await;
    assert_eq!(windows(&before), json!([[0, 0], [0, 0]]));
    assert_eq!((before.owner.as_deref(), before.counted), (Some("ci/1"), 0));
    assert!(count(&*first, "a", START, 0, json!(0.1)).await);
    assert!(count(&*second, "a", START + HOUR, 1, json!(0.2)).await);
    assert!(count(&*second, "b", START + HOUR + 1, 2, json!(null)).await);
    assert!(count(&*first, "b", START + 2 * HOUR + 2, 3, json!(-5)).await);
    let day = START + 24 * HOUR;
    for (session, call, at_ms, expected) in [
        // At the end of a window, a call has passed.
        (&first, "x", START + 1, json!([[4, null], [4, null]])),
        (&first, "x", START + HOUR - 1, json!([[4, null], [4, null]])),
        (&first, "x", START + HOUR, json!([[3, null], [4, null]])),
        (&first, "x", START + 2 * HOUR, json!([[2, null], [4, null]])),
        (
            &first,
            "x",
            START + 2 * HOUR + 1,
            json!([[1, -5], [4, null]]),
        ),
        (&first, "x", day, json!([[0, 0], [3, null]])),
        (&first, "x", day + HOUR + 1, json!([[0, 0], [1, -5]])),
        (&first, "x", day + 3 * HOUR, json!([[0, 0], [0, 0]])),
        // No call counts itself.
        (&second, "b", START + 2 * HOUR, json!([[1, -5], [3, -4.7]])),
        (
            &first,
            "b",
            START + 2 * HOUR + 1,
            json!([[0, 0], [3, null]]),
        ),
        (&first, "a", day + 1, json!([[0, 0], [3, null]])),
    ] {
        let found = read(&**session, call, at_ms).await;
        assert_eq!(windows(&found), expected, "{call} at {at_ms}");
        assert_eq!((found.counted, found.has_call), (4, call != "x"));
    }
}

pub(super) async fn calls_of_others_are_not_counted(backend: &impl Backend) {
    let store = backend.open().await;
    let own = session(&*store, "/a", Some("ci/1")).await;
    assert!(count(&*own, "a", START, 0, json!(1)).await);
    for (project, owner) in [
        ("/a", None),
        ("/a", Some("ci/2")),
        ("/b", Some("ci/1")),
        ("", None),
    ] {
        let other = session(&*store, project, owner).await;
        let found = read(&*other, "x", START).await;
        assert_eq!(
            windows(&found),
            json!([[0, 0], [0, 0]]),
            "{project} {owner:?}"
        );
        assert!(count(&*other, "a", START, 0, json!(7)).await);
    }
    let query = |tool: &str| TallyQuery {
        call: CallId("x".to_owned()),
        tool: tool.to_owned(),
        at_ms: START,
        windows: vec![HOUR],
        arguments: vec!["/other".to_owned()],
    };
    // Another tool, and another argument, whose sum begins with its rule.
    let tool = own.tallies(query("sent")).await.unwrap();
    assert_eq!((tool.counted, tool.windows[0].count), (0, 0));
    let argument = own.tallies(query("send")).await.unwrap();
    let sum = argument.windows[0].sums["/other"].clone();
    assert_eq!((argument.windows[0].count, sum), (1, Some(0.into())));
}

pub(super) async fn last_place_is_taken_by_one_call(backend: &impl Backend) {
    let stores = [
        backend.open().await,
        backend.open().await,
        backend.open().await,
    ];
    let mut racing = Vec::new();
    for store in &stores {
        let journal = session(&**store, "/a", None).await;
        racing.push(tokio::spawn(async move {
            let mut passed = 0;
            for number in 0..4 {
                let call = number.to_string();
                loop {
                    let found = read(&*journal, &call, START).await;
                    if found.windows[0].count >= 5 {
                        break;
                    }
                    if count(&*journal, &call, START, found.counted, json!(1)).await {
                        passed += 1;
                        break;
                    }
                }
            }
            passed
        }));
    }
    let mut passed = 0;
    for race in racing {
        passed += race.await.unwrap();
    }
    assert_eq!(passed, 5);
    let after = session(&*stores[0], "/a", None).await;
    assert_eq!(
        windows(&read(&*after, "x", START).await),
        json!([[5, 5], [5, 5]])
    );
}

pub(super) async fn call_is_counted_once_over_restarts_and_copies(backend: &impl Backend) {
    let store = backend.open().await;
    let journal = session(&*store, "/a", None).await;
    let id = journal.session();
    assert!(count(&*journal, "a", START, 0, json!(3)).await);
    // Neither again, nor by a decision that knew of fewer.
    assert!(!count(&*journal, "a", START, 1, json!(3)).await);
    assert!(!count(&*journal, "b", START, 0, json!(3)).await);
    journal.append(&[record(id, 1, ended(id, "done").event)], Vec::new());
    journal.barrier().await.unwrap();
    drop(journal);
    drop(store);
    let store = backend.open().await;
    let journal = store.open_session(id).await.unwrap();
    let again = read(&*journal, "a", START).await;
    assert!(again.has_call);
    assert_eq!(windows(&again), json!([[0, 0], [0, 0]]));
    drop(journal);
    let copy = store.fork(id, None, None).await.unwrap();
    let file = exported(&*store, id).await;
    let source = ImportSource::File(Box::new(Cursor::new(file)));
    let ownership = Some(Ownership {
        project: "/a".to_owned(),
        owner: None,
    });
    let imported = store
        .import_owned(source, ImportAs::NewCopy, ownership)
        .await;
    for copy in [copy, imported.unwrap()] {
        let journal = store.open_session(copy).await.unwrap();
        let found = read(&*journal, "a", START).await;
        assert_eq!(windows(&found), json!([[1, 3], [1, 3]]));
        assert!(!found.has_call);
    }
    // What was counted stays so when its session is removed.
    store.delete(id).await.unwrap();
    let other = session(&*store, "/a", None).await;
    assert_eq!(
        windows(&read(&*other, "x", START).await),
        json!([[1, 3], [1, 3]])
    );
}

pub(super) async fn calls_that_no_window_reaches_are_removed(backend: &impl Backend) {
    let store = backend.open().await;
    let journal = session(&*store, "/a", None).await;
    for number in 0..5 {
        let at_ms = START + number * HOUR;
        assert!(count(&*journal, &number.to_string(), at_ms, number, json!(1)).await);
    }
    let late = START + 3 * HOUR + MAX_WINDOW_MS;
    assert!(count(&*journal, "late", late, 5, json!(10)).await);
    // The call that is the last one before each window is still known by its totals.
    let query = |call: &str, at_ms| TallyQuery {
        call: CallId(call.to_owned()),
        tool: "send".to_owned(),
        at_ms,
        windows: vec![MAX_WINDOW_MS],
        arguments: vec!["/amount".to_owned()],
    };
    for (call, has_call) in [("0", false), ("2", false), ("3", true), ("4", true)] {
        let found = journal.tallies(query(call, late)).await.unwrap();
        assert_eq!(found.has_call, has_call, "{call}");
    }
    let found = journal.tallies(query("x", late)).await.unwrap();
    let sum = found.windows[0].sums["/amount"].clone();
    assert_eq!((found.windows[0].count, sum), (2, Some(11.into())));
}

/// A host whose clock is behind counts a call no earlier than the one before it.
pub(super) async fn clocks_do_not_let_calls_pass_early(backend: &impl Backend) {
    let store = backend.open().await;
    let journal = session(&*store, "/a", None).await;
    assert!(count(&*journal, "a", START + HOUR, 0, json!(1)).await);
    assert!(count(&*journal, "b", START, 1, json!(1)).await);
    let found = read(&*journal, "x", START + 2 * HOUR - 1).await;
    assert_eq!(windows(&found), json!([[2, 2], [2, 2]]));
    // Amounts beyond what is added up exactly are unknown.
    for (number, amount) in [(2, json!(1e300)), (3, json!(u64::MAX)), (4, json!(-1e300))] {
        let call = number.to_string();
        assert!(count(&*journal, &call, START + HOUR, number, amount).await);
    }
    let found = read(&*journal, "x", START + HOUR).await;
    assert_eq!(windows(&found), json!([[5, null], [5, null]]));
}
