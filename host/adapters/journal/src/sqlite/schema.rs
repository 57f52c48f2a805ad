//! The database file: how it is opened, its tables, and the check that it is a journal of this
//! version.

use super::{found, links, list, lock, memory_items, owners, phase, signatures, stats, tallies};
use crate::{
    error::{Location, StoreError},
    signature::RowKey,
};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};
use std::{path::Path, time::Duration};

/// Marks the file as a journal of agent-host (`PRAGMA application_id`): the bytes "agnt".
const APPLICATION_ID: i64 = 0x6167_6e74;

/// The version of the tables. An older one is updated when it is opened, and a newer one refused.
const SCHEMA_VERSION: i64 = 7;

/// The first version whose rows that confer authority are signed.
const SIGNED_SINCE: i64 = 2;

/// The first version with the columns of lists and the indexes of events.
const LISTED_SINCE: i64 = 3;

/// The first version with the sums of what sessions used.
const SUMMED_SINCE: i64 = 4;

/// The first version with the links to sessions.
const LINKED_SINCE: i64 = 5;

/// The first version with what agents remember.
const REMEMBERED_SINCE: i64 = 6;

/// The size to which the write-ahead log is cut after it was copied into the database, in bytes.
const WAL_BYTES: i64 = 64 * 1024 * 1024;

/// The tables. `events.digest` is the event's digest in the chain of its session; a blob is kept as
/// long as a row of `blob_references` refers to it.
const TABLES: &str = "
CREATE TABLE meta (format_version INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    started_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    events INTEGER NOT NULL,
    title TEXT,
    directory TEXT,
    outcome TEXT
) STRICT;
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
CREATE TABLE blobs (digest TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE TABLE blob_references (
    session TEXT NOT NULL REFERENCES sessions (id),
    digest TEXT NOT NULL REFERENCES blobs (digest),
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_references_by_digest ON blob_references (digest);
CREATE TABLE approvals (
    project TEXT NOT NULL,
    rule TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (project, rule)
) STRICT;
";

/// The table of the names of sessions, which files of version 1 may be without.
const NAMES: &str = "
CREATE TABLE IF NOT EXISTS names (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name TEXT NOT NULL
) STRICT;
";

/// The table of the firings of triggers, which files of version 1 may be without.
const FIRINGS: &str = "
CREATE TABLE IF NOT EXISTS firings (
    trigger_name TEXT NOT NULL,
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    due_ms INTEGER,
    notified INTEGER,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (trigger_name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS firings_by_time ON firings (trigger_name, at_ms);
CREATE INDEX IF NOT EXISTS firings_by_due ON firings (due_ms) WHERE due_ms IS NOT NULL;
";

/// Version 2: the signatures of rows that confer authority, and the sealed sessions that were here;
/// the owners and the phases of sessions come with it. Version 3 has the columns of lists, and the
/// indexes by which sessions and events are found, version 4 the sums of what sessions used,
/// version 5 the links, version 6 what agents remember, and version 7 the calls that rules count.
const SIGNATURES: &str = "
ALTER TABLE sessions ADD COLUMN signature BLOB;
ALTER TABLE approvals ADD COLUMN signature BLOB;
ALTER TABLE firings ADD COLUMN signature BLOB;
CREATE TABLE sealed_sessions (
    session TEXT PRIMARY KEY NOT NULL,
    events INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT;
";

/// Opens the connection that writes. Makes the tables in a new file, and updates older ones. With a
/// key, the rows of an older file are signed; without one, they were already, and a file of an older
/// version is one that was put in the place of this store's.
pub(crate) fn open_writer(
    file: &Path,
    location: &Location,
    locks: &Path,
    lock_timeout: Duration,
    key: Option<&RowKey>,
) -> Result<Connection, StoreError> {
    let failed = StoreError::sqlite(location, "open the journal");
    let mut db = connect(file, lock_timeout).map_err(failed)?;
    if is_empty(&db).map_err(failed)? {
        // Switching to the write-ahead log does not wait for others as transactions do, so the
        // makers of a new file queue here.
        let _making = lock::wait_to_make(locks)?;
        make(&mut db).map_err(failed)?;
    }
    if check(location, &db)? < SCHEMA_VERSION {
        let _making = lock::wait_to_make(locks)?;
        update(&mut db, key).map_err(StoreError::sqlite(location, "update the journal"))?;
    }
    configure(&db).map_err(failed)?;
    Ok(db)
}

/// Opens a further connection that writes, to a file that [`open_writer`] has checked.
pub(crate) fn connect_writer(
    file: &Path,
    lock_timeout: Duration,
) -> Result<Connection, rusqlite::Error> {
    let db = connect(file, lock_timeout)?;
    configure(&db)?;
    Ok(db)
}

fn configure(db: &Connection) -> Result<(), rusqlite::Error> {
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "journal_size_limit", WAL_BYTES)
}

/// Opens a connection that only reads. In write-ahead mode it blocks no writer and no writer blocks
/// it.
pub(crate) fn open_reader(
    file: &Path,
    lock_timeout: Duration,
) -> Result<Connection, rusqlite::Error> {
    // The file is opened for writing all the same: a reader of the write-ahead log writes to its
    // index how far it reads.
    let db = connect(file, lock_timeout)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

fn connect(file: &Path, lock_timeout: Duration) -> Result<Connection, rusqlite::Error> {
    // Each connection stays with one thread or behind one mutex, so SQLite's own mutexes are not
    // needed.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(file, flags)?;
    db.busy_timeout(lock_timeout)?;
    // A damaged or planted file is data: nothing in its schema may run functions or write to the
    // schema itself.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // What is removed or replaced is overwritten with zeros, so that it cannot be read in the file
    // any more.
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
    // Pages that pruning frees can then be returned to the disk. It has to be set before the first
    // page is written.
    db.pragma_update(None, "auto_vacuum", "incremental")?;
    db.pragma_update(None, "journal_mode", "wal")?;
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(TABLES)?;
    bring_up_to_date(&tx, 1)?;
    tx.execute("INSERT INTO meta VALUES (?1)", [SCHEMA_VERSION])?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.commit()
}

/// Updates the tables of an older version. With a new key, the rows of a file of before the
/// signatures are signed: until now each of them was believed.
fn update(db: &mut Connection, key: Option<&RowKey>) -> Result<(), rusqlite::Error> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&tx)?;
    if from >= SCHEMA_VERSION {
        // Another process updated them while this one waited.
        return Ok(());
    }
    bring_up_to_date(&tx, from)?;
    if let Some(key) = key.filter(|_| from < SIGNED_SINCE) {
        signatures::sign_all(&tx, key)?;
    }
    tx.execute("UPDATE meta SET format_version = ?1", [SCHEMA_VERSION])?;
    tx.commit()
}

/// Adds what the tables of a version are without.
fn bring_up_to_date(tx: &Transaction<'_>, version: i64) -> Result<(), rusqlite::Error> {
    let is_signed = version >= SIGNED_SINCE;
    if !is_signed {
        for statements in [NAMES, FIRINGS, SIGNATURES] {
            tx.execute_batch(statements)?;
        }
    }
    let is_listed = version >= LISTED_SINCE;
    if !is_listed {
        list::add_columns(tx)?;
    }
    if !is_signed {
        // Owners follow from what lists know of the sessions.
        owners::add_table(tx)?;
        phase::add_column(tx)?;
    }
    if !is_listed {
        list::add_indexes(tx)?;
    }
    if version < SUMMED_SINCE {
        found::add_indexes(tx)?;
        stats::add_tables(tx)?;
    }
    if version < LINKED_SINCE {
        links::add_table(tx)?;
    }
    if version < REMEMBERED_SINCE {
        memory_items::add_table(tx)?;
    }
    tallies::add_table(tx)
}

fn version(db: &Connection) -> Result<i64, rusqlite::Error> {
    db.query_row("SELECT max(format_version) FROM meta", [], |row| row.get(0))
}

/// Checks that the file is a journal of this version or an older one, and returns its version.
fn check(location: &Location, db: &Connection) -> Result<i64, StoreError> {
    let failed = StoreError::sqlite(location, "open the journal");
    let id: i64 = db
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    let location = location.clone();
    if id != APPLICATION_ID {
        return Err(StoreError::ForeignDatabase(location));
    }
    let found = version(db).map_err(failed)?;
    if !(1..=SCHEMA_VERSION).contains(&found) {
        return Err(StoreError::SchemaVersion {
            location,
            found,
            known: SCHEMA_VERSION,
        });
    }
    Ok(found)
}
