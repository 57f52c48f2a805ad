//! Stored events: their place in the session, and the versions of their form.

use super::Event;
use crate::id::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the stored JSON form. Adding a field or a kind increments it, so that an older
/// program refuses records that it would misread.
pub const EVENT_VERSION: u32 = 13;

/// An event with its position in the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// The form's version, [`EVENT_VERSION`].
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// The position in the session, from 0, without gaps.
    pub seq: u64,
    /// The time, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The event.
    pub event: Event,
}

/// An error of reading a stored event. The messages follow "event 3 of the session".
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// Written by a newer version of the program.
    #[error(
        "has version {0}, and this program reads versions up to {EVENT_VERSION}; use the version of agent-host that \
         wrote it, probably a newer one"
    )]
    Newer(u32),
    /// Not in the form that this version writes.
    #[error("does not match its format ({0})")]
    Form(#[from] serde_json::Error),
}

impl Event {
    /// Reads the JSON form that a program of version `v` wrote.
    ///
    /// # Errors
    /// See [`EventError`].
    pub fn from_stored(v: u32, json: &[u8]) -> Result<Self, EventError> {
        match v {
            0..=EVENT_VERSION => Ok(serde_json::from_slice(json)?),
            _ => Err(EventError::Newer(v)),
        }
    }
}
