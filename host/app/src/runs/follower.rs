//! A reader of a session, by its journal and by what happens in this process.

#[cfg(test)]
mod tests;

use super::{FeedItem, FeedReader, Runs};
use crate::Sessions;
use agent_host_engine::{
    journal::JournalError,
    stream::{LiveLine, StreamContent, StreamLine},
};
use agent_host_journal::JournalStore;
use agent_host_types::{event::EventRecord, id::SessionId};
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

/// The next message to a follower of a session.
#[derive(Clone, Debug)]
pub enum Followed {
    /// A line.
    Line(Arc<StreamLine>),
    /// The text of a line that this version does not know ([`FeedItem::Unknown`]).
    Unknown(Arc<str>),
    /// The follower was too far behind, and what is not in the journal is lost.
    Lagged,
}

/// Follows a session: the events of its journal, each once and in order, and between them what
/// happens while it runs.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn JournalStore>,
    runs: Arc<Runs>,
    session: SessionId,
    /// The number of the next event.
    next: u64,
    /// Events of the journal that were not returned yet.
    page: VecDeque<EventRecord>,
    /// Whether the journal may have more.
    must_read: bool,
    /// The lines of before the follower came that are in no event, and were not returned yet.
    recent: VecDeque<Arc<StreamLine>>,
    /// The number of the newest event that passed in the feed, if one did.
    fed: Option<u64>,
    /// Present until the follower is dropped.
    feed: Option<broadcast::Receiver<FeedItem>>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The feed is forgotten with its last reader.
        self.feed = None;
        self.runs.forget_unwatched(self.session);
    }
}

impl Follower {
    /// Follows a session from an event on.
    #[must_use]
    pub fn new(sessions: &Sessions, runs: &Arc<Runs>, session: SessionId, next: u64) -> Self {
        let feed = runs.watch(session);
        let mut follower = Self::of_feed(sessions, runs, session, next, feed);
        follower.must_read = true;
        follower
    }

    /// Follows a session by a feed that was opened before the event `next` was recorded.
    #[must_use]
    pub fn of_feed(
        sessions: &Sessions,
        runs: &Arc<Runs>,
        session: SessionId,
        next: u64,
        feed: FeedReader,
    ) -> Self {
        let FeedReader {
            items,
            recent,
            after,
        } = feed;
        Self {
            store: Arc::clone(sessions.store()),
            runs: Arc::clone(runs),
            session,
            next,
            page: VecDeque::new(),
            must_read: false,
            recent: recent.into(),
            fed: after,
            feed: Some(items),
        }
    }

    /// Returns the number of the next event.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Has the journal read before the next line, since another process may write to it.
    pub fn read_journal(&mut self) {
        self.must_read = true;
    }

    /// Waits for the next line. Cancel safe.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn next(&mut self) -> Result<Option<Followed>, JournalError> {
        loop {
            if let Some(line) = self.stored().await? {
                return Ok(Some(line));
            }
            let Some(feed) = &mut self.feed else {
                return Ok(None);
            };
            match feed.recv().await {
                Ok(item) => {
                    if let Some(line) = self.admit(item) {
                        return Ok(Some(line));
                    }
                }
                Err(RecvError::Lagged(_)) => return Ok(Some(self.lagged())),
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    /// Returns the next line if there is one: after the end of a run, what is left of it.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn queued(&mut self) -> Result<Option<Followed>, JournalError> {
        loop {
            if let Some(line) = self.stored().await? {
                return Ok(Some(line));
            }
            let Some(feed) = &mut self.feed else {
                return Ok(None);
            };
            match feed.try_recv() {
                Ok(item) => {
                    if let Some(line) = self.admit(item) {
                        return Ok(Some(line));
                    }
                }
                Err(TryRecvError::Lagged(_)) => return Ok(Some(self.lagged())),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(None),
            }
        }
    }

    /// Returns the next event that is read from the journal, and behind the last one what had
    /// arrived of a reply and of the output of calls.
    async fn stored(&mut self) -> Result<Option<Followed>, JournalError> {
        loop {
            if let Some(record) = self.page.pop_front() {
                self.next = record.seq.saturating_add(1);
                let content = StreamContent::Record(Arc::new(record));
                let line = Arc::new(StreamLine::new(content, Arc::default()));
                return Ok(Some(Followed::Line(line)));
            }
            if !self.must_read {
                if self.is_ahead() {
                    self.recent.retain(|line| !is_of_reply(line));
                }
                return Ok(self.recent.pop_front().map(Followed::Line));
            }
            self.page = match self.store.read(self.session, self.next).await {
                Ok(page) => page.into(),
                // A session is in the journal with its first durable event.
                Err(JournalError::NotFound(_)) if self.next == 0 => VecDeque::new(),
                Err(error) => return Err(error),
            };
            self.must_read = !self.page.is_empty();
        }
    }

    /// Returns a line of the feed, unless it was returned before or an event is missing before it.
    fn admit(&mut self, item: FeedItem) -> Option<Followed> {
        let line = match item {
            FeedItem::Line(line) => line,
            FeedItem::Unknown(json) => return Some(Followed::Unknown(json)),
            FeedItem::Stored(seq) => {
                self.fed = seq.or(self.fed);
                self.must_read = true;
                return None;
            }
        };
        let seq = line.seq();
        self.fed = seq.or(self.fed);
        match seq {
            Some(seq) if seq < self.next => return None,
            Some(seq) if seq > self.next => {
                // Another process wrote in between.
                self.must_read = true;
                return None;
            }
            Some(seq) => self.next = seq.saturating_add(1),
            // The journal had the whole reply already.
            None if is_of_reply(&line) && self.is_ahead() => return None,
            None => {}
        }
        Some(Followed::Line(line))
    }

    /// Whether events were returned that have not passed in the feed.
    fn is_ahead(&self) -> bool {
        self.fed
            .is_some_and(|fed| fed.saturating_add(1) < self.next)
    }

    fn lagged(&mut self) -> Followed {
        self.must_read = true;
        // The events among the lost lines are not known.
        self.fed = None;
        Followed::Lagged
    }
}

/// Whether a line is a part of a reply of the session's own model.
fn is_of_reply(line: &StreamLine) -> bool {
    let is_text = matches!(
        line.content,
        StreamContent::Live(
            LiveLine::Text { .. } | LiveLine::Reasoning { .. } | LiveLine::Restarted
        )
    );
    is_text && line.path.is_empty()
}
