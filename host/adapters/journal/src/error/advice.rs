//! The part of a message that says what a failure means and what to do.

use rusqlite::ErrorCode;
use std::io;

/// True if an error of SQLite means that the file is not what this program wrote. An error without
/// a code is one of conversion: a column holds what was never stored in it.
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
            "{file} contains data that this program did not write ({error}); restore it from a backup, or move it \
             away to start with an empty journal"
        );
    };
    match code {
        ErrorCode::DiskFull => format!(
            "no space is left on the disk that contains {file}; free some space, then resume the session: everything \
             up to the last completed step is kept"
        ),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => format!(
            "{file} or its directory is not writable ({error}); make the directory writable for this user, or set \
             `state-dir` to another directory"
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => format!(
            "another program has locked {file}; stop it (a backup, or an open sqlite3 shell?) and try again"
        ),
        ErrorCode::NotADatabase => format!(
            "{file} is not an agent-host journal, or its beginning is damaged ({error}); restore it from a backup, \
             or move it away to start with an empty journal"
        ),
        ErrorCode::DatabaseCorrupt => format!(
            "{file} is damaged ({error}); restore it from a backup, or move it away to start with an empty journal"
        ),
        // The other codes are faults of the machine, or ours; SQLite's own words are all that is
        // known.
        _ => format!("the database {file} failed ({error}); check the disk, then try again"),
    }
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
            "move the file with that name away, or set `state-dir` to another directory"
        }
        // The kinds are many and grow; the system's own words precede this in any case.
        _ => "check the path and the disk, or set `state-dir` to another directory",
    }
}
