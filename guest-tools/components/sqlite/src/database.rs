//! Opens a database so that a statement can only read it.

use std::io::Read as _;

use agent_tool::workspace::locate;
use agent_tool_bounded::{Failure, open};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

/// The memory of SQLite, in bytes: half of a call's.
const MAX_HEAP_BYTES: u32 = 128 * 1024 * 1024;

/// The longest statement, in bytes.
pub(crate) const MAX_SQL_BYTES: i32 = 64 * 1024;

/// The bounds of statements and values. The stack of a component is 1 MiB, which bounds depths.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, 32 * 1024 * 1024),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1_000),
];

/// The pragmas that read. With a value, they name a table or an index.
const PRAGMAS: [&str; 17] = [
    "application_id",
    "collation_list",
    "compile_options",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "freelist_count",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "page_count",
    "page_size",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// The pragmas that read without a value, and would write with one. Full-text search asks for the
/// first.
const PRAGMAS_WITHOUT_VALUE: [&str; 3] = ["data_version", "schema_version", "user_version"];

/// The functions that reach beyond values.
const NO_FUNCTIONS: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// An open database.
pub(crate) struct Database {
    pub(crate) connection: Connection,
    /// Notes on changes that stand in other files.
    pub(crate) notes: Vec<String>,
}

/// The start of a database file.
const HEADER_BYTES: u64 = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

impl Database {
    /// Opens a database as it stands in its one file.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        // The host sees the path as the model wrote it: SQLite takes `..` out before it opens one.
        let (file, _) = open(path)?;
        let mut header = Vec::new();
        file.take(HEADER_BYTES)
            .read_to_end(&mut header)
            .map_err(|error| Failure::io(&error, "read", path))?;
        if !header.is_empty() && !header.starts_with(MAGIC) {
            return Err(Failure::new(format!(
                "`{path}` is no SQLite database, or an encrypted one"
            )));
        }
        let notes = notes(path, &header);
        let connection = connect(path).map_err(|error| failed(path, &error))?;
        Ok(Self { connection, notes })
    }
}

/// A failure of SQLite, as text for the model.
pub(crate) fn failed(path: &str, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode::{
        AuthorizationForStatementDenied, DatabaseCorrupt, NotADatabase, OutOfMemory,
    };
    let text = error.to_string();
    let advice = match error.sqlite_error_code() {
        Some(AuthorizationForStatementDenied) => {
            "; the database is read-only: use SELECT, WITH, EXPLAIN, or a PRAGMA that reads"
        }
        Some(DatabaseCorrupt | NotADatabase) => "; the file is damaged: try other tables",
        Some(OutOfMemory) => "; select less, or without sorting",
        _ => "",
    };
    Failure::new(format!("`{path}` cannot be queried: {text}{advice}"))
}

/// Notes on the files beside a database that hold changes of it.
fn notes(path: &str, header: &[u8]) -> Vec<String> {
    let beside = |ending: &str| {
        let place = locate(&format!("{path}{ending}")).ok()?;
        let metadata = std::fs::metadata(place).ok()?;
        (metadata.len() > 0).then(|| format!("{path}{ending}"))
    };
    let mut notes = Vec::new();
    // Bytes 18 and 19 are 2 in a database with a write-ahead log.
    if header
        .get(18..20)
        .is_some_and(|versions| versions.contains(&2))
        && let Some(log) = beside("-wal")
    {
        notes.push(format!(
            "the newest changes stand in `{log}` and are not seen here: a program that closes the database puts them into it"
        ));
    }
    if let Some(journal) = beside("-journal") {
        notes.push(format!(
            "`{journal}` is there: a program is changing the database, or ended while it did, and what is read may be in between"
        ));
    }
    notes
}

fn connect(path: &str) -> rusqlite::Result<Connection> {
    let place = locate(path).unwrap_or_default();
    // Immutable: no lock is taken, and no file beside it is opened.
    let uri = format!(
        "file:{}?immutable=1&mode=ro",
        escaped(&place.to_string_lossy())
    );
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(uri, flags)?;
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    connection.execute_batch(&format!(
        "PRAGMA hard_heap_limit = {MAX_HEAP_BYTES}; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
    ))?;
    connection.authorizer(Some(|context: AuthContext<'_>| authorize(&context.action)))?;
    Ok(connection)
}

/// Allows what reads, and denies all else, which is in an open list.
fn authorize(action: &AuthAction<'_>) -> Authorization {
    let is_allowed = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !NO_FUNCTIONS
            .iter()
            .any(|name| name.eq_ignore_ascii_case(function_name)),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => {
            let name = pragma_name.to_ascii_lowercase();
            PRAGMAS.contains(&name.as_str())
                || (pragma_value.is_none() && PRAGMAS_WITHOUT_VALUE.contains(&name.as_str()))
        }
        _ => false,
    };
    if is_allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

/// The path as a part of a URI.
fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for letter in path.chars() {
        match letter {
            '%' => escaped.push_str("%25"),
            '?' => escaped.push_str("%3f"),
            '#' => escaped.push_str("%23"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
pub(crate) mod tests;
