//! The files that tools change, kept before the change, and restored.
//!
//! An [`UndoLog`] is a directory of one session. Each run of a call that changes files has an entry
//! in it, written by an [`UndoWriter`]: the state of every path before its first change, and after
//! the call has ended. Contents are stored under their SHA-256 digest. [`undo`] reads the
//! entries from the newest to the oldest and puts back what was there, where no one else has
//! changed it since. Times, and permissions of what stayed, are not restored: no tool can change
//! the latter.
//!
//! A crate of its own, because the sandbox writes the log and `app` reads it.
//!
//! ```
//! use agent_host_types::id::CallId;
//! use agent_host_undo::{DEFAULT_MAX_BYTES, Undo, UndoLog, UndoPath, undo};
//!
//! # fn main() -> std::io::Result<()> {
//! let (state, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let file = project.path().join("notes.txt");
//! std::fs::write(&file, "first")?;
//!
//! let log = UndoLog::new(state.path().join("undo"), DEFAULT_MAX_BYTES);
//! let call = CallId("call_1".to_owned());
//! let writer = log.writer(&call);
//! writer.keep(&UndoPath::new(project.path(), "/workspace", "notes.txt"))?;
//! std::fs::write(&file, "second")?;
//! writer.end()?;
//!
//! let changes = [Undo { log, calls: [call].into() }];
//! let undone = undo(&changes, /* force */ false)?;
//! assert_eq!(undone.restored.len(), 1);
//! assert_eq!(std::fs::read_to_string(&file)?, "first");
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod log;
mod path;
mod record;
mod restore;
mod state;
#[cfg(test)]
mod tests;
mod writer;

pub use log::{DEFAULT_MAX_BYTES, UndoLog};
pub use path::UndoPath;
pub use restore::{Left, LeftReason, Restored, Restoring, Undo, Undone, changed_paths, undo};
pub use state::{MAX_FILE_BYTES, NotKept};
pub use writer::UndoWriter;
