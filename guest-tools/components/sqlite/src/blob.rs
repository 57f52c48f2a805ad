//! `sqlite_blob`: one value as a file.

use agent_tool::{Output, Part, input, tool};
use agent_tool_bounded::Failure;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::database::{Database, failed};
use crate::query::{bind, prepare};

/// The largest value that is passed as a file, in bytes; providers refuse larger ones.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

#[input]
pub(crate) struct SqliteBlob {
    /// The database file, relative to the workspace or absolute.
    path: String,
    /// A SELECT whose first row and column is the value.
    #[schemars(length(max = 65536))]
    sql: String,
    /// The values of `?`, in their order.
    params: Option<Vec<Value>>,
    /// The values of `:name`, `@name` and `$name`, by name.
    named: Option<Map<String, Value>>,
}

/// Returns one value of a SQLite database, a blob or a long text, as a file: an image, such as a
/// photo in a row, as an image.
#[tool(effect = "read-only", title = "Value of SQLite as a file")]
pub(crate) fn sqlite_blob(input: SqliteBlob) -> Result<Output, Failure> {
    let SqliteBlob {
        path,
        sql,
        params,
        named,
    } = input;
    let database = Database::open(&path)?;
    let mut statement = prepare(&database, &path, &sql)?;
    bind(&mut statement, params.as_deref(), named.as_ref())?;
    let name = statement
        .column_name(0)
        .map_or("blob", |name| name)
        .to_owned();
    let mut rows = statement.raw_query();
    let row = rows.next().map_err(|error| failed(&path, &error))?;
    let row = row.ok_or_else(|| Failure::new("the statement found no row"))?;
    let (bytes, is_text) = match row.get_ref(0).map_err(|error| failed(&path, &error))? {
        ValueRef::Blob(bytes) => (bytes, false),
        ValueRef::Text(bytes) => (bytes, true),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {
            return Err(Failure::new(
                "the value is neither a blob nor a text; sqlite_query shows it",
            ));
        }
    };
    if bytes.len() > MAX_PART_BYTES {
        return Err(Failure::new(format!(
            "the value has {} bytes; at most {MAX_PART_BYTES} can be returned; select a part with substr()",
            bytes.len()
        )));
    }
    let media_type = match infer::get(bytes) {
        Some(kind) if !is_text => kind.mime_type(),
        None if !is_text => "application/octet-stream",
        _ => "text/plain",
    };
    let file = Part::bytes(media_type, bytes.to_vec()).named(name);
    let notes = database.notes.iter().map(Part::text);
    Ok(Output::content(
        [file].into_iter().chain(notes).collect::<Vec<_>>(),
    ))
}

#[cfg(test)]
mod tests;
