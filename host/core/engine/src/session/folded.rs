//! The records of a session in their folded form: all that the next turn needs of them.

#[cfg(test)]
mod tests;

use super::SessionState;
use crate::{
    flow::{FlowState, RunFiles},
    journal::{Journal, JournalError},
};
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
};

/// The records of a session up to one of them, folded.
///
/// A process that keeps it after a run ([`super::Session::into_folded`]) resumes the session without
/// reading those records again ([`super::Session::resume_from`]).
#[derive(Clone, Debug)]
pub struct FoldedSession {
    session: SessionId,
    state: SessionState,
    next_seq: u64,
    /// The position of the start of the last workflow.
    workflow_start: u64,
    /// The time of the first record, in milliseconds since 1970.
    started_ms: u64,
    /// The last record, as the journal has it, once the session is given up.
    last: Option<EventRecord>,
}

impl FoldedSession {
    /// Creates the form of no records.
    pub(super) fn new(session: SessionId, run: RunFiles) -> Self {
        let mut state = SessionState::default();
        state.flow = FlowState::within(run);
        Self {
            session,
            state,
            next_seq: 0,
            workflow_start: 0,
            started_ms: 0,
            last: None,
        }
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns an estimate of the memory that it takes, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.state.memory_bytes()
    }

    pub(super) fn state(&self) -> &SessionState {
        &self.state
    }

    pub(super) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    pub(super) fn workflow_start(&self) -> u64 {
        self.workflow_start
    }

    pub(super) fn started_ms(&self) -> u64 {
        self.started_ms
    }

    /// Adds the next record.
    pub(super) fn add(&mut self, record: &EventRecord) {
        if self.next_seq == 0 {
            self.started_ms = record.at_ms;
        }
        self.state.apply(&record.event);
        if let Event::WorkflowStarted { .. } = record.event {
            self.workflow_start = self.next_seq;
        }
        self.next_seq += 1;
    }

    /// Adds the records of a journal that follow.
    pub(super) async fn follow(&mut self, journal: &dyn Journal) -> Result<(), JournalError> {
        let mut page = journal.records(self.next_seq).await?;
        while !page.is_empty() {
            let follow = async {
                for record in &page {
                    check_record(record, self.next_seq, self.session)?;
                    self.add(record);
                }
                Ok::<_, JournalError>(())
            };
            // Reads the next page while this one is folded.
            let behind = page.last().map_or(0, |last| last.seq.saturating_add(1));
            let (next, followed) = tokio::join!(journal.records(behind), follow);
            followed?;
            page = next?;
        }
        match self.next_seq {
            0 => Err(JournalError::not_found(format!(
                "session {} has no events",
                self.session
            ))),
            _ => Ok(()),
        }
    }

    /// Keeps the last record of the journal that it was folded from. Returns whether it has one.
    pub(super) async fn read_last(&mut self, journal: &dyn Journal) -> bool {
        let Some(last) = self.next_seq.checked_sub(1) else {
            return false;
        };
        let page = journal.records(last).await.unwrap_or_default();
        self.last = page.into_iter().find(|record| record.seq == last);
        self.last.is_some()
    }

    /// Whether a journal has the last record at its position: one that was restored from a backup,
    /// or deleted and begun again under the same key, has another.
    pub(super) async fn is_of(&self, journal: &dyn Journal) -> Result<bool, JournalError> {
        let Some(last) = &self.last else {
            return Ok(false);
        };
        let page = journal.records(last.seq).await?;
        Ok(page.first() == Some(last))
    }
}

/// Checks that a record is in order and has the supported version: a newer form may hold facts that
/// this program would lose.
pub(super) fn check_record(
    record: &EventRecord,
    place: u64,
    session: SessionId,
) -> Result<(), JournalError> {
    if record.v != EVENT_VERSION {
        return Err(JournalError::corrupt(format!(
            "record {place} of session {session} has version {}, and this program reads version {EVENT_VERSION}; \
             open the session with the program that wrote it",
            record.v
        )));
    }
    if record.seq != place || record.session != session {
        return Err(JournalError::corrupt(format!(
            "record {} of session {} is at position {place} of session {session}; records are missing or mixed up; \
             restore the session from a backup",
            record.seq, record.session
        )));
    }
    Ok(())
}
