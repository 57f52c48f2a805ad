//! The care of whole stores: their check, and the move of all sessions from one to another.

mod check;
mod moving;

pub use check::{SessionCheck, check, check_rest};
pub use moving::{MoveError, MoveStep, Moved, move_sessions};

use crate::{
    sealed::SealedSession,
    signature::UnsignedRow,
    store::{JournalStore, StoreFuture},
};
use agent_host_types::id::SessionId;

/// The operations of an operator on a store, beside those of hosts.
pub trait Maintenance: JournalStore {
    /// Returns what names this store and no other, as "the file /var/lib/agent-host/agent-host.db".
    fn identity(&self) -> StoreFuture<'_, String>;

    /// Returns the rows that belong to nothing, as sentences.
    fn orphans(&self) -> StoreFuture<'_, Vec<String>>;

    /// Returns the rows that confer authority and that no host of this store wrote as they are: the
    /// store treats them as absent.
    fn unsigned(&self) -> StoreFuture<'_, Vec<UnsignedRow>>;

    /// Removes rows that [`Maintenance::unsigned`] returned, and returns how many are gone. Those of
    /// sessions stay, and one that a host has written anew since.
    fn remove_unsigned(&self, rows: Vec<UnsignedRow>) -> StoreFuture<'_, u64>;

    /// Claims a session and those of its agents for the move to the store with the identity `to`,
    /// and returns them, the first one first. The claim outlives this process: nothing else may
    /// claim them until they are removed or released. One that is held for the same move stays so.
    ///
    /// # Errors
    /// [`JournalError::Locked`](agent_host_engine::journal::JournalError::Locked), or an unfinished
    /// move took it to another store.
    fn hold(&self, session: SessionId, to: String) -> StoreFuture<'_, Vec<SessionId>>;

    /// Releases a session that is held, with those of its agents.
    fn release_held(&self, session: SessionId) -> StoreFuture<'_, ()>;

    /// Removes a session that is held, with those of its agents.
    fn remove_held(&self, session: SessionId) -> StoreFuture<'_, ()>;

    /// Forgets the holds of sessions that are gone.
    fn forget_moved(&self) -> StoreFuture<'_, ()>;

    /// Takes the key that signs continuations over from another store, if this one has no session;
    /// true if both have the same key now. Hosts of this store that run keep the one before.
    fn adopt_continuation_key(&self, key: [u8; 32]) -> StoreFuture<'_, bool>;

    /// Returns the sessions that left or came sealed, and how far they went here.
    fn sealed_sessions(&self) -> StoreFuture<'_, Vec<SealedSession>>;

    /// Remembers what another store knows of sealed sessions.
    fn adopt_sealed_sessions(&self, sessions: Vec<SealedSession>) -> StoreFuture<'_, ()>;

    /// Returns the store.
    fn as_store(&self) -> &dyn JournalStore;
}

/// A session whose number of events is wrong; each database has its own query.
pub(crate) const WRONG_NUMBER: &str = "a session whose event count is wrong";

/// The rows that belong to nothing, in both databases: what they are, and the query of their names.
pub(crate) const ORPHANS: [(&str, &str); 4] = [
    (
        "a blob that no session refers to",
        "SELECT digest FROM blobs WHERE NOT EXISTS
            (SELECT 1 FROM blob_references AS r WHERE r.digest = blobs.digest) ORDER BY digest",
    ),
    (
        "a reference to a blob that does not exist",
        "SELECT session || ' to ' || digest FROM blob_references AS r WHERE NOT EXISTS
            (SELECT 1 FROM blobs WHERE blobs.digest = r.digest) ORDER BY session, digest",
    ),
    (
        "a reference of a session that does not exist",
        "SELECT session || ' to ' || digest FROM blob_references AS r WHERE NOT EXISTS
            (SELECT 1 FROM sessions WHERE sessions.id = r.session) ORDER BY session, digest",
    ),
    (
        "events of a session that does not exist",
        "SELECT DISTINCT session FROM events AS e WHERE NOT EXISTS
            (SELECT 1 FROM sessions WHERE sessions.id = e.session) ORDER BY session",
    ),
];
