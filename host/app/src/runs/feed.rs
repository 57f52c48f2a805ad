//! The feeds of sessions: the lines of those who watch one.

#[cfg(test)]
mod tests;

use super::{Runs, lock};
use agent_host_engine::stream::StreamLine;
use agent_host_types::id::SessionId;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::broadcast;

/// The most lines that a reader may be behind a running session before it is dropped. It resumes by
/// the number of its last event.
const FEED_LINES: usize = 1024;

/// The feeds of the sessions that run or are watched.
pub(super) type Feeds = HashMap<SessionId, broadcast::Sender<FeedItem>>;

/// An item of a feed.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// A line.
    Line(Arc<StreamLine>),
    /// The text of a line that another host runs and only a newer version knows. Clients of the
    /// event stream get it as it is: they may know it, and ignore it if not. Fronts that translate
    /// lines leave it out, as a gap: what it was of a reply, the journal has in the end.
    Unknown(Arc<str>),
    /// The journal has another event, which is read there: another host runs the session.
    Stored,
}

impl FeedItem {
    /// Reads a line that another host wrote.
    pub(super) fn from_json(json: Arc<str>) -> Self {
        match StreamLine::from_json(Arc::clone(&json)) {
            Ok(line) => Self::Line(Arc::new(line)),
            Err(error) => {
                tracing::warn!(
                    "a line from another host is passed on without checking: the line {error}"
                );
                Self::Unknown(json)
            }
        }
    }
}

/// Sends a line to those who watch a session, and returns the number of its event.
pub fn publish(feed: &broadcast::Sender<FeedItem>, line: Arc<StreamLine>) -> Option<u64> {
    let seq = line.seq();
    // There may be no reader.
    let _ = feed.send(FeedItem::Line(line));
    seq
}

impl Runs {
    /// Returns the lines of a session from now on.
    pub fn watch(&self, session: SessionId) -> broadcast::Receiver<FeedItem> {
        // Subscribed under the lock: a feed without a reader is forgotten.
        let receiver = feed_of(&mut lock(&self.feeds), session).subscribe();
        if !self.is_running(session) {
            self.relays.look.notify_one();
        }
        receiver
    }

    /// Removes the feed of a session that no one watches and that does not run.
    pub fn forget_unwatched(&self, session: SessionId) {
        let mut feeds = lock(&self.feeds);
        let is_unwatched = feeds
            .get(&session)
            .is_some_and(|feed| feed.receiver_count() == 0);
        if is_unwatched && !self.is_running(session) {
            feeds.remove(&session);
        }
    }

    /// Returns the feed of a session, which [`Self::forget_unwatched`] removes.
    pub fn feed(&self, session: SessionId) -> broadcast::Sender<FeedItem> {
        feed_of(&mut lock(&self.feeds), session).clone()
    }
}

fn feed_of(feeds: &mut Feeds, session: SessionId) -> &broadcast::Sender<FeedItem> {
    let feed = feeds.entry(session);
    feed.or_insert_with(|| broadcast::Sender::new(FEED_LINES))
}
