//! The part of a message that says what a failure means and what to do.

use rusqlite::ErrorCode;
use std::io;
use tokio_postgres::error::SqlState;

/// True if an error of SQLite means that the file is not what this program wrote. An error without a
/// code is one of conversion: a column holds what was never stored in it.
pub(super) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        None | Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}

/// Returns what an error of SQLite means and what to do about it.
pub(super) fn sqlite_advice(file: &str, error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error_code() else {
        return format!(
            "{file} holds something that was not written by this program ({error}); restore it from a backup, or move it \
             away to begin with an empty journal"
        );
    };
    match code {
        ErrorCode::DiskFull => format!(
            "there is no space left on the disk that holds {file}; free some space, then resume the session: everything \
             up to the last completed step is kept"
        ),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => format!(
            "{file} or its directory may not be written to ({error}); make the directory writable for this user, or set \
             `state-dir` to another directory"
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => format!(
            "another program keeps {file} locked; end it (a backup, or an open sqlite3 shell?) and try again"
        ),
        ErrorCode::NotADatabase => format!(
            "{file} is not a journal of agent-host, or its beginning is damaged ({error}); restore it from a backup, or \
             move it away to begin with an empty journal"
        ),
        ErrorCode::DatabaseCorrupt => format!(
            "{file} is damaged ({error}); restore it from a backup, or move it away to begin with an empty journal"
        ),
        // The other codes are faults of the machine, or ours; SQLite's own words are all that is known.
        _ => format!("the database {file} failed ({error}); check the disk, then try again"),
    }
}

/// Returns what an error of PostgreSQL means and what to do about it.
pub(super) fn postgres_advice(location: &str, error: &tokio_postgres::Error) -> String {
    let Some(code) = error.code() else {
        return format!(
            "{location} cannot be reached ({}); check the server and the network, then try again",
            chain(error)
        );
    };
    let said = error.as_db_error().map_or("", |error| error.message());
    let said = said.escape_debug();
    match *code {
        SqlState::READ_ONLY_SQL_TRANSACTION => format!(
            "{location} is a standby and takes no writes ({said}); give the address of the primary"
        ),
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            format!("{location} refused it for another write at the same time ({said}); try again")
        }
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            format!("{location} is shutting down or starting ({said}); try again in a moment")
        }
        SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => format!(
            "{location} has no space left ({said}); free some, then resume the session: everything up to the last completed \
             step is kept"
        ),
        SqlState::TOO_MANY_CONNECTIONS => format!(
            "{location} has no free connection ({said}); lower `connections` of [store], or raise the server's `max_connections`"
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => format!(
            "the user of {location} may not do that ({said}); grant it the tables of the journal"
        ),
        _ => format!(
            "{location} failed with the code {} ({said}); see the server's log",
            code.code()
        ),
    }
}

/// Joins an error with its causes: the library's own text does not name them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.escape_debug().to_string()
}

/// Returns what to do about an error of the file system.
pub(super) fn io_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable for this user, or set `state-dir` to a directory that is"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or set `state-dir` to a directory on another disk"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "move away the file that is in its place, or set `state-dir` to another directory"
        }
        // The kinds are many and grow; the system's own words precede this in any case.
        _ => "check the path and the disk, or set `state-dir` to another directory",
    }
}
