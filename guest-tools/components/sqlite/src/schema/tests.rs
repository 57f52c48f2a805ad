use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{SqliteSchema, sqlite_schema};
use crate::database::tests::fixture;
use agent_tool_bounded::MAX_RESULT_BYTES;

pub(crate) fn schema(path: &str, offset: u32) -> Result<Value, String> {
    let path = path.to_owned();
    sqlite_schema(SqliteSchema { path, offset })
        .map(|schema| serde_json::to_value(schema.0).expect("JSON"))
        .map_err(|failure| failure.to_string())
}

#[test]
fn tables_and_views_are_described() {
    let path = fixture("shop.db");
    let expected = json!({ "path": path, "objects": [
        { "kind": "view", "name": "cheap", "columns": [{ "name": "name", "type": "TEXT" }],
          "sql": "CREATE VIEW cheap AS SELECT name FROM items WHERE price < 3" },
        { "kind": "table", "name": "items", "columns": [
            { "name": "id", "type": "INTEGER", "primary_key": 1 }, { "name": "name", "type": "TEXT", "not_null": true },
            { "name": "price", "type": "REAL" }, { "name": "photo", "type": "BLOB" }, { "name": "odd \"name", "type": "ANY" },
          ], "indexes": ["CREATE UNIQUE INDEX items_by_name ON items (name)"] },
        { "kind": "virtual", "name": "notes", "columns": [{ "name": "body", "type": "" }], "sql": "CREATE VIRTUAL TABLE notes USING fts5(body)" },
        { "kind": "table", "name": "tags", "columns": [
            { "name": "item", "type": "INTEGER", "not_null": true, "primary_key": 1 },
            { "name": "tag", "type": "TEXT", "not_null": true, "primary_key": 2 },
        ] },
    ] });
    assert_eq!(schema(&path, 0), Ok(expected));
}

#[test]
fn long_schema_has_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("many.db");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    let columns: Vec<String> = (0..20)
        .map(|number| format!("column_{number} INTEGER"))
        .collect();
    for number in 0..100 {
        let sql = format!("CREATE TABLE t{number:03} ({})", columns.join(", "));
        connection.execute_batch(&sql).expect("a table");
    }
    let wide: Vec<String> = (0..1_900).map(|number| format!("c{number}")).collect();
    connection
        .execute_batch(&format!("CREATE TABLE wide ({})", wide.join(", ")))
        .expect("a table");
    drop(connection);
    let path = path.to_str().expect("UTF-8");
    let (mut offset, mut names) = (0, Vec::new());
    loop {
        let part = schema(path, offset).expect("a schema");
        assert!(part.to_string().len() <= MAX_RESULT_BYTES);
        let objects = part["objects"].as_array().expect("objects");
        names.extend(objects.iter().map(|object| object["name"].clone()));
        offset += u32::try_from(objects.len()).expect("small");
        let note = &part["notes"][0];
        if objects.is_empty() {
            assert_eq!(
                note,
                "`wide` is too large to be described: query pragma_table_xinfo; offset 101 continues"
            );
            break;
        }
        assert_eq!(
            note,
            &json!(format!(
                "{} tables and views are shown; offset {offset} continues",
                objects.len()
            ))
        );
    }
    let expected: Vec<Value> = (0..100)
        .map(|number| json!(format!("t{number:03}")))
        .collect();
    assert_eq!(names, expected);
    assert_eq!(schema(path, 101).expect("a schema")["objects"], json!([]));
}
