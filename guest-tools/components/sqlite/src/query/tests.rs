use std::fs;

use agent_tool_bounded::MAX_RESULT_BYTES;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use super::{SqliteQuery, sqlite_query};
use crate::database::tests::fixture;

fn with(path: &str, sql: &str, change: impl FnOnce(&mut SqliteQuery)) -> Result<Value, String> {
    let mut input = SqliteQuery {
        path: path.to_owned(),
        sql: sql.to_owned(),
        params: None,
        named: None,
        max_rows: 200,
    };
    change(&mut input);
    sqlite_query(input)
        .map(|result| serde_json::to_value(result.0).expect("JSON"))
        .map_err(|failure| failure.to_string().replace(path, "PATH"))
}

pub(crate) fn query(path: &str, sql: &str) -> Result<Value, String> {
    with(path, sql, |_| {})
}

fn json_of(result: Result<Value, String>) -> Value {
    result.expect("a result")
}

/// Fields of a JSON object.
fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn rows_are_those_of_python() {
    let text = fs::read_to_string(fixture("shop.json")).expect("a fixture");
    let expected: Map<String, Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(expected.len(), 5);
    for (sql, expected) in expected {
        let mut result = json_of(query(&fixture("shop.db"), &sql));
        let notes = result.as_object_mut().expect("an object").remove("notes");
        assert_eq!(result, expected, "{sql}");
        let remarks = json!([
            "2 integers beyond 2^53 are shown as texts",
            "1 blobs are larger than 2048 bytes: sqlite_blob gives one as a file",
        ]);
        assert_eq!(
            notes,
            sql.starts_with("SELECT * FROM items").then_some(remarks),
            "{sql}"
        );
    }
}

#[test]
fn parameters_are_bound() {
    let sql = "SELECT ?, :name, @big, $blob, ?";
    let result = with(&fixture("shop.db"), sql, |input| {
        input.params = Some(vec![json!(1), json!(0.5)]);
        input.named = Some(fields(
            &json!({ "name": "'; DROP TABLE items", "@big": i64::MAX, "blob": { "base64": "AAE=" } }),
        ));
    });
    let expected = json!([[1, "'; DROP TABLE items", "9223372036854775807", { "base64": "AAE=", "bytes": 2 }, 0.5]]);
    assert_eq!(json_of(result)["rows"], expected);
}

#[test]
fn parameters_that_do_not_fit_are_an_error() {
    let more = "there are more values in `params` or `named` than parameters in the statement";
    let missing = |shown: &str| {
        format!(
            "parameter {shown} has no value; give those of `?` in `params` and others in `named`"
        )
    };
    let cases = [
        ("SELECT ?", json!([]), json!({}), missing("1 (`?`)")),
        ("SELECT :a", json!([1]), json!({}), missing(":a")),
        ("SELECT 1", json!([1]), json!({}), more.to_owned()),
        (
            "SELECT :a",
            json!([]),
            json!({ "a": 1, "b": 2 }),
            more.to_owned(),
        ),
        (
            "SELECT ?",
            json!([[1]]),
            json!({}),
            "parameter 1 (`?`) has no value: a list is no value; use json_each on its text"
                .to_owned(),
        ),
    ];
    for (sql, params, named, expected) in cases {
        let result = with(&fixture("shop.db"), sql, |input| {
            input.params = params.as_array().cloned();
            input.named = Some(fields(&named));
        });
        assert_eq!(result, Err(expected), "{sql}");
    }
}

#[test]
fn statement_that_does_not_read_is_an_error() {
    let read_only =
        "; the database is read-only: use SELECT, WITH, EXPLAIN, or a PRAGMA that reads";
    let denied = || format!("`PATH` cannot be queried: not authorized{read_only}");
    let no_rows = || "the statement returns no rows; give a SELECT".to_owned();
    let cases = [
        ("DELETE FROM items", denied()),
        ("UPDATE items SET id = 1 RETURNING id", denied()),
        (
            "WITH a AS (SELECT 1) INSERT INTO tags SELECT * FROM a",
            denied(),
        ),
        ("ATTACH 'x.db' AS x", denied()),
        ("CREATE TEMP TABLE t (x)", denied()),
        ("BEGIN", denied()),
        ("PRAGMA journal_mode = WAL", denied()),
        ("PRAGMA writable_schema = ON", denied()),
        ("PRAGMA user_version = 3", denied()),
        ("VACUUM", no_rows()),
        ("VACUUM INTO 'x.db'", no_rows()),
        (
            "SELECT 1; SELECT 2",
            "there are several statements; give one for each call".to_owned(),
        ),
        (
            "",
            "`PATH` cannot be queried: SQL is empty or comment only".to_owned(),
        ),
        (
            "SELECT * FROM none",
            "`PATH` cannot be queried: no such table: none".to_owned(),
        ),
        (
            "SELECT zeroblob(99999999)",
            "`PATH` cannot be queried: string or blob too big".to_owned(),
        ),
    ];
    let before = fs::read(fixture("shop.db")).expect("a fixture");
    for (sql, expected) in cases {
        assert_eq!(query(&fixture("shop.db"), sql), Err(expected), "{sql}");
    }
    for sql in [
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('x')",
        "SELECT writefile('a', 'b')",
        "SELECT edit('x')",
    ] {
        let refused = query(&fixture("shop.db"), sql).expect_err(sql);
        assert!(
            refused.contains("no such function")
                || refused.contains("not authorized to use function"),
            "{refused}"
        );
    }
    let deep = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(query(&fixture("shop.db"), &deep).is_err());
    let long = format!("SELECT '{}'", "x".repeat(70_000));
    assert_eq!(
        query(&fixture("shop.db"), &long),
        Err("the statement has 70009 bytes; at most 65536 are taken".to_owned())
    );
    assert_eq!(fs::read(fixture("shop.db")).expect("a fixture"), before);
}

#[test]
fn long_result_is_cut_with_a_note() {
    let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, printf('%.*c', 99, '\"') FROM n";
    let few = with(&fixture("shop.db"), numbers, |input| input.max_rows = 2);
    let note = |count: usize| {
        format!(
            "the first {count} rows are shown, and there are more: narrow the statement, or continue with ORDER BY, LIMIT and OFFSET {count}"
        )
    };
    let few = json_of(few);
    assert_eq!(
        (few["rows"].as_array().map(Vec::len), &few["notes"]),
        (Some(2), &json!([note(2)]))
    );
    let many = json_of(with(&fixture("shop.db"), numbers, |input| {
        input.max_rows = 5_000
    }));
    assert!(many.to_string().len() <= MAX_RESULT_BYTES);
    assert_eq!(
        many["notes"],
        json!([note(many["rows"].as_array().map_or(0, Vec::len))])
    );
    let wide = format!("SELECT {}", ["printf('%.*c', 4000, 'x')"; 12].join(", "));
    assert_eq!(
        query(&fixture("shop.db"), &wide),
        Err(
            "one row does not fit a result; select fewer columns, or substr() of long texts"
                .to_owned()
        )
    );
}
