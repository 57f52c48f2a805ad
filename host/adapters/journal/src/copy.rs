//! Sessions as a whole: the parts of forks, exports and imports that are the same in every store.

use crate::{
    error::{Location, StoreError},
    row::EventRow,
    sealed::SealedSession,
};
use agent_host_engine::{
    journal::JournalError,
    session::{CopiedSession, SessionCopy},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    output::Blob,
};
use std::collections::HashMap;

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

    /// Returns the sessions of its agents and of theirs, each after the one that started it.
    fn agents(&self) -> Result<Vec<Box<dyn SessionSource + '_>>, JournalError>;
}

/// Sessions that are written as a whole: all of them are stored, or nothing.
pub(crate) trait SessionSink {
    /// Claims a session that does not exist; what is added from now on belongs to it.
    fn begin(&mut self, session: SessionId) -> Result<(), JournalError>;

    /// Adds its next event.
    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError>;

    /// Adds a blob that it refers to.
    fn blob(&mut self, blob: Blob) -> Result<(), JournalError>;

    /// Takes the session that was added last for one from a sealed file, unless it was here before
    /// and went further.
    fn take_sealed(&mut self, session: SealedSession) -> Result<(), JournalError>;

    /// Adds the blobs to which a session of the same store refers.
    fn blobs_of(&mut self, source: &dyn SessionSource) -> Result<(), JournalError>;
}

/// A sink that keeps nothing, which shows whether a store would take the sessions.
pub(crate) struct TrialSink;

impl SessionSink for TrialSink {
    fn begin(&mut self, _session: SessionId) -> Result<(), JournalError> {
        Ok(())
    }

    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        EventRow::encode(record).map_err(JournalError::corrupt)?;
        Ok(())
    }

    fn blob(&mut self, _blob: Blob) -> Result<(), JournalError> {
        Ok(())
    }

    fn take_sealed(&mut self, _session: SealedSession) -> Result<(), JournalError> {
        Ok(())
    }

    fn blobs_of(&mut self, _source: &dyn SessionSource) -> Result<(), JournalError> {
        Ok(())
    }
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

/// The copies of a session and those of its agents, which are copied after the ones that started
/// them.
#[derive(Default)]
pub(crate) struct Copies {
    /// The copy of each agent's session that a copied one started and that is not copied yet, and
    /// the one that started it.
    started: HashMap<SessionId, (SessionId, CopiedSession)>,
}

impl Copies {
    /// Adds a copy whose records are complete.
    pub(crate) fn add(&mut self, copy: &SessionCopy) {
        let starter = copy.copied();
        let agents = copy.agents().iter();
        self.started
            .extend(agents.map(|(from, into)| (*from, (*into, starter))));
    }

    /// Starts the copy of an agent's session; `None` if no copied session started it, or it was
    /// copied already.
    pub(crate) fn begin(&mut self, from: SessionId) -> Option<(SessionId, SessionCopy)> {
        let (into, starter) = self.started.remove(&from)?;
        Some((into, SessionCopy::of_agent(starter, from, into)))
    }
}

/// Copies a session into a new one, up to event `at` or all of it, with the sessions of the agents
/// that it started until then.
pub(crate) fn fork(
    source: &dyn SessionSource,
    into: SessionId,
    at: Option<u64>,
    by: Option<String>,
    sink: &mut dyn SessionSink,
) -> Result<(), JournalError> {
    let mut copies = Copies::default();
    sink.begin(into)?;
    let mut copy = SessionCopy::new(source.session(), into).by(by);
    copy_events(source, &mut copy, at, sink)?;
    copies.add(&copy);
    for agent in source.agents()? {
        if let Some((into, mut copy)) = copies.begin(agent.session()) {
            sink.begin(into)?;
            copy_events(agent.as_ref(), &mut copy, None, sink)?;
            copies.add(&copy);
        }
    }
    Ok(())
}

/// Copies the events of a session, up to event `at` or all of them, and its blobs.
fn copy_events(
    source: &dyn SessionSource,
    copy: &mut SessionCopy,
    at: Option<u64>,
    sink: &mut dyn SessionSink,
) -> Result<(), JournalError> {
    let from = source.session();
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
    sink.blobs_of(source)
}
