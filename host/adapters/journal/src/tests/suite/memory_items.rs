//! The memory of agents beyond a session.

use super::Backend;
use crate::{
    JournalStore, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Ownership,
    Remembered::{self, Full, Known, Stored},
};
use agent_host_types::id::{CallId, SessionId};
use pretty_assertions::assert_eq;

pub(in crate::tests) fn item(call: &str, text: &str, sources: &[&str]) -> MemoryItem {
    let (session, call) = (SessionId::from_hash([7; 32]), CallId(call.to_owned()));
    MemoryItem {
        id: MemoryItem::id_of(session, &call),
        text: text.to_owned(),
        session,
        call,
        project: Some("/a".to_owned()),
        owner: None,
        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
        at_ms: 10,
        expires_ms: 100,
    }
}

fn ownership(project: &str, owner: Option<&str>) -> Ownership {
    Ownership {
        project: project.to_owned(),
        owner: owner.map(str::to_owned),
    }
}

fn query(words: &str) -> MemoryQuery {
    MemoryQuery {
        words: words.to_owned(),
        ..MemoryQuery::all(MemoryScope::All, 20)
    }
}

async fn remember(store: &dyn JournalStore, item: &MemoryItem) -> Remembered {
    store.remember(item.clone(), 3).await.unwrap()
}

/// Returns the texts of the items that are found.
async fn found(store: &dyn JournalStore, query: MemoryQuery) -> Vec<String> {
    let items = store.memory_items(query).await.unwrap().into_iter();
    items.map(|item| item.text).collect()
}

pub(super) async fn item_is_found_by_words_and_then_by_time(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let long = format!("{} naïve", "x".repeat(3_000));
    let texts = [
        "The tests run with `cargo nextest`.",
        "Tabs, never spaces: say the tests.",
        &long,
    ];
    for (index, text) in texts.iter().enumerate() {
        let item = item(&index.to_string(), text, &[]);
        assert_eq!(remember(&*store, &item).await, Stored);
    }
    let [cargo, tabs, long] = texts;
    for (words, expected) in [
        ("", vec![long, tabs, cargo]),
        ("tests", vec![tabs, cargo]),
        ("CARGO? tests!", vec![cargo, tabs]),
        ("nex", vec![cargo]),
        ("naïve", vec![long]),
        (&"x".repeat(2_000), vec![long]),
        ("ext", vec![]),
        ("\"tabs\" AND NOT (x*", vec![long, tabs]),
        ("' : & | ! \\ \" * ( - .", vec![]),
    ] {
        let found = found(&*other, query(words)).await;
        assert_eq!(found, expected, "{words}");
    }
    let page = MemoryQuery {
        offset: 1,
        limit: 1,
        ..query("")
    };
    assert_eq!(found(&*store, page).await, [tabs]);
}

pub(super) async fn item_is_seen_by_its_owner_in_its_project(backend: &impl Backend) {
    let store = backend.open().await;
    for (call, project, owner) in [
        ("a", Some("/a"), None),
        ("a of ann", Some("/a"), Some("ann")),
        ("b", Some("/b"), None),
        ("all", None, None),
        ("all of ann", None, Some("ann")),
    ] {
        let item = MemoryItem {
            project: project.map(str::to_owned),
            owner: owner.map(str::to_owned),
            ..item(call, call, &[])
        };
        assert_eq!(remember(&*store, &item).await, Stored);
    }
    for (scope, expected) in [
        (MemoryScope::Own(ownership("/a", None)), vec!["all", "a"]),
        (MemoryScope::Own(ownership("/b", None)), vec!["all", "b"]),
        (
            MemoryScope::Own(ownership("/a", Some("ann"))),
            vec!["all of ann", "a of ann"],
        ),
        (MemoryScope::Own(ownership("/c", Some("di"))), vec![]),
        (
            MemoryScope::Project(ownership("/a", None)),
            vec!["all", "a of ann", "a"],
        ),
        (
            MemoryScope::Project(ownership("/a", Some("ann"))),
            vec!["all of ann", "a of ann", "a"],
        ),
        (MemoryScope::Project(ownership("/b", Some("di"))), vec!["b"]),
        (
            MemoryScope::All,
            vec!["all of ann", "all", "b", "a of ann", "a"],
        ),
    ] {
        let asked = MemoryQuery::all(scope.clone(), 20);
        assert_eq!(found(&*store, asked.clone()).await, expected, "{scope:?}");
        // Words find no other items.
        let words = "a all b".to_owned();
        let mut by_words = found(&*store, MemoryQuery { words, ..asked }).await;
        let mut expected = expected;
        by_words.sort_unstable();
        expected.sort_unstable();
        assert_eq!(by_words, expected, "{scope:?}");
    }
    let one = item("all of ann", "", &[]).id;
    let asked = MemoryQuery {
        id: one.chars().take(6).collect(),
        ..query("")
    };
    assert_eq!(found(&*store, asked).await, ["all of ann"]);
}

pub(super) async fn item_of_a_call_is_stored_once(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let first = item("1", "first", &["http:a", "mcp:b"]);
    assert_eq!(remember(&*store, &first).await, Stored);
    let again = MemoryItem {
        text: "other".to_owned(),
        ..first.clone()
    };
    assert_eq!(remember(&*other, &again).await, Known);
    assert_eq!(store.memory_items(query("")).await.unwrap(), [first]);
}

pub(super) async fn items_are_bounded_until_they_expire(backend: &impl Backend) {
    let store = backend.open().await;
    for call in ["1", "2", "3"] {
        assert_eq!(remember(&*store, &item(call, call, &[])).await, Stored);
    }
    assert_eq!(remember(&*store, &item("4", "4", &[])).await, Full);
    // What a page says takes the place of nothing else.
    assert_eq!(
        remember(&*store, &item("7", "7", &["http:a"])).await,
        Stored
    );
    let other = MemoryItem {
        project: None,
        ..item("5", "5", &[])
    };
    assert_eq!(remember(&*store, &other).await, Stored);
    let late = MemoryQuery {
        now_ms: 100,
        ..query("")
    };
    assert_eq!(found(&*store, late.clone()).await, Vec::<String>::new());
    let late_item = MemoryItem {
        at_ms: 100,
        expires_ms: 200,
        ..item("6", "6", &[])
    };
    assert_eq!(remember(&*store, &late_item).await, Stored);
    assert_eq!(found(&*store, late).await, ["6"]);
    assert_eq!(found(&*store, query("")).await, ["6"]);
}

pub(super) async fn forgotten_item_stays_forgotten(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let items = ["1", "2", "3"].map(|call| item(call, &format!("secret {call}"), &["http:a"]));
    for item in &items {
        assert_eq!(remember(&*store, item).await, Stored);
    }
    let [first, _, _] = &items;
    for is_changed in [true, false] {
        let forgets = other.change_memory(first.clone(), MemoryChange::Forget, 20);
        assert_eq!(forgets.await.unwrap(), is_changed);
    }
    assert_eq!(remember(&*store, first).await, Known);
    for words in ["", "secret", "sha256"] {
        let found = found(&*store, query(words)).await;
        let expected = ["secret 3", "secret 2"].map(str::to_owned);
        assert_eq!(
            found,
            if words == "sha256" {
                &[][..]
            } else {
                &expected
            }
        );
    }
    // It leaves its place to another one.
    assert_eq!(remember(&*store, &item("4", "4", &[])).await, Stored);
}

pub(super) async fn item_is_trusted_by_the_user_alone(backend: &impl Backend) {
    let store = backend.open().await;
    let (web, own) = (item("1", "web", &["http:a"]), item("2", "own", &[]));
    for item in [&web, &own] {
        assert_eq!(remember(&*store, item).await, Stored);
    }
    let trusted = |trusted| MemoryQuery {
        trusted: Some(trusted),
        ..query("")
    };
    assert_eq!(found(&*store, trusted(true)).await, ["own"]);
    assert_eq!(found(&*store, trusted(false)).await, ["web"]);
    let raises = store.change_memory(web.clone(), MemoryChange::Trust, 20);
    assert!(raises.await.unwrap());
    assert_eq!(found(&*store, trusted(true)).await, ["own", "web"]);
    assert_eq!(found(&*store, trusted(false)).await, Vec::<String>::new());
    // What was read before is not what is there.
    let forgets = store.change_memory(web, MemoryChange::Forget, 20);
    assert!(!forgets.await.unwrap());
}
