//! The tables, held to one golden file.

use super::{fresh, open, session_of};
use crate::{
    FoundEvents, SessionScope,
    sqlite::{found_query, list_query, page_query, tally_queries},
    tests::{ended, input, record},
};
use agent_host_engine::journal::Journal as _;
use agent_host_types::session_status::SessionStatus::Interrupted;
use pretty_assertions::assert_eq;
use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};
use tokio::runtime::Builder;

/// Returns what a file says of its tables.
fn schema(file: &Path) -> String {
    let db = rusqlite::Connection::open(file).unwrap();
    let mut query = db
        .prepare("SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        .unwrap();
    let statements = query.query_map([], |row| row.get(0)).unwrap();
    let mut schema: Vec<String> = statements.collect::<Result<_, _>>().unwrap();
    for pragma in ["application_id", "auto_vacuum"] {
        let value: i64 = db
            .pragma_query_value(None, pragma, |row| row.get(0))
            .unwrap();
        schema.push(format!("PRAGMA {pragma} = {value};"));
    }
    let version: i64 = db
        .query_row("SELECT format_version FROM meta", [], |row| row.get(0))
        .unwrap();
    schema.push(format!("INSERT INTO meta VALUES ({version});"));
    schema.join("\n") + "\n"
}

/// A change of the tables raises the version of the schema.
#[test]
fn tables_are_those_of_the_golden_file() {
    let (_dir, store) = fresh();
    assert_eq!(schema(store.file()), include_str!("schema_7.sql"));
}

/// A file of version 4 gets the links, the memory and the counted calls, one of version 5 the memory
/// and the counted calls, one of version 6 the counted calls.
#[test]
fn older_file_has_the_same_tables() {
    let tallies = "DROP TABLE tallies";
    let memory = format!("DROP TABLE memory_words; DROP TABLE memory; {tallies}");
    for (version, drops) in [
        (4, format!("DROP TABLE links; {memory}")),
        (5, memory),
        (6, tallies.to_owned()),
    ] {
        let (dir, store) = fresh();
        let (file, before) = (store.file().to_owned(), schema(store.file()));
        drop(store);
        let db = rusqlite::Connection::open(&file).unwrap();
        db.execute_batch(&format!(
            "{drops}; UPDATE meta SET format_version = {version}"
        ))
        .unwrap();
        assert_ne!(schema(&file), before);
        let store = open(&dir.path().join("state")).unwrap();
        assert_eq!(schema(store.file()), before);
    }
}

/// A list visits the sessions that it shows, however many others there are, and sorts none.
#[test]
fn list_scans_and_sorts_no_table() {
    let (_dir, store) = fresh();
    let db = rusqlite::Connection::open(store.file()).unwrap();
    let own = SessionScope::Own {
        project: "/a".to_owned(),
        owner: "ci/1".to_owned(),
    };
    for (scope, by) in [
        (
            SessionScope::Project("/a".to_owned()),
            "SEARCH sessions USING INDEX sessions_by_project",
        ),
        (own, "SEARCH sessions USING INDEX sessions_by_project"),
        (
            SessionScope::All,
            "SCAN sessions USING INDEX sessions_by_last_write",
        ),
    ] {
        for (query, parameters) in [(list_query(&scope), 2), (page_query(&scope), 5)] {
            let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            assert_eq!(plan.parameter_count(), parameters);
            let steps = plan.raw_query().mapped(|row| row.get(3));
            let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
            assert!(steps[0].starts_with(by), "{steps:#?}");
            let is_flat =
                |step: &String| step.starts_with("SEARCH ") || step.starts_with("CORRELATED");
            assert!(steps[1..].iter().all(is_flat), "{steps:#?}");
        }
    }
}

/// Events that are found visit no other event of their session.
#[test]
fn found_events_are_those_of_an_index() {
    let (_dir, store) = fresh();
    let db = rusqlite::Connection::open(store.file()).unwrap();
    for (which, index) in [
        (
            FoundEvents::OfArtifacts,
            "events_of_artifacts (session=? AND seq>?)",
        ),
        (
            FoundEvents::InputsOf("key".to_owned()),
            "events_by_key (session=? AND <expr>=? AND seq>?)",
        ),
    ] {
        let query = format!("EXPLAIN QUERY PLAN {}", found_query(&which));
        let plan: String = db
            .prepare(&query)
            .unwrap()
            .raw_query()
            .next()
            .unwrap()
            .unwrap()
            .get(3)
            .unwrap();
        assert_eq!(plan, format!("SEARCH events USING INDEX {index}"));
    }
}

/// A decision by counts visits one row of an index for each window, however many calls there were.
#[test]
fn counted_calls_are_found_by_an_index() {
    let (_dir, store) = fresh();
    let db = rusqlite::Connection::open(store.file()).unwrap();
    let of_series = "project=? AND owner=? AND tool=?";
    let expected = [
        format!("SEARCH tallies USING PRIMARY KEY ({of_series})"),
        format!("SEARCH tallies USING INDEX tallies_by_time ({of_series} AND at_ms<?)"),
        "SEARCH tallies USING INDEX tallies_by_call (session=? AND call=?)".to_owned(),
    ];
    for (query, expected) in tally_queries().into_iter().zip(expected) {
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = plan.raw_query().mapped(|row| row.get(3));
        let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        assert_eq!(steps, [expected]);
    }
}

/// Lists look at the locks of sessions while others claim them.
#[tokio::test]
async fn claim_is_not_refused_while_lists_look() {
    let (_dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let session = journal.session();
    drop(journal);
    let looks_on = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while looks_on.load(Ordering::Relaxed) {
                    store.reader().sessions(&SessionScope::All).unwrap();
                }
            });
        }
        let claims = (0..200).map(|_| store.open_session(session).map(drop));
        let refused = claims.filter(Result::is_err).count();
        looks_on.store(false, Ordering::Relaxed);
        assert_eq!(refused, 0);
    });
}

/// A turn ends, and its process gives the session up, between the two looks of a list.
#[test]
fn session_that_ends_while_it_is_listed_is_done() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (dir, store) = fresh();
    let other = open(&dir.path().join("state")).unwrap();
    let (first, _) = runtime.block_on(session_of(&store, 1));
    let session = first.session();
    let end = ended(session, "done");
    first.append(std::slice::from_ref(&end), Vec::new());
    runtime.block_on(first.barrier()).unwrap();
    drop(first);
    let lists_on = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let lister = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while lists_on.load(Ordering::Relaxed) {
                seen.insert(other.reader().sessions(&SessionScope::All).unwrap()[0].status);
            }
            seen
        });
        for turn in 0..20 {
            let journal = store.open_session(session).unwrap();
            let (input, mut end) = (record(session, 2 * turn + 2, input("go")), end.clone());
            end.seq = 2 * turn + 3;
            journal.append(&[input], Vec::new());
            runtime.block_on(journal.barrier()).unwrap();
            journal.append(&[end], Vec::new());
            runtime.block_on(journal.barrier()).unwrap();
        }
        lists_on.store(false, Ordering::Relaxed);
        assert!(!lister.join().unwrap().contains(&Interrupted));
    });
}
