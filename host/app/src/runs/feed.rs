//! The feeds of sessions: the lines of those who watch one.

#[cfg(test)]
mod tests;

use super::{Runs, lock};
use agent_host_engine::stream::{LiveLine, StreamContent, StreamLine};
use agent_host_types::id::{CallId, SessionId};
use std::{
    collections::{HashMap, VecDeque},
    mem,
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

/// The most lines of running calls that are kept for readers that come later.
const PRINTED_LINES: usize = 16;

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

/// The feed of a session: its lines, and what readers that come later need of those before.
#[derive(Debug)]
pub struct Feed {
    lines: broadcast::Sender<FeedItem>,
    recent: Mutex<RecentLines>,
    /// Whether it is kept without a reader: an agent of a run works in the session.
    is_held: AtomicBool,
}

/// The content that is in no event yet: the reply of the model that arrives, and the last lines
/// that running calls printed.
#[derive(Clone, Debug, Default)]
struct RecentLines {
    /// The number of the newest event, if one was sent.
    after: Option<u64>,
    text: String,
    reasoning: String,
    /// Whether it is too long, so that nothing of it is kept.
    is_too_long: bool,
    printed: VecDeque<Arc<StreamLine>>,
}

/// A reader of a feed. It gets what is sent from now on.
#[derive(Debug)]
pub struct FeedReader {
    /// The items.
    pub items: broadcast::Receiver<FeedItem>,
    /// The reply that arrives, from its start until now, and the last lines of running calls.
    pub recent: Vec<Arc<StreamLine>>,
    /// The number of the newest event before, if one was sent.
    pub after: Option<u64>,
}

impl Feed {
    fn new() -> Self {
        Self {
            lines: broadcast::Sender::new(FEED_LINES),
            recent: Mutex::default(),
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
        let mut recent = lock(&self.recent);
        recent.take(&item);
        // There may be no reader.
        let _ = self.lines.send(item);
    }

    /// Returns a reader.
    pub fn subscribe(&self) -> FeedReader {
        let recent = lock(&self.recent);
        FeedReader {
            items: self.lines.subscribe(),
            recent: recent.lines(),
            after: recent.after,
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

    /// Forgets a reply that does not arrive any more, and the lines of calls.
    pub(super) fn forget_recent(&self) {
        let mut recent = lock(&self.recent);
        recent.printed.clear();
        recent.clear_reply();
    }
}

impl RecentLines {
    fn clear_reply(&mut self) {
        *self = Self {
            after: self.after,
            printed: mem::take(&mut self.printed),
            ..Self::default()
        };
    }

    /// Keeps more of the reply, unless it is too long.
    fn keep(&mut self, text: &str, is_reasoning: bool) {
        let length = self.text.len() + self.reasoning.len() + text.len();
        if self.is_too_long || length > MAX_REPLY_BYTES {
            self.clear_reply();
            self.is_too_long = true;
        } else if is_reasoning {
            self.reasoning.push_str(text);
        } else {
            self.text.push_str(text);
        }
    }

    /// Keeps lines of a running call, unless they are too long.
    fn keep_printed(&mut self, line: &Arc<StreamLine>) {
        if line.json().len() <= PIECE_BYTES {
            self.printed.push_back(Arc::clone(line));
        }
        if self.printed.len() > PRINTED_LINES {
            self.printed.pop_front();
        }
    }

    /// Forgets the lines of a call that ended.
    fn end_call(&mut self, ended: &CallId) {
        self.printed.retain(|line| match &line.content {
            StreamContent::Live(LiveLine::CallOutput { call_id, .. }) => call_id != ended,
            _ => false,
        });
    }

    /// Keeps the text of an item. While a reply arrives, its session has no event.
    fn take(&mut self, item: &FeedItem) {
        let line = match item {
            FeedItem::Line(line) => line,
            FeedItem::Stored(Some(seq)) => return self.pass(*seq),
            // The ends of calls may be among the lines that were lost.
            FeedItem::Stored(None) => return self.printed.clear(),
            FeedItem::Unknown(_) => return,
        };
        match &line.content {
            _ if !line.path.is_empty() => {}
            StreamContent::Record(record) => {
                if let Some(end) = record.event.call_end() {
                    self.end_call(end.call_id);
                }
                self.pass(record.seq);
            }
            StreamContent::Live(LiveLine::Text { text }) => self.keep(text, false),
            StreamContent::Live(LiveLine::Reasoning { text }) => self.keep(text, true),
            StreamContent::Live(LiveLine::Restarted | LiveLine::ModelAsked) => {
                self.clear_reply();
            }
            StreamContent::Live(LiveLine::CallOutput { .. }) => self.keep_printed(line),
            StreamContent::Live(LiveLine::CallEnded { call_id, .. }) => self.end_call(call_id),
            StreamContent::Live(_) => {}
        }
    }

    fn pass(&mut self, seq: u64) {
        self.after = Some(seq);
        self.clear_reply();
    }

    /// Returns the reply as lines, of which the first one voids what a reader knows of it, and the
    /// lines of calls.
    fn lines(&self) -> Vec<Arc<StreamLine>> {
        let has_reply = !(self.text.is_empty() && self.reasoning.is_empty());
        let reasoning = pieces(&self.reasoning).map(|text| LiveLine::Reasoning { text });
        let text = pieces(&self.text).map(|text| LiveLine::Text { text });
        let restarted = has_reply.then_some(LiveLine::Restarted);
        let reply = restarted.into_iter().chain(reasoning).chain(text);
        reply
            .map(|line| Arc::new(StreamLine::new(StreamContent::Live(line), Arc::default())))
            .chain(self.printed.iter().cloned())
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
    /// Returns the lines of a session from now on, and the recent ones that are in no event.
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
