//! The feeds of sessions: the lines of those who watch one.

use agent_host_engine::stream::{StreamContent, StreamLine};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::broadcast;

/// An item of a feed.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// A line.
    Line(FeedLine),
    /// The journal has another event, which is read there: another host runs the session.
    Stored,
}

/// A line of a feed.
#[derive(Clone, Debug)]
pub struct FeedLine {
    /// The number of the event; absent for what is not an event of this session's journal.
    pub seq: Option<u64>,
    /// The JSON of the line.
    pub json: Arc<str>,
}

/// Sends a line to those who watch a session, and returns the number of its event.
pub fn publish(feed: &broadcast::Sender<FeedItem>, line: &StreamLine<'_>) -> Option<u64> {
    let seq = match line.content {
        StreamContent::Record(record) if line.path.is_empty() => Some(record.seq),
        StreamContent::Record(_) | StreamContent::Live(_) => None,
    };
    let json = json!(line).to_string().into();
    // There may be no reader.
    let _ = feed.send(FeedItem::Line(FeedLine { seq, json }));
    seq
}
