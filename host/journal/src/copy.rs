//! Sessions as a whole: the parts of forks, exports and imports that are the same in every store.

use crate::error::{Location, StoreError};
use agent_host_engine::{journal::JournalError, session::SessionCopy};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    output::Blob,
};

/// A stored session that is read as a whole.
pub(crate) trait SessionSource {
    /// The session.
    fn session(&self) -> SessionId;

    /// Names the store, for messages.
    fn location(&self) -> &Location;

    /// Returns the number of its durable events.
    fn events(&self) -> Result<u64, JournalError>;

    /// Reads the next durable records from this number on; none behind the last.
    fn page(&self, from: u64) -> Result<Vec<EventRecord>, JournalError>;

    /// Returns the blobs that it refers to, in order.
    fn blobs(&self) -> Result<Vec<Digest>, JournalError>;

    /// Reads one of its blobs.
    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError>;
}

/// A claimed session that is written as a whole: all of it is stored, or nothing.
pub(crate) trait SessionSink {
    /// Adds its next event.
    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError>;

    /// Adds a blob that it refers to.
    fn blob(&mut self, blob: Blob) -> Result<(), JournalError>;
}

/// Iterates over the durable records of a session. After an error there are no more.
pub(crate) fn records(
    source: &dyn SessionSource,
) -> impl Iterator<Item = Result<EventRecord, JournalError>> {
    let mut next = Some(0);
    let mut page = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if page.len() == 0 {
            match source.page(next?) {
                Ok(records) => page = records.into_iter(),
                Err(error) => {
                    next = None;
                    return Some(Err(error));
                }
            }
        }
        let record: EventRecord = page.next()?;
        next = Some(record.seq + 1);
        Some(Ok(record))
    })
}

/// Copies the events of a session into a new one, up to event `at` or all of them. The blobs are left
/// to the store.
pub(crate) fn fork(
    source: &dyn SessionSource,
    into: SessionId,
    at: Option<u64>,
    sink: &mut dyn SessionSink,
) -> Result<(), JournalError> {
    let from = source.session();
    let mut copy = SessionCopy::new(from, into);
    let mut is_end = at.is_none();
    for record in records(source) {
        let record = record?;
        if at.is_some_and(|at| record.seq > at) {
            break;
        }
        is_end = at.is_none()
            || at == Some(record.seq) && matches!(record.event, Event::TurnEnded { .. });
        sink.event(&copy.next(record)?)?;
    }
    if !is_end {
        let at = at.unwrap_or_default();
        return Err(StoreError::NoTurnEnd { session: from, at }.into());
    }
    for record in copy.finish()? {
        sink.event(&record)?;
    }
    Ok(())
}
