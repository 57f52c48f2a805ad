//! The lines of an entry: each a JSON object.

use crate::{path::UndoPath, state::PathState};
use agent_host_types::id::CallId;
use serde::{Deserialize, Serialize};

/// A line of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// The first line.
    Call {
        /// The call.
        call: CallId,
    },
    /// A path is about to be changed for the first time, or for the first time since a directory
    /// was moved.
    Before {
        /// The path.
        path: UndoPath,
        /// Its state.
        state: PathState,
    },
    /// A path that was changed, when the call ended or a directory is about to be moved.
    After {
        /// The path.
        path: UndoPath,
        /// Its state.
        state: PathState,
    },
    /// A directory is about to be moved.
    Moved {
        /// Its path.
        from: UndoPath,
        /// Its path after that.
        to: UndoPath,
    },
}
