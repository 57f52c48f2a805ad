//! The feeds of sessions that run on other hosts, and of their agents. The host that has claimed a
//! session is told that it is watched, again and again; it sends the numbers of events, which are
//! read from the journal, and what is not in the journal, such as text as it arrives.

use super::{FeedItem, FeedReader, Runs, lock, shared::HostRuns};
use agent_host_journal::{HostId, HostLine, HostMessage};
use agent_host_types::id::SessionId;
use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{
        Notify,
        broadcast::error::{RecvError, TryRecvError},
    },
    time::{Instant, timeout_at},
};

/// The time for which a host relays to another one that does not ask again.
const WATCHED_FOR: Duration = Duration::from_secs(10);

/// The bytes of the lines of one message. A longer line is not relayed: its content follows in an
/// event.
const LINE_BYTES: usize = 6_000;

/// The feeds between hosts.
#[derive(Debug, Default)]
pub(super) struct Relays {
    /// Told when a session is watched that does not run here.
    pub(super) look: Notify,
    /// The sessions that are watched here and ran elsewhere when that was last looked at.
    elsewhere: Mutex<HashSet<SessionId>>,
    /// The hosts that watch sessions of this one, and until when.
    watchers: Mutex<HashMap<(SessionId, HostId), Instant>>,
}

impl Runs {
    /// Returns the sessions that are watched here and do not run here.
    fn watched_elsewhere(&self) -> Vec<SessionId> {
        let feeds = lock(&self.feeds);
        let watched = feeds.iter().filter(|(_, feed)| feed.reader_count() > 0);
        let watched: Vec<SessionId> = watched.map(|(session, _)| *session).collect();
        drop(feeds);
        let watched = watched.into_iter();
        watched
            .filter(|session| !self.is_active(*session))
            .collect()
    }

    /// Tells the hosts that run watched sessions so, and has the journals of these read.
    pub(super) async fn look_elsewhere(&self, shared: &HostRuns) {
        let watched = self.watched_elsewhere();
        let mut running = HashSet::new();
        if !watched.is_empty() {
            // A failure is that of the next look, too.
            for (session, host) in shared.runs.claims_of(watched).await.unwrap_or_default() {
                if host != *shared.runs.host() {
                    running.insert(session);
                    self.ask_to_relay(shared, session, host).await;
                }
            }
        }
        let before = mem::replace(&mut *lock(&self.relays.elsewhere), running.clone());
        // One that ended has events that were not read.
        for session in running.union(&before) {
            self.send_to_feed(*session, FeedItem::Stored(None));
        }
    }

    /// Tells the host that has just claimed a session if it is watched here.
    pub(super) async fn watch_claimed(&self, shared: &HostRuns, session: SessionId, host: HostId) {
        let is_watched = {
            let feeds = lock(&self.feeds);
            feeds
                .get(&session)
                .is_some_and(|feed| feed.reader_count() > 0)
        };
        if is_watched && host != *shared.runs.host() {
            lock(&self.relays.elsewhere).insert(session);
            self.ask_to_relay(shared, session, host).await;
        }
    }

    async fn ask_to_relay(&self, shared: &HostRuns, session: SessionId, to: HostId) {
        let host = shared.runs.host().clone();
        let watch = HostMessage::Watch { session, host };
        if let Err(error) = shared.runs.send(Some(to), watch).await {
            tracing::debug!("session {session} is not relayed: {error}");
        }
    }

    /// Passes lines of another host to those who watch the session here.
    pub(super) fn receive(&self, session: SessionId, lines: Vec<HostLine>) {
        for line in lines {
            let item = match line {
                HostLine::Event(seq) => FeedItem::Stored((seq > 0).then_some(seq)),
                HostLine::Live(json) => FeedItem::from_json(json),
            };
            self.send_to_feed(session, item);
        }
    }

    fn send_to_feed(&self, session: SessionId, item: FeedItem) {
        if let Some(feed) = lock(&self.feeds).get(&session) {
            feed.send(item);
        }
    }

    /// Whether a session runs here, or is one of an agent that works here.
    fn is_active(&self, session: SessionId) -> bool {
        self.is_running(session) || self.is_held(session)
    }

    /// Relays a session to a host that watches it, if it is active here.
    pub(super) fn relay(self: &Arc<Self>, shared: &HostRuns, session: SessionId, to: HostId) {
        if !self.is_active(session) {
            return;
        }
        let until = Instant::now() + WATCHED_FOR;
        let key = (session, to);
        let known = lock(&self.relays.watchers).insert(key.clone(), until);
        if known.is_some() {
            return;
        }
        let relay = Relay {
            runs: Arc::clone(self),
            shared: shared.clone(),
            key,
        };
        tokio::spawn(relay.run(self.feed(session).subscribe()));
    }
}

/// The relay of a session to a host.
struct Relay {
    runs: Arc<Runs>,
    shared: HostRuns,
    key: (SessionId, HostId),
}

impl Drop for Relay {
    fn drop(&mut self) {
        lock(&self.runs.relays.watchers).remove(&self.key);
        // Its reader was dropped before.
        self.runs.forget_unwatched(self.key.0);
    }
}

impl Relay {
    async fn run(self, mut feed: FeedReader) {
        let (session, to) = self.key.clone();
        let mut ends = self.runs.count.subscribe();
        for line in mem::take(&mut feed.recent) {
            let lines = vec![HostLine::Live(Arc::clone(line.json()))];
            self.send(session, &to, lines).await;
        }
        loop {
            let until = lock(&self.runs.relays.watchers).get(&self.key).copied();
            let Some(until) = until.filter(|until| *until > Instant::now()) else {
                return;
            };
            let first = tokio::select! {
                first = timeout_at(until, feed.items.recv()) => first,
                _ = ends.changed() => {
                    if self.runs.is_active(session) {
                        continue;
                    }
                    // The last lines were sent to the feed before the run ended.
                    match feed.items.try_recv() {
                        Ok(item) => Ok(Ok(item)),
                        Err(_) => return,
                    }
                }
            };
            let first = match first {
                Ok(Ok(item)) => item,
                // The other host reads the journal, and has lost what is not in it.
                Ok(Err(RecvError::Lagged(_))) => FeedItem::Stored(None),
                Ok(Err(RecvError::Closed)) => return,
                Err(_) => continue,
            };
            let lines = batch(&mut feed, first);
            self.send(session, &to, lines).await;
        }
    }

    async fn send(&self, session: SessionId, to: &HostId, lines: Vec<HostLine>) {
        let message = HostMessage::Lines { session, lines };
        if let Err(error) = self.shared.runs.send(Some(to.clone()), message).await {
            tracing::debug!("session {session} is not relayed: {error}");
        }
    }
}

/// Returns the lines that are there, as many as a message takes.
fn batch(feed: &mut FeedReader, first: FeedItem) -> Vec<HostLine> {
    let (mut lines, mut bytes, mut item) = (Vec::new(), 0, first);
    loop {
        let line = match item {
            FeedItem::Line(line) => match line.seq() {
                Some(seq) => HostLine::Event(seq),
                None => HostLine::Live(Arc::clone(line.json())),
            },
            FeedItem::Unknown(json) => HostLine::Live(json),
            FeedItem::Stored(seq) => HostLine::Event(seq.unwrap_or_default()),
        };
        let size = serde_json::json!(line).to_string().len();
        if size <= LINE_BYTES {
            bytes += size;
            lines.push(line);
        }
        if bytes > LINE_BYTES / 2 {
            return lines;
        }
        item = match feed.items.try_recv() {
            Ok(item) => item,
            Err(TryRecvError::Lagged(_)) => FeedItem::Stored(None),
            Err(TryRecvError::Empty | TryRecvError::Closed) => return lines,
        };
    }
}
