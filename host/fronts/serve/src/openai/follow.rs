//! A run as it happens.

#[cfg(test)]
mod tests;

use super::ids::RunId;
use crate::{
    Service,
    access::Caller,
    events::{EventReader, FeedLine},
    runs::{FeedReader, Runs},
};
use agent_host_engine::stream::StreamContent;
use agent_host_types::{event::Event, id::SessionId};
use std::sync::Arc;

/// Follows a run.
pub(super) struct Follow {
    service: Service,
    run: RunId,
    reader: EventReader,
    /// The number of the next event.
    next: u64,
    /// Whether text is taken as it arrives. If not, the journal alone has it.
    is_live: bool,
    /// Whether text was lost since the last event.
    has_gap: bool,
    /// Whether the last event ended a turn.
    has_ended_turn: bool,
    /// The client; the response ends with its token.
    caller: Caller,
    cancel: Option<CancelOnDrop>,
}

/// Cancels the run of a response that no one can read any more.
pub(super) struct CancelOnDrop {
    runs: Arc<Runs>,
    session: SessionId,
    /// The client.
    by: String,
    is_armed: bool,
}

impl CancelOnDrop {
    pub(super) fn new(runs: &Arc<Runs>, session: SessionId, by: String) -> Self {
        Self {
            runs: Arc::clone(runs),
            session,
            by,
            is_armed: true,
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.is_armed {
            self.runs.cancel(self.session, Some(self.by.clone()));
        }
    }
}

impl Follow {
    /// Follows a run from its first event, by a feed that was opened before.
    pub(super) fn of_feed(
        service: &Service,
        run: RunId,
        feed: FeedReader,
        caller: Caller,
        cancel: Option<CancelOnDrop>,
    ) -> Self {
        let reader = EventReader::of_feed(service, run.session, run.seq, feed);
        Self {
            is_live: true,
            cancel,
            ..Self::new(service, run, reader, caller)
        }
    }

    /// Follows a run that began before, by its events alone.
    pub(super) fn of_journal(service: &Service, run: RunId, caller: Caller) -> Self {
        let reader = EventReader::new(service, run.session, run.seq);
        Self::new(service, run, reader, caller)
    }

    fn new(service: &Service, run: RunId, reader: EventReader, caller: Caller) -> Self {
        Self {
            caller,
            reader,
            service: service.clone(),
            run,
            next: run.seq,
            cancel: None,
            is_live: false,
            has_gap: false,
            has_ended_turn: false,
        }
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    /// Lets the run be, which has ended.
    pub(super) fn end(&mut self) {
        if let Some(cancel) = self.cancel.as_mut() {
            cancel.is_armed = false;
        }
    }

    /// Returns what happens next, and a heartbeat if nothing does for a while; `None` if the run is
    /// over without an end in the journal, the server ends, or the client's token was revoked.
    pub(super) async fn next(&mut self) -> Option<FeedLine> {
        // A server that ends starts no further turn.
        if self.has_ended_turn && !self.service.runs.is_open() {
            return None;
        }
        loop {
            let Some(line) = self.reader.line().await else {
                if self.service.stop.is_cancelled() {
                    return None;
                }
                // Too far behind: what was missed is in the journal, except for the text so far.
                self.has_gap = true;
                self.reader = EventReader::new(&self.service, self.run.session, self.next);
                continue;
            };
            match line {
                FeedLine::Known(line) if line.path.is_empty() => match &line.content {
                    StreamContent::Record(record) => {
                        self.next = record.seq.saturating_add(1);
                        self.has_gap = false;
                        self.has_ended_turn = matches!(record.event, Event::TurnEnded { .. });
                        return Some(FeedLine::Known(line));
                    }
                    StreamContent::Live(_) if self.is_live && !self.has_gap => {
                        return Some(FeedLine::Known(line));
                    }
                    StreamContent::Live(_) => {}
                },
                // What an agent says is the result of the call that started it.
                FeedLine::Known(_) => {}
                // It may have been text.
                FeedLine::Unknown(_) => self.has_gap = true,
                FeedLine::Failed(error) => return Some(FeedLine::Failed(error)),
                FeedLine::Heartbeat if self.caller.is_revoked().await => {
                    // As that of a client that hangs up.
                    drop(self.cancel.take());
                    return None;
                }
                FeedLine::Heartbeat => {
                    let runs = &self.service.runs;
                    return match runs.is_running_anywhere(self.run.session).await {
                        true => Some(FeedLine::Heartbeat),
                        false => self.rest().await,
                    };
                }
            }
        }
    }

    /// Returns an event that was recorded just before the run ended.
    async fn rest(&mut self) -> Option<FeedLine> {
        let store = self.service.store();
        match store.read(self.run.session, self.next).await {
            Ok(page) if page.is_empty() => return None,
            Ok(_) => {}
            Err(error) => return Some(FeedLine::Failed(error)),
        }
        self.reader = EventReader::new(&self.service, self.run.session, self.next);
        Some(FeedLine::Heartbeat)
    }
}
