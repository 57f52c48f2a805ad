//! The tables, held to one golden file.

use super::{fresh, open};
use crate::{
    JournalStore as _, SessionScope, SqliteStore,
    sqlite::{filter, list_query},
    tests::suite::families::{started, store_all},
};
use agent_host_types::{event::Event, id::SessionId};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

/// A change of the tables raises the version of the schema.
#[test]
fn tables_are_those_of_the_golden_file() {
    let (_dir, store) = fresh();
    let db = rusqlite::Connection::open(store.file()).unwrap();
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
    assert_eq!(schema.join("\n") + "\n", include_str!("schema_2.sql"));
}

/// A file of an older version gets the table of owners once: its sessions belong to their
/// directories, and those of agents to the project of the one that started them. What the older
/// version writes behind that belongs to its directory.
#[tokio::test]
async fn older_sessions_belong_to_their_directories() {
    let (dir, database) = fresh();
    let file = database.file().to_owned();
    let store = SqliteStore::from(database);
    let in_directory = || {
        let mut started = started(None);
        if let Event::SessionStarted { directory, .. } = &mut started {
            *directory = Some("/a".to_owned());
        }
        vec![started]
    };
    let ids @ [root, agent, of_agent, later] =
        [1, 2, 3, 4].map(|byte| SessionId::from_hash([byte; 32]));
    store_all(&store, root, in_directory(), Vec::new()).await;
    store_all(&store, of_agent, vec![started(Some(agent))], Vec::new()).await;
    store_all(&store, agent, vec![started(Some(root))], Vec::new()).await;
    store_all(&store, later, in_directory(), Vec::new()).await;
    drop(store);
    let change = |statements: &str| {
        let db = rusqlite::Connection::open(&file).unwrap();
        db.execute_batch(statements).unwrap();
    };
    change("DROP TABLE owners; DROP INDEX sessions_by_directory");
    let seen = async || {
        let store = SqliteStore::from(open(&dir.path().join("state")).unwrap());
        let scope = SessionScope::Project("/a".to_owned());
        let seen = store.list_in(scope).await.unwrap().into_iter();
        seen.map(|info| info.id).collect::<BTreeSet<_>>()
    };
    assert_eq!(seen().await, BTreeSet::from(ids));
    change(&format!("DELETE FROM owners WHERE session = '{later}'"));
    assert_eq!(seen().await, BTreeSet::from(ids));
}

/// A list of one project visits the sessions of that project, however many others there are.
#[test]
fn list_of_a_project_scans_no_table() {
    let (_dir, store) = fresh();
    let db = rusqlite::Connection::open(store.file()).unwrap();
    let own = SessionScope::Own {
        project: "/a".to_owned(),
        owner: "ci/1".to_owned(),
    };
    for scope in [SessionScope::Project("/a".to_owned()), own] {
        let query = format!("EXPLAIN QUERY PLAN {}", list_query(filter(&scope)));
        let mut query = db.prepare(&query).unwrap();
        let steps = query.query_map([scope.project(), scope.owner()], |row| row.get(3));
        let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
        let scans = steps.iter().filter(|step| step.starts_with("SCAN "));
        assert_eq!(
            scans.collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{steps:#?}"
        );
    }
}
