//! The tables, held to one golden file.

use super::fresh;
use pretty_assertions::assert_eq;

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
