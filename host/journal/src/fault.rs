//! What a failure of SQLite or of the file system means to a person: what happened, why, and what to do.

use agent_host_engine::journal::JournalError;
use rusqlite::ErrorCode;
use std::{io, path::Path};

/// Explains an error of SQLite. `doing` completes "cannot ...", such as "write the journal".
pub(crate) fn explain(file: &Path, doing: &str, error: &rusqlite::Error) -> JournalError {
    let file = file.display();
    let Some(code) = error.sqlite_error_code() else {
        return JournalError::Corrupt(format!(
            "cannot {doing}: {file} holds something that was not written by this program ({error}); restore it from a \
             backup, or move it away to begin with an empty journal"
        ));
    };
    match code {
        ErrorCode::DiskFull => JournalError::Storage(format!(
            "cannot {doing}: there is no room left on the disk that holds {file}; free some space, then resume the \
             session: everything up to the last completed step is kept"
        )),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            JournalError::Storage(format!(
                "cannot {doing}: {file} or its folder may not be written to ({error}); make the folder writable for this \
                 user, or set `state-dir` to another folder"
            ))
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => JournalError::Storage(format!(
            "cannot {doing}: another program keeps {file} locked; end it (a backup, or an open sqlite3 shell?) and try again"
        )),
        ErrorCode::NotADatabase => JournalError::Corrupt(format!(
            "cannot {doing}: {file} is not a journal of agent-host, or its beginning is damaged ({error}); restore it from \
             a backup, or move it away to begin with an empty journal"
        )),
        ErrorCode::DatabaseCorrupt => JournalError::Corrupt(format!(
            "cannot {doing}: {file} is damaged ({error}); restore it from a backup, or move it away to begin with an empty \
             journal"
        )),
        // The other codes are faults of the machine, or ours; SQLite's own words are all that is known.
        _ => JournalError::Storage(format!(
            "cannot {doing}: the database {file} failed ({error}); check the disk, then try again"
        )),
    }
}

/// Explains an error of the file system. `doing` completes "cannot ...".
pub(crate) fn explain_io(path: &Path, doing: &str, error: &io::Error) -> JournalError {
    let path = path.display();
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable for this user, or set `state-dir` to a folder that is"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or set `state-dir` to a folder on another disk"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "move away the file that is in its place, or set `state-dir` to another folder"
        }
        // The kinds are many and grow; the system's own words follow in any case.
        _ => "check the path and the disk, or set `state-dir` to another folder",
    };
    JournalError::Storage(format!("cannot {doing} {path}: {error}; {advice}"))
}
