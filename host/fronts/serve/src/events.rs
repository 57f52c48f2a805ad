//! The events of a session as server-sent events: those of the journal, and then those that happen.

use crate::{
    Service,
    access::Caller,
    call_words::CallTeller,
    metrics::CountedReader,
    problem::{Problem, ProblemCode},
    runs::{FeedReader, Followed, Follower},
    scope::VisibleSession,
};
use agent_host_engine::{journal::JournalError, stream::StreamLine};
use agent_host_types::id::SessionId;
use axum::{
    extract::{Query, State},
    response::sse::{Event, Sse},
};
use futures_util::{Stream, stream};
use http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// The interval of heartbeats. A reader that misses two of them reconnects. At each the journal is
/// read as well, since another process may write to the session.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The query of a stream of events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The number of the first event to send [default: 0]. The header `Last-Event-ID` has
    /// precedence.
    #[serde(default)]
    from: u64,
}

/// Streams the events of a session.
///
/// An event of the journal is the event `record`, and its `id` is its number, with which a reader
/// resumes. Both have the calls that they start or end in words. What is not in this session's journal (text as it arrives, progress, what its agents
/// do) is the event `live`; the event `heartbeat` follows every 15 s.
pub(crate) async fn events(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    query: Result<Query<EventsQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = session.id();
    let Query(query) = query?;
    let from = match headers.get("last-event-id") {
        None => query.from,
        Some(last) => last
            .to_str()
            .ok()
            .and_then(|last| last.parse::<u64>().ok())
            .ok_or_else(|| Problem::invalid("`Last-Event-ID` is not an event number"))?
            .saturating_add(1),
    };
    if service.readers.is_full() {
        return Err(Problem::new(
            ProblemCode::TooManyReaders,
            "the server has no connection left for another event stream; close one, or raise its limit on open files \
             (`ulimit -n`), half of which are for connections",
        ));
    }
    // One that cannot be read is a problem, and no empty stream.
    let _ = service.store().read(session, from).await?;
    let reader = EventReader::new(&service, session, from);
    let teller = CallTeller::new(&service);
    let next = async |(mut reader, mut teller, caller): (EventReader, CallTeller, Caller)| {
        let event = reader.event(&mut teller, &caller).await?;
        Some((Ok(event), (reader, teller, caller)))
    };
    Ok(Sse::new(stream::unfold((reader, teller, caller), next)))
}

/// A line of a session's events.
#[derive(Debug)]
pub(crate) enum FeedLine {
    /// An event of the journal, or something that is not in this session's journal.
    Known(Arc<StreamLine>),
    /// The text of something that this version does not know.
    Unknown(Arc<str>),
    /// The interval of heartbeats is over.
    Heartbeat,
    /// The events cannot be read any further.
    Failed(JournalError),
}

/// Reads the events of a session.
pub(crate) struct EventReader {
    follower: Follower,
    heartbeat: Interval,
    stop: CancellationToken,
    _counted: CountedReader,
}

impl EventReader {
    pub(crate) fn new(service: &Service, session: SessionId, next: u64) -> Self {
        let follower = Follower::new(service.host.sessions(), &service.runs, session, next);
        Self::of(service, follower)
    }

    /// Creates a reader of a feed that was opened before the event `next` was recorded.
    pub(crate) fn of_feed(
        service: &Service,
        session: SessionId,
        next: u64,
        feed: FeedReader,
    ) -> Self {
        let follower =
            Follower::of_feed(service.host.sessions(), &service.runs, session, next, feed);
        Self::of(service, follower)
    }

    fn of(service: &Service, follower: Follower) -> Self {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            follower,
            heartbeat,
            stop: service.stop.clone(),
            _counted: service.readers.count(),
        }
    }

    /// Returns the next event; `None` ends the response, as does the end of the caller's token.
    async fn event(&mut self, teller: &mut CallTeller, caller: &Caller) -> Option<Event> {
        let line = loop {
            match self.line().await? {
                // What an agent does belongs to another session.
                FeedLine::Known(line) if caller.link().is_some() && !line.path.is_empty() => {}
                FeedLine::Unknown(_) if caller.link().is_some() => {}
                line => break line,
            }
        };
        Some(match line {
            FeedLine::Known(line) => match line.seq() {
                Some(seq) => Event::default().event("record").id(seq.to_string()),
                None => Event::default().event("live"),
            }
            .data(&*teller.json(&line).await),
            FeedLine::Unknown(json) => Event::default().event("live").data(&*json),
            FeedLine::Heartbeat if caller.is_revoked().await => return None,
            FeedLine::Heartbeat => Event::default().event("heartbeat").data("{}"),
            // The client resumes by the number of its last event, and then gets the error.
            FeedLine::Failed(error) => {
                tracing::warn!("an event stream ended: {error}");
                return None;
            }
        })
    }

    /// Returns the next line; `None` if the server ends and there is none, or the reader is too far
    /// behind: it resumes by the number of its last event.
    pub(crate) async fn line(&mut self) -> Option<FeedLine> {
        let next = tokio::select! {
            next = self.follower.next() => Some(next),
            _ = self.heartbeat.tick() => {
                self.follower.read_journal();
                return Some(FeedLine::Heartbeat);
            }
            () = self.stop.cancelled() => None,
        };
        let followed = match next {
            Some(followed) => followed,
            None => self.follower.queued().await,
        };
        match followed {
            Ok(Some(Followed::Line(line))) => Some(FeedLine::Known(line)),
            Ok(Some(Followed::Unknown(json))) => Some(FeedLine::Unknown(json)),
            Ok(Some(Followed::Lagged) | None) => None,
            Err(error) => Some(FeedLine::Failed(error)),
        }
    }
}
