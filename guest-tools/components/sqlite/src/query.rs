//! `sqlite_query`.

use std::collections::BTreeMap;

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};
use rusqlite::{Row, Statement};
use serde_json::{Map, Value};

use crate::database::{Database, MAX_SQL_BYTES, failed};
use crate::value::{MAX_BLOB_BYTES, MAX_TEXT_BYTES, Remark, from_json, to_json};

/// The default number of rows of a result.
const DEFAULT_ROWS: usize = 200;

/// The most rows of a result.
const MAX_ROWS: usize = 5_000;

/// The bytes of a result besides rows and names of columns.
const OVERHEAD_BYTES: usize = 4 * 1024;

#[input]
pub(crate) struct SqliteQuery {
    /// The database file, relative to the workspace or absolute.
    path: String,
    /// One statement that reads: SELECT, WITH, VALUES, EXPLAIN, or a PRAGMA such as
    /// `table_info(name)`. Put values in `params` or `named`, not in the text.
    #[schemars(length(max = 65536))]
    sql: String,
    /// The values of `?`, in their order. A blob is `{"base64": ".."}`.
    params: Option<Vec<Value>>,
    /// The values of `:name`, `@name` and `$name`, by name.
    named: Option<Map<String, Value>>,
    /// The most rows to return.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1, max = 5000))]
    max_rows: usize,
}

fn default_rows() -> usize {
    DEFAULT_ROWS
}

#[output]
#[derive(Debug, PartialEq)]
pub(crate) struct QueryResult {
    /// The names of the columns.
    columns: Vec<String>,
    /// The rows, each a list of values in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// Notes on what was left out and how to get it, and on what the values do not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Runs one statement on a SQLite database, read-only. Integers beyond 2^53 are texts, blobs are
/// base64; use sqlite_blob for large ones. Changes in a write-ahead log are not seen, and a note
/// says so.
#[tool(effect = "read-only", title = "Query SQLite", output = QueryResult)]
pub(crate) fn sqlite_query(input: SqliteQuery) -> Result<Json<QueryResult>, Failure> {
    let SqliteQuery {
        path,
        sql,
        params,
        named,
        max_rows,
    } = input;
    let database = Database::open(&path)?;
    let mut statement = prepare(&database, &path, &sql)?;
    bind(&mut statement, params.as_deref(), named.as_ref())?;
    let columns = statement.column_names().map(ToOwned::to_owned).collect();
    let mut result = Rows::new(columns)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|error| failed(&path, &error))? {
        let is_full = result.rows.len() >= max_rows.clamp(1, MAX_ROWS);
        if is_full || !result.add(row).map_err(|error| failed(&path, &error))? {
            result.more = true;
            break;
        }
    }
    result.finish(database.notes.clone()).map(Json)
}

/// Prepares the one statement of a call, which reads and returns rows.
pub(crate) fn prepare<'d>(
    database: &'d Database,
    path: &str,
    sql: &str,
) -> Result<Statement<'d>, Failure> {
    if sql.len() > usize::try_from(MAX_SQL_BYTES).unwrap_or(0) {
        return Err(Failure::new(format!(
            "the statement has {} bytes; at most {MAX_SQL_BYTES} are taken",
            sql.len()
        )));
    }
    let statement = database
        .connection
        .prepare(sql)
        .map_err(|error| match error {
            rusqlite::Error::MultipleStatement => {
                Failure::new("there are several statements; give one for each call")
            }
            error => failed(path, &error),
        })?;
    if statement.column_count() == 0 || !statement.readonly() {
        return Err(Failure::new("the statement returns no rows; give a SELECT"));
    }
    Ok(statement)
}

/// Binds all parameters, of which each has to be given once.
pub(crate) fn bind(
    statement: &mut Statement<'_>,
    params: Option<&[Value]>,
    named: Option<&Map<String, Value>>,
) -> Result<(), Failure> {
    let count = statement.parameter_count();
    let mut unnamed = params.unwrap_or_default().iter();
    let mut unused: Vec<&String> = named.into_iter().flat_map(Map::keys).collect();
    for index in 1..=count {
        let name = statement.parameter_name(index).map(ToOwned::to_owned);
        let value = match name.as_deref().filter(|name| !name.starts_with('?')) {
            Some(name) => {
                let plain = name.get(1..).unwrap_or_default();
                unused.retain(|key| *key != name && *key != plain);
                named.and_then(|named| named.get(plain).or_else(|| named.get(name)))
            }
            None => unnamed.next(),
        };
        let shown = name.unwrap_or_else(|| format!("{index} (`?`)"));
        let value = value.ok_or_else(|| {
            Failure::new(format!(
                "parameter {shown} has no value; give those of `?` in `params` and others in `named`"
            ))
        })?;
        let value = from_json(value)
            .map_err(|why| Failure::new(format!("parameter {shown} has no value: {why}")))?;
        statement
            .raw_bind_parameter(index, value)
            .map_err(|error| Failure::new(format!("parameter {shown} cannot be given: {error}")))?;
    }
    if unnamed.next().is_some() || !unused.is_empty() {
        return Err(Failure::new(
            "there are more values in `params` or `named` than parameters in the statement",
        ));
    }
    Ok(())
}

/// The rows so far.
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    budget: Budget,
    remarks: BTreeMap<Remark, usize>,
    /// True if there are more rows than are shown.
    more: bool,
}

impl Rows {
    fn new(columns: Vec<String>) -> Result<Self, Failure> {
        let mut budget = Budget::new(MAX_RESULT_BYTES - OVERHEAD_BYTES);
        if !columns.iter().all(|name| budget.take(name, 3)) {
            return Err(Failure::new(
                "the names of the columns are too long; select fewer, by name",
            ));
        }
        Ok(Self {
            columns,
            rows: Vec::new(),
            budget,
            remarks: BTreeMap::new(),
            more: false,
        })
    }

    /// Adds a row; false if it does not fit.
    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let mut values = Vec::new();
        let mut remarks = Vec::new();
        for index in 0..self.columns.len() {
            let (value, remark) = to_json(row.get_ref(index)?);
            remarks.extend(remark);
            values.push(value);
        }
        let bytes = values
            .iter()
            .map(|value| value.to_string().len() + 1)
            .sum::<usize>()
            + 2;
        if !self.budget.take_bytes(bytes) {
            return Ok(false);
        }
        for remark in remarks {
            *self.remarks.entry(remark).or_default() += 1;
        }
        self.rows.push(values);
        Ok(true)
    }

    fn finish(self, more: Vec<String>) -> Result<QueryResult, Failure> {
        if self.more && self.rows.is_empty() {
            return Err(Failure::new(
                "one row does not fit a result; select fewer columns, or substr() of long texts",
            ));
        }
        let mut notes = Vec::new();
        if self.more {
            let count = self.rows.len();
            notes.push(format!(
                "the first {count} rows are shown, and there are more: narrow the statement, or continue with ORDER BY, LIMIT and OFFSET {count}"
            ));
        }
        for (remark, count) in self.remarks {
            notes.push(match remark {
                Remark::LargeInteger => format!("{count} integers beyond 2^53 are shown as texts"),
                Remark::CutText => format!("{count} texts are cut after {MAX_TEXT_BYTES} bytes: use substr()"),
                Remark::NoUtf8 => format!("{count} texts are not UTF-8: use hex()"),
                Remark::LargeBlob => format!("{count} blobs are larger than {MAX_BLOB_BYTES} bytes: sqlite_blob gives one as a file"),
            });
        }
        notes.extend(more);
        Ok(QueryResult {
            columns: self.columns,
            rows: self.rows,
            notes,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
