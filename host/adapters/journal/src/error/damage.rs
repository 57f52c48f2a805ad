//! The faults of stored sessions, and of events that are to be stored.

use agent_host_types::event::EventError;

/// A fault of a stored session.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// An event between others is absent.
    #[error("event {expected} is missing (the next one is {found})")]
    Gap {
        /// The number of the absent event.
        expected: u64,
        /// The number of the event in its place.
        found: i64,
    },
    /// Events at the end are absent.
    #[error("its last events are missing ({found} of {expected} are left)")]
    Truncated {
        /// The events that are there.
        found: u64,
        /// The events that the session should have.
        expected: u64,
    },
    /// The event of this number does not have its digest.
    #[error("event {0} has changed since it was stored")]
    Changed(u64),
    /// An event is not in its form.
    #[error("event {seq} {source}")]
    Form {
        /// The number of the event.
        seq: i64,
        /// The parser's error.
        source: EventError,
    },
    /// A number of an event is out of its range.
    #[error("event {seq} has an invalid {field}")]
    Range {
        /// The number of the event.
        seq: i64,
        /// The field.
        field: &'static str,
    },
}
