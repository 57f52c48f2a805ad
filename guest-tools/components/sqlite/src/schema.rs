//! `sqlite_schema`.

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};
use rusqlite::{Connection, params};

use crate::database::{Database, failed};

/// The bytes of a schema besides its objects.
const OVERHEAD_BYTES: usize = 2 * 1024;

/// The size of an object, and of a column, in JSON besides its texts, in bytes.
const OBJECT_OVERHEAD_BYTES: usize = 96;
const COLUMN_OVERHEAD_BYTES: usize = 64;

/// The longest definition that is shown, in bytes.
const MAX_SQL_BYTES: usize = 2 * 1024;

/// The tables and views without SQLite's own and those that virtual tables keep their content in.
const OBJECTS: &str = "SELECT l.type, l.name, coalesce(s.sql, '') FROM pragma_table_list AS l \
     JOIN sqlite_schema AS s ON s.name = l.name AND s.type IN ('table', 'view') \
     WHERE l.schema = 'main' AND l.type <> 'shadow' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
     ORDER BY l.name LIMIT -1 OFFSET ?1";

const COLUMNS: &str =
    "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?1) WHERE hidden <> 1";

const INDEXES: &str = "SELECT coalesce(sql, '') FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL ORDER BY name";

#[input]
pub(crate) struct SqliteSchema {
    /// The database file, relative to the workspace or absolute.
    path: String,
    /// The number of tables and views to pass over, for the next part of a long schema.
    #[serde(default)]
    offset: u32,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Schema {
    /// The requested path.
    path: String,
    /// The tables and views, by name.
    objects: Vec<Object>,
    /// Notes on what was left out and how to get it, and on changes that are not seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// `table`, `view` or `virtual`.
    kind: String,
    name: String,
    columns: Vec<Column>,
    /// The statement that made a view or a virtual table.
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<String>,
    /// The statements that made the indexes of a table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    indexes: Vec<String>,
    /// The reason why the columns cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Column {
    name: String,
    /// The type as it was declared; empty if none was.
    #[serde(rename = "type")]
    declared: String,
    #[serde(skip_serializing_if = "is_false")]
    not_null: bool,
    /// The position in the primary key, from 1 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_key: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Describes a SQLite database: its tables and views with their columns, declared types, keys and
/// indexes. Use sqlite_query to read rows.
#[tool(effect = "read-only", title = "Schema of SQLite", output = Schema)]
pub(crate) fn sqlite_schema(input: SqliteSchema) -> Result<Json<Schema>, Failure> {
    let SqliteSchema { path, offset } = input;
    let database = Database::open(&path)?;
    let connection = &database.connection;
    let explain = |error: rusqlite::Error| failed(&path, &error);
    let mut budget = Budget::new(MAX_RESULT_BYTES - OVERHEAD_BYTES);
    let mut objects = Vec::new();
    let mut notes = Vec::new();
    let mut statement = connection.prepare(OBJECTS).map_err(explain)?;
    let mut rows = statement.query(params![offset]).map_err(explain)?;
    while let Some(row) = rows.next().map_err(explain)? {
        let fields = (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))();
        let (kind, name, sql): (String, String, String) = fields.map_err(explain)?;
        let object = object(connection, kind, name, &sql);
        if !fits(&mut budget, &object) {
            let next = objects.len() + usize::try_from(offset).unwrap_or(usize::MAX);
            notes.push(match objects.is_empty() {
                true => format!("`{}` is too large to be described: query pragma_table_xinfo; offset {} continues", object.name.chars().take(80).collect::<String>(), next + 1),
                false => format!("{} tables and views are shown; offset {next} continues", objects.len()),
            });
            break;
        }
        objects.push(object);
    }
    notes.extend(database.notes.iter().cloned());
    drop(rows);
    drop(statement);
    Ok(Json(Schema {
        path,
        objects,
        notes,
    }))
}

fn object(connection: &Connection, kind: String, name: String, sql: &str) -> Object {
    let is_defined = matches!(kind.as_str(), "view" | "virtual");
    let (columns, error) = match columns(connection, &name) {
        Ok(columns) => (columns, None),
        // A virtual table of a module that is not compiled in, or a damaged one.
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Object {
        columns,
        error,
        sql: is_defined.then(|| cut(sql)),
        indexes: indexes(connection, &name).unwrap_or_default(),
        kind,
        name,
    }
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let mut statement = connection.prepare(COLUMNS)?;
    let columns = statement.query_map([table], |row| {
        let primary_key: u32 = row.get(3)?;
        Ok(Column {
            name: row.get(0)?,
            declared: row.get(1)?,
            not_null: row.get(2)?,
            primary_key: (primary_key > 0).then_some(primary_key),
        })
    })?;
    columns.collect()
}

fn indexes(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(INDEXES)?;
    let indexes = statement.query_map([table], |row| row.get(0).map(|sql: String| cut(&sql)))?;
    indexes.collect()
}

fn cut(sql: &str) -> String {
    if sql.len() <= MAX_SQL_BYTES {
        return sql.to_owned();
    }
    let kept = sql
        .get(..sql.floor_char_boundary(MAX_SQL_BYTES))
        .unwrap_or_default();
    format!("{kept}…")
}

fn fits(budget: &mut Budget, object: &Object) -> bool {
    budget.take(&object.name, OBJECT_OVERHEAD_BYTES)
        && budget.take(object.sql.as_deref().unwrap_or_default(), 0)
        && budget.take(object.error.as_deref().unwrap_or_default(), 0)
        && object.indexes.iter().all(|sql| budget.take(sql, 3))
        && object.columns.iter().all(|column| {
            budget.take(&column.name, COLUMN_OVERHEAD_BYTES) && budget.take(&column.declared, 0)
        })
}

#[cfg(test)]
pub(crate) mod tests;
