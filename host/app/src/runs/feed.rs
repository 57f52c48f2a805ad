//! The feeds of sessions: the lines of those who watch one.

#[cfg(test)]
mod tests;

use super::{Runs, lock};
use agent_host_engine::stream::{LiveLine, StreamContent, StreamLine};
use agent_host_types::id::SessionId;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::broadcast;

/// The most lines that a reader may be behind a running session before it is dropped. It resumes by
/// the number of its last event.
const FEED_LINES: usize = 1024;

/// The longest text of a reply that is kept for readers that come while it arrives, in bytes. One
/// that is longer is told from then on, and is whole in its event.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The bytes of a line with text that was kept. A relay between hosts takes no longer ones.
const PIECE_BYTES: usize = 2_000;

/// The feeds of the sessions that run or are watched.
pub(super) type Feeds = HashMap<SessionId, Arc<Feed>>;

/// An item of a feed.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// A line.
    Line(Arc<StreamLine>),
    /// The text of a line that another host runs and only a newer version knows. Clients of the
    /// event stream get it as it is: they may know it, and ignore it if not. Fronts that translate
    /// lines leave it out, as a gap: what it was of a reply, the journal has in the end.
    Unknown(Arc<str>),
    /// The journal has another event, which is read there: another host runs the session. Has its
    /// number, if that is known.
    Stored(Option<u64>),
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

/// The feed of a session: its lines, and the reply that arrives.
#[derive(Debug)]
pub struct Feed {
    lines: broadcast::Sender<FeedItem>,
    arriving: Mutex<ArrivingReply>,
    /// Whether it is kept without a reader: an agent of a run works in the session.
    is_held: AtomicBool,
}

/// The reply of the model that arrives: its event is not in the journal yet.
#[derive(Clone, Debug, Default)]
struct ArrivingReply {
    /// The number of the newest event, if one was sent.
    after: Option<u64>,
    text: String,
    reasoning: String,
    /// Whether it is too long, so that nothing of it is kept.
    is_too_long: bool,
}

/// A reader of a feed. It gets what is sent from now on.
#[derive(Debug)]
pub struct FeedReader {
    /// The items.
    pub items: broadcast::Receiver<FeedItem>,
    /// The reply that arrives, from its start until now.
    pub reply: Vec<Arc<StreamLine>>,
    /// The number of the newest event before, if one was sent.
    pub after: Option<u64>,
}

impl Feed {
    fn new() -> Self {
        Self {
            lines: broadcast::Sender::new(FEED_LINES),
            arriving: Mutex::default(),
            is_held: AtomicBool::new(false),
        }
    }

    /// Sends a line to those who watch the session, and returns the number of its event.
    pub fn publish(&self, line: Arc<StreamLine>) -> Option<u64> {
        let seq = line.seq();
        self.send(FeedItem::Line(line));
        seq
    }

    /// Sends an item to those who watch the session.
    pub fn send(&self, item: FeedItem) {
        // Sent under the lock, so that a new reader gets each text either here or there.
        let mut arriving = lock(&self.arriving);
        arriving.take(&item);
        // There may be no reader.
        let _ = self.lines.send(item);
    }

    /// Returns a reader.
    pub fn subscribe(&self) -> FeedReader {
        let arriving = lock(&self.arriving);
        FeedReader {
            items: self.lines.subscribe(),
            reply: arriving.lines(),
            after: arriving.after,
        }
    }

    /// Returns the number of readers.
    pub fn reader_count(&self) -> usize {
        self.lines.receiver_count()
    }

    /// Lets the feed be forgotten without a reader.
    pub(super) fn release(&self) {
        self.is_held.store(false, Ordering::Relaxed);
    }

    /// Forgets a reply that does not arrive any more.
    pub(super) fn end_reply(&self) {
        lock(&self.arriving).clear();
    }
}

impl ArrivingReply {
    fn clear(&mut self) {
        *self = Self {
            after: self.after,
            ..Self::default()
        };
    }

    /// Keeps more of the reply, unless it is too long.
    fn keep(&mut self, text: &str, is_reasoning: bool) {
        let length = self.text.len() + self.reasoning.len() + text.len();
        if self.is_too_long || length > MAX_REPLY_BYTES {
            self.clear();
            self.is_too_long = true;
        } else if is_reasoning {
            self.reasoning.push_str(text);
        } else {
            self.text.push_str(text);
        }
    }

    /// Keeps the text of an item. While a reply arrives, its session has no event.
    fn take(&mut self, item: &FeedItem) {
        let line = match item {
            FeedItem::Line(line) => line,
            FeedItem::Stored(Some(seq)) => return self.pass(*seq),
            FeedItem::Stored(None) | FeedItem::Unknown(_) => return,
        };
        match &line.content {
            _ if !line.path.is_empty() => {}
            StreamContent::Record(record) => self.pass(record.seq),
            StreamContent::Live(LiveLine::Text { text }) => self.keep(text, false),
            StreamContent::Live(LiveLine::Reasoning { text }) => self.keep(text, true),
            StreamContent::Live(LiveLine::Restarted | LiveLine::ModelAsked) => self.clear(),
            StreamContent::Live(_) => {}
        }
    }

    fn pass(&mut self, seq: u64) {
        self.after = Some(seq);
        self.clear();
    }

    /// Returns the reply as lines; the first one voids what a reader knows of it.
    fn lines(&self) -> Vec<Arc<StreamLine>> {
        if self.text.is_empty() && self.reasoning.is_empty() {
            return Vec::new();
        }
        let reasoning = pieces(&self.reasoning).map(|text| LiveLine::Reasoning { text });
        let text = pieces(&self.text).map(|text| LiveLine::Text { text });
        let lines = [LiveLine::Restarted]
            .into_iter()
            .chain(reasoning)
            .chain(text);
        lines
            .map(|line| Arc::new(StreamLine::new(StreamContent::Live(line), Arc::default())))
            .collect()
    }
}

/// Splits a text into pieces of about [`PIECE_BYTES`].
fn pieces(mut text: &str) -> impl Iterator<Item = Arc<str>> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
        text = rest;
        (!piece.is_empty()).then(|| piece.into())
    })
}

impl Runs {
    /// Returns the lines of a session from now on, and the reply that arrives.
    pub fn watch(&self, session: SessionId) -> FeedReader {
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
            .is_some_and(|feed| feed.reader_count() == 0 && !feed.is_held.load(Ordering::Relaxed));
        if is_unwatched && !self.is_running(session) {
            feeds.remove(&session);
        }
    }

    /// Whether a session is one of an agent that works here.
    pub(super) fn is_held(&self, session: SessionId) -> bool {
        let feeds = lock(&self.feeds);
        let feed = feeds.get(&session);
        feed.is_some_and(|feed| feed.is_held.load(Ordering::Relaxed))
    }

    /// Returns the feed of an agent's session, which is kept until [`Feed::release`].
    pub(super) fn hold_feed(&self, session: SessionId) -> Arc<Feed> {
        let mut feeds = lock(&self.feeds);
        let feed = feed_of(&mut feeds, session);
        feed.is_held.store(true, Ordering::Relaxed);
        Arc::clone(feed)
    }

    /// Returns the feed of a session, which [`Self::forget_unwatched`] removes.
    pub fn feed(&self, session: SessionId) -> Arc<Feed> {
        Arc::clone(feed_of(&mut lock(&self.feeds), session))
    }
}

fn feed_of(feeds: &mut Feeds, session: SessionId) -> &Arc<Feed> {
    let feed = feeds.entry(session);
    feed.or_insert_with(|| Arc::new(Feed::new()))
}
