//! The database file: how it is opened, its tables, and the checks that it is ours. Statements over the tables live in
//! `writer` and `read`.

use crate::{fault::explain, lock, migrate};
use agent_host_engine::journal::JournalError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};
use std::{path::Path, time::Duration};

/// Marks the file as a journal of agent-host (`PRAGMA application_id`): the bytes "agnt".
const APPLICATION_ID: i64 = 0x6167_6e74;

/// The version of the tables. A program refuses a newer one, because it would not know what it leaves out, and brings an
/// older one into this one.
pub(crate) const FORMAT_VERSION: i64 = 2;

/// How large the write-ahead log may stay after it was copied into the database, in bytes.
const WAL_BYTES: i64 = 64 * 1024 * 1024;

/// The events, each with its digest (see `chain`).
pub(crate) const EVENTS: &str = "
CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    v INTEGER NOT NULL,
    kind TEXT NOT NULL,
    json TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;
";

/// Which sessions refer to a blob: it is kept as long as one of them does.
pub(crate) const BLOB_REFERENCES: &str = "
CREATE TABLE blob_references (
    session TEXT NOT NULL REFERENCES sessions (id),
    digest TEXT NOT NULL REFERENCES blobs (digest),
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_references_by_digest ON blob_references (digest);
";

/// The other tables.
const TABLES: &str = "
CREATE TABLE meta (format_version INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    started_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    events INTEGER NOT NULL,
    title TEXT,
    folder TEXT,
    outcome TEXT
) STRICT;
CREATE INDEX sessions_by_time ON sessions (last_ms, id);
CREATE TABLE blobs (digest TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;
";

/// Opens the connection that writes, and makes the tables in a new file.
pub(crate) fn open_writer(
    file: &Path,
    locks: &Path,
    lock_timeout: Duration,
) -> Result<Connection, JournalError> {
    let fault = |error: &rusqlite::Error| explain(file, "open the journal", error);
    let mut db = connect(file, lock_timeout).map_err(|error| fault(&error))?;
    if is_empty(&db).map_err(|error| fault(&error))? {
        // Switching to the write-ahead log does not wait for others as transactions do, so the makers of a new file queue
        // here.
        let _making = lock::wait(locks, "make")?;
        make(&mut db).map_err(|error| fault(&error))?;
    }
    check_ours(file, &db)?;
    if format(file, &db)? < FORMAT_VERSION {
        // Others who want the same wait here, for as long as it takes.
        let _migrating = lock::wait(locks, "make")?;
        if format(file, &db)? < FORMAT_VERSION {
            migrate::from_1(&mut db).map_err(|error| {
                explain(
                    file,
                    "bring the journal into the form of this version",
                    &error,
                )
            })?;
        }
    }
    settings(&db).map_err(|error| fault(&error))?;
    Ok(db)
}

/// Opens a further connection that writes, to a file that [`open_writer`] has checked.
pub(crate) fn connect_writer(
    file: &Path,
    lock_timeout: Duration,
) -> Result<Connection, rusqlite::Error> {
    let db = connect(file, lock_timeout)?;
    settings(&db)?;
    Ok(db)
}

fn settings(db: &Connection) -> Result<(), rusqlite::Error> {
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "journal_size_limit", WAL_BYTES)
}

/// Opens a connection that only reads. In write-ahead mode it waits for nobody and nobody waits for it.
pub(crate) fn open_reader(file: &Path, lock_timeout: Duration) -> Result<Connection, JournalError> {
    // The file is opened for writing all the same: a reader of the write-ahead log notes in its index how far it reads.
    let open = || -> Result<Connection, rusqlite::Error> {
        let db = connect(file, lock_timeout)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(db)
    };
    open().map_err(|error| explain(file, "read the journal", &error))
}

fn connect(file: &Path, lock_timeout: Duration) -> Result<Connection, rusqlite::Error> {
    // Each connection stays with one thread or behind one mutex, so SQLite's own mutexes are not needed.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(file, flags)?;
    db.busy_timeout(lock_timeout)?;
    // A damaged or planted file is data: nothing in its schema may run functions or write to the schema itself.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // What is removed or replaced is overwritten with zeros, so that it cannot be read in the file any more.
    db.pragma_update(None, "secure_delete", true)?;
    Ok(db)
}

fn is_empty(db: &Connection) -> Result<bool, rusqlite::Error> {
    db.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}

fn make(db: &mut Connection) -> Result<(), rusqlite::Error> {
    if !is_empty(db)? {
        // Another process made the tables while this one waited.
        return Ok(());
    }
    // Pages that pruning frees can then be returned to the disk. It has to be said before the first page is written.
    db.pragma_update(None, "auto_vacuum", "incremental")?;
    db.pragma_update(None, "journal_mode", "wal")?;
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for tables in [TABLES, EVENTS, BLOB_REFERENCES] {
        tx.execute_batch(tables)?;
    }
    tx.execute("INSERT INTO meta VALUES (?1)", [FORMAT_VERSION])?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.commit()
}

fn check_ours(file: &Path, db: &Connection) -> Result<(), JournalError> {
    let fault = |error: &rusqlite::Error| explain(file, "open the journal", error);
    let id: i64 = db
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(|error| fault(&error))?;
    if id != APPLICATION_ID {
        return Err(JournalError::Corrupt(format!(
            "{} is a database of another program; move it away, or set `state-dir` to another folder",
            file.display()
        )));
    }
    Ok(())
}

/// The version of the file's tables, if this program knows it.
fn format(file: &Path, db: &Connection) -> Result<i64, JournalError> {
    let version = db
        .query_row("SELECT max(format_version) FROM meta", [], |row| row.get(0))
        .map_err(|error| explain(file, "open the journal", &error))?;
    if (1..=FORMAT_VERSION).contains(&version) {
        return Ok(version);
    }
    Err(JournalError::Corrupt(format!(
        "the journal {} has format {version} and this program knows formats 1 to {FORMAT_VERSION}: another agent-host, \
         probably a newer one, wrote it; use that one, or set `state-dir` to another folder",
        file.display()
    )))
}
