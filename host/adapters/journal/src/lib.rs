//! The journals of all sessions: events, blobs, and the claim that lets one process write to a
//! session.
//!
//! [`JournalStore`] is the trait of all stores; [`SqliteStore`] and `PostgresStore` (feature
//! `postgres`) implement it. A store never interprets a session beyond what [`SessionInfo`] lists,
//! never changes an event, removes sessions only as a whole, and never runs anything.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod authority_file;
mod chain;
mod claim;
mod copy;
mod error;
mod find;
mod firing;
mod found;
mod link;
mod maintenance;
mod memory_item;
#[cfg(test)]
#[path = "../../../../tests/support/src/mutations.rs"]
mod mutations;
mod ownership;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(test)]
#[path = "../../../../tests/support/src/postgres.rs"]
#[expect(
    unreachable_pub,
    reason = "the integration tests have it as a module of a crate"
)]
mod postgres_server;
mod queue;
mod row;
mod sealed;
mod session_list;
mod shared_runs;
mod signature;
mod sqlite;
mod stats;
mod store;
mod stored_approval;
mod tally;
#[cfg(test)]
mod tests;
mod transcript;
mod transfer;

pub use authority_file::{AuthorityFile, FileKey};
#[cfg(feature = "postgres")]
pub use error::PostgresError;
pub use error::{Damage, StoreError};
pub use firing::{Firing, FiringState, MAX_FIRINGS};
pub use found::{FoundEvents, MESSAGE_KEY};
pub use link::{MAX_LINKS, SessionLink};
pub use maintenance::{
    Maintenance, MoveError, MoveStep, Moved, SessionCheck, check, check_rest, move_sessions,
};
pub use memory_item::{
    MAX_ITEM_BYTES, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Remembered,
};
pub use ownership::{Copier, Ownership, SessionScope};
#[cfg(feature = "postgres")]
pub use postgres::{Migration, PostgresOptions, PostgresStore};
pub use sealed::{MAX_SEALED_BYTES, SealError, SealKey, SealedSession};
pub use session_list::{ListPage, SHORT_ID_CHARS, SessionInfo, SessionName};
pub use shared_runs::{
    CLAIMS_WITHOUT_PROGRESS, Claimant, ClaimedRun, HostId, HostLine, HostMessage, HostReport,
    HostStatus, Placement, RunClaim, RunListing, RunRequest, RunState, SharedRun, SharedRuns,
};
pub use signature::UnsignedRow;
pub use sqlite::{SqliteOptions, SqliteStore};
pub use stats::StoredStats;
pub use store::{JournalStore, KeepReason, LostEvents, Pruned, Retention, StoreFuture};
pub use stored_approval::{ProjectApproval, approval_id};
pub use transcript::{Transcript, TranscriptError};
pub use transfer::{ImportAs, ImportSource};
