//! The journal on SQLite: the events of every session, their blobs, and the lock that lets one process write to a session.
//!
//! This room stores and reads back. It never interprets a session beyond the few columns that [`Store::list`] shows, never
//! changes an event, removes sessions only as a whole, and never runs anything.

mod chain;
mod database;
mod fault;
mod folder;
mod journal;
mod key;
mod lock;
mod migrate;
#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;
mod prune;
mod read;
mod row;
mod store;
#[cfg(test)]
mod tests;
mod transfer;
mod whole;
mod writer;

pub use journal::SqliteJournal;
pub use prune::{Keep, KeptBecause, Pruned};
pub use read::{Records, SessionRow};
pub use store::{LostEvents, Store, StoreOptions};
