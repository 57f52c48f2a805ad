//! The events of a session that a store finds by an index, without reading the others.

use crate::store::JournalStore;
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
};

/// The metadata of a message with the digest of the idempotency key under which it was sent.
pub const MESSAGE_KEY: &str = "idempotency-key";

/// The number of events that are read first to look back from one; each further look goes back this
/// many times as far.
const LOOK_BACK: u64 = 16;

/// Events of a session that are found without reading the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundEvents {
    /// Those by which the artifacts of a session change, and a few more.
    OfArtifacts,
    /// The inputs that were sent under a key: messages, of which it is the metadata
    /// [`MESSAGE_KEY`], and [`Event::KeyTaken`] beside any other.
    InputsOf(String),
}

impl FoundEvents {
    /// Whether an event is one of them.
    #[must_use]
    pub fn has(&self, event: &Event) -> bool {
        match (self, event) {
            (
                Self::OfArtifacts,
                Event::ArtifactStored { .. }
                | Event::ArtifactDeleted { .. }
                | Event::ResultsReferenced { .. }
                | Event::CallSettled { .. }
                | Event::NodeSettled { .. },
            ) => true,
            (Self::InputsOf(key), Event::InputReceived { message, .. }) => {
                let known = message.metadata.get(MESSAGE_KEY);
                known.is_some_and(|known| known == key)
            }
            (Self::InputsOf(key), Event::KeyTaken { key: known, .. }) => known == key,
            _ => false,
        }
    }
}

impl dyn JournalStore + '_ {
    /// Passes the durable records of a session that are found to `each`, in order, in the memory of
    /// one page.
    ///
    /// # Errors
    /// As for [`JournalStore::read`].
    pub async fn for_each_found(
        &self,
        session: SessionId,
        which: FoundEvents,
        mut each: impl FnMut(EventRecord),
    ) -> Result<(), JournalError> {
        let mut next = 0;
        loop {
            let page = self.read_found(session, which.clone(), next).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            next = last.seq.saturating_add(1);
            page.into_iter()
                .filter(|record| which.has(&record.event))
                .for_each(&mut each);
        }
    }

    /// Returns the last durable record of a session before number `below` whose event is wanted. It is
    /// looked for from number `near` on, and then further and further back.
    ///
    /// # Errors
    /// As for [`JournalStore::read`].
    pub async fn last_record(
        &self,
        session: SessionId,
        near: u64,
        below: u64,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Option<EventRecord>, JournalError> {
        let (mut back, mut below) = (LOOK_BACK, below);
        loop {
            let first = near.saturating_sub(back);
            let (mut next, mut found) = (first, None);
            while next < below {
                let page = self.read(session, next).await?;
                let Some(last) = page.last() else {
                    break;
                };
                next = last.seq.saturating_add(1);
                let mut before = page.into_iter().rev().filter(|record| record.seq < below);
                found = before.find(|record| wanted(&record.event)).or(found);
            }
            if found.is_some() || first == 0 {
                return Ok(found);
            }
            (back, below) = (back.saturating_mul(LOOK_BACK), below.min(first));
        }
    }
}
