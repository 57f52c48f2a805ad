//! The events of a session as server-sent events: those of the journal, and then those that happen.

use crate::{
    Service,
    problem::Problem,
    routes::{Path, session_id},
    runs::{FeedLine, Runs},
};
use agent_host_journal::JournalStore;
use agent_host_types::{event::EventRecord, id::SessionId};
use axum::{
    extract::{Query, State},
    response::sse::{Event, Sse},
};
use futures_util::{Stream, stream};
use http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

/// The interval of heartbeats. A reader that misses two of them reconnects. At each the journal is
/// read as well, since another process may write to the session.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The query of a stream of events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The number of the first event to send [default: 0]. The header `Last-Event-ID` has precedence.
    #[serde(default)]
    from: u64,
}

/// Streams the events of a session.
///
/// An event of the journal is the event `record`, and its `id` is its number, with which a reader
/// resumes. What is not in this session's journal (text as it arrives, progress, what its agents do)
/// is the event `live`; the event `heartbeat` follows every 15 s.
pub(crate) async fn events(
    State(service): State<Service>,
    Path(session): Path<String>,
    query: Result<Query<EventsQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = session_id(&session)?;
    let Query(query) = query?;
    let from = match headers.get("last-event-id") {
        None => query.from,
        Some(last) => last
            .to_str()
            .ok()
            .and_then(|last| last.parse::<u64>().ok())
            .ok_or_else(|| Problem::invalid("`Last-Event-ID` is no number of an event"))?
            .saturating_add(1),
    };
    // A session that does not exist is a problem, and no empty stream.
    let page = service.host.store().read(session, from).await?;
    let reader = Reader::new(&service, session, from, page);
    Ok(Sse::new(stream::unfold(reader, Reader::next)))
}

/// A line of a session's events.
pub(crate) enum Line {
    /// An event of the journal.
    Record {
        /// Its number.
        seq: u64,
        /// Its JSON.
        json: Arc<str>,
    },
    /// The JSON of something that is not in this session's journal.
    Live(Arc<str>),
    /// The interval of heartbeats is over.
    Heartbeat,
}

/// Reads the events of a session.
pub(crate) struct Reader {
    store: Arc<dyn JournalStore>,
    runs: Arc<Runs>,
    session: SessionId,
    /// The number of the next event to send.
    next: u64,
    /// Events of the journal that are not sent yet.
    page: VecDeque<EventRecord>,
    /// Whether the journal may have more.
    must_read: bool,
    /// Present until the reader is dropped.
    feed: Option<Receiver<FeedLine>>,
    heartbeat: Interval,
    stop: CancellationToken,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The feed is forgotten with its last reader.
        self.feed = None;
        self.runs.forget_unwatched(self.session);
    }
}

impl Reader {
    pub(crate) fn new(
        service: &Service,
        session: SessionId,
        next: u64,
        page: Vec<EventRecord>,
    ) -> Self {
        let feed = service.runs.watch(session);
        let mut reader = Self::of_feed(service, session, next, feed);
        (reader.page, reader.must_read) = (page.into(), true);
        reader
    }

    /// Creates a reader of a feed that was opened before the event `next` was recorded.
    pub(crate) fn of_feed(
        service: &Service,
        session: SessionId,
        next: u64,
        feed: Receiver<FeedLine>,
    ) -> Self {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            store: Arc::clone(service.host.store()),
            runs: Arc::clone(&service.runs),
            session,
            next,
            page: VecDeque::new(),
            must_read: false,
            feed: Some(feed),
            heartbeat,
            stop: service.stop.clone(),
        }
    }

    /// Returns the next event; `None` ends the response.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        let event = match self.line().await? {
            Line::Record { seq, json } => Event::default()
                .event("record")
                .id(seq.to_string())
                .data(&*json),
            Line::Live(json) => Event::default().event("live").data(&*json),
            Line::Heartbeat => Event::default().event("heartbeat").data("{}"),
        };
        Some((Ok(event), self))
    }

    /// Returns the next line; `None` if the server ends, or the reader is too far behind.
    pub(crate) async fn line(&mut self) -> Option<Line> {
        loop {
            if let Some(record) = self.page.pop_front() {
                let json = json!(record).to_string().into();
                return Some(self.recorded(record.seq, json));
            }
            if self.must_read {
                // A reader resumes after an error, and gets it as the answer.
                self.page = self.store.read(self.session, self.next).await.ok()?.into();
                self.must_read = !self.page.is_empty();
                continue;
            }
            let feed = self.feed.as_mut()?;
            let line = tokio::select! {
                line = feed.recv() => line,
                _ = self.heartbeat.tick() => {
                    self.must_read = true;
                    return Some(Line::Heartbeat);
                }
                () = self.stop.cancelled() => return None,
            };
            match line {
                Ok(FeedLine { seq: None, json }) => return Some(Line::Live(json)),
                Ok(FeedLine {
                    seq: Some(seq),
                    json,
                }) if seq == self.next => return Some(self.recorded(seq, json)),
                // One that was sent from the journal.
                Ok(FeedLine { seq: Some(seq), .. }) if seq < self.next => {}
                // Another process wrote in between.
                Ok(_) => self.must_read = true,
                // Too far behind: the reader resumes by the number of its last event.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
            }
        }
    }

    fn recorded(&mut self, seq: u64, json: Arc<str>) -> Line {
        self.next = seq.saturating_add(1);
        Line::Record { seq, json }
    }
}
