//! The feeds of sessions: the lines of those who watch one.

#[cfg(test)]
mod tests;

use agent_host_engine::stream::StreamLine;
use std::sync::Arc;
use tokio::sync::broadcast;

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
                tracing::warn!("a line of another host is passed on unread: the line {error}");
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
