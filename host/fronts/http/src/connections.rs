//! The table of open connections: who may have how many, and which one gives way when it is full.
//!
//! A connection *waits* while no complete request of its client is answered: before the first one,
//! while its head or body arrives, and between two. When the table is full, the connection that has
//! waited longest is closed for a new one. So connections that say nothing cannot keep a client out,
//! and one whose request runs is never closed for another.

#[cfg(test)]
mod tests;

use http_body::{Body, Frame, SizeHint};
use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// The time that a new connection has for its request before another one may take its place.
/// Without it, many honest clients that connect at once would close each other's connections.
const MIN_WAIT: Duration = Duration::from_millis(20);

/// The connections of one address are at most all of the server's divided by this. The loopback
/// address has no bound of its own: behind it are all clients of a reverse proxy on this machine,
/// and anyone who can connect from it can do more than that.
const ADDRESS_SHARE: usize = 2;

/// The peer that a bound applies to: an IPv4 address, or the /64 network of an IPv6 address, all of
/// which one machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer(IpAddr);

/// The order in which connections wait.
type Waiting = BTreeSet<(Instant, u64)>;

/// The table of a server.
pub(crate) struct Connections {
    most: usize,
    most_per_peer: usize,
    table: Mutex<ConnectionTable>,
    /// Notified when a connection ends, begins to wait, or does not give way after all.
    changed: Notify,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    open: HashMap<u64, OpenConnection>,
    waiting: Waiting,
    peers: HashMap<Peer, PeerConnections>,
    /// The connection that was asked to give way, while it is open.
    leaving: Option<u64>,
}

struct OpenConnection {
    /// Absent for the loopback address.
    peer: Option<Peer>,
    /// Since when it waits; absent before it is served, and while a request runs.
    waits_since: Option<Instant>,
    /// Notified when it has to give way.
    gives_way: Arc<Notify>,
}

#[derive(Default)]
struct PeerConnections {
    open: usize,
    waiting: Waiting,
}

/// The answer to a new connection.
pub(crate) enum NewConnection {
    /// It is served.
    Admitted(Arc<ConnectionEntry>),
    /// Its address has as many connections as it may, and a request runs on each, or they are new.
    Refused,
    /// The table is full. It can be asked for again at this time, or when [`Connections::changed`]
    /// returns.
    Full(Option<Instant>),
}

/// A connection in the table, until it is dropped.
pub(crate) struct ConnectionEntry {
    connections: Arc<Connections>,
    id: u64,
    gives_way: Arc<Notify>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let most = most.max(1);
        Arc::new(Self {
            most,
            most_per_peer: (most / ADDRESS_SHARE).max(1),
            table: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a new connection into the table. If that is full, the one that has waited longest is
    /// asked to give way; of an address with too many, one of its own.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr, now: Instant) -> NewConnection {
        let mut table = self.lock();
        let peer = Peer::counted(address);
        let of_peer = peer.and_then(|peer| table.peers.get(&peer));
        let of_peer = of_peer.filter(|of_peer| of_peer.open >= self.most_per_peer);
        let has_share = of_peer.is_some();
        if !has_share && table.open.len() < self.most {
            let gives_way = Arc::new(Notify::new());
            let id = table.add(peer, Arc::clone(&gives_way));
            return NewConnection::Admitted(Arc::new(ConnectionEntry {
                connections: Arc::clone(self),
                id,
                gives_way,
            }));
        }
        if table.leaving.is_some() {
            return NewConnection::Full(None);
        }
        let waiting = of_peer.map_or(&table.waiting, |of_peer| &of_peer.waiting);
        match waiting.first().copied() {
            Some((since, id)) if since + MIN_WAIT <= now => {
                table.ask_to_leave(id);
                NewConnection::Full(None)
            }
            _ if has_share => NewConnection::Refused,
            oldest => NewConnection::Full(oldest.map(|(since, _)| since + MIN_WAIT)),
        }
    }

    /// Asks the connection that has waited longest to give way.
    pub(crate) fn evict_oldest(&self) {
        let mut table = self.lock();
        if let (None, Some((_, id))) = (table.leaving, table.waiting.first().copied()) {
            table.ask_to_leave(id);
        }
    }

    /// Waits until the table has changed, or until this time.
    pub(crate) async fn changed(&self, until: Option<Instant>) {
        let later = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.changed.notified() => {}
            () = later => {}
        }
    }

    /// Sets since when a connection waits.
    fn set_waiting(&self, id: u64, since: Option<Instant>) {
        self.lock().set_waiting(id, since);
        self.changed.notify_one();
    }
}

impl ConnectionTable {
    fn add(&mut self, peer: Option<Peer>, gives_way: Arc<Notify>) -> u64 {
        let id = self.next;
        self.next += 1;
        let open = OpenConnection {
            peer,
            waits_since: None,
            gives_way,
        };
        self.open.insert(id, open);
        if let Some(peer) = peer {
            self.peers.entry(peer).or_default().open += 1;
        }
        id
    }

    fn set_waiting(&mut self, id: u64, since: Option<Instant>) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        // A request that came at the last moment runs, and another connection is asked.
        if self.leaving == Some(id) {
            self.leaving = None;
        }
        let before = std::mem::replace(&mut open.waits_since, since);
        let of_peer = open.peer.and_then(|peer| self.peers.get_mut(&peer));
        let of_peer = of_peer.map(|peer| &mut peer.waiting);
        for waiting in std::iter::once(&mut self.waiting).chain(of_peer) {
            if let Some(before) = before {
                waiting.remove(&(before, id));
            }
            if let Some(since) = since {
                waiting.insert((since, id));
            }
        }
    }

    fn remove(&mut self, id: u64) {
        self.set_waiting(id, None);
        if let Some(open) = self.open.remove(&id)
            && let Some(peer) = open.peer
            && let Some(of_peer) = self.peers.get_mut(&peer)
        {
            of_peer.open -= 1;
            if of_peer.open == 0 {
                self.peers.remove(&peer);
            }
        }
    }

    fn ask_to_leave(&mut self, id: u64) {
        self.leaving = Some(id);
        if let Some(open) = self.open.get(&id) {
            open.gives_way.notify_one();
        }
    }
}

impl Peer {
    /// Returns the peer of an address; none for one without a bound.
    fn counted(address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        if address.is_loopback() {
            return None;
        }
        Some(Self(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(whole) => {
                let network = u128::from(whole) & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
        }))
    }
}

impl ConnectionEntry {
    /// Notes that the connection is served, and waits for a request. Data that is there by then is
    /// read before anything else happens.
    pub(crate) fn begin(&self) {
        self.connections.set_waiting(self.id, Some(Instant::now()));
    }

    /// Waits until the connection has to give way to another one. What it has received by then must
    /// have been looked at: poll this last.
    pub(crate) async fn gives_way(&self) {
        loop {
            self.gives_way.notified().await;
            if self.connections.lock().leaving == Some(self.id) {
                return;
            }
        }
    }

    /// Begins a request, which runs once it is complete.
    pub(crate) fn request(self: &Arc<Self>) -> Arc<ActiveRequest> {
        Arc::new(ActiveRequest(Arc::clone(self)))
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.connections.lock().remove(self.id);
        self.connections.changed.notify_one();
    }
}

/// A request of a connection, until its response was sent.
pub(crate) struct ActiveRequest(Arc<ConnectionEntry>);

impl ActiveRequest {
    /// Notes that the request is complete, so that its connection does not give way.
    pub(crate) fn complete(&self) {
        self.0.connections.set_waiting(self.0.id, None);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.begin();
    }
}

/// The body of a request, which notes when it is complete, or read no further.
pub(crate) struct RequestBody<B> {
    body: B,
    /// Absent once it is complete.
    request: Option<Weak<ActiveRequest>>,
}

impl<B> RequestBody<B> {
    pub(crate) fn new(body: B, request: &Arc<ActiveRequest>) -> Self {
        let request = Some(Arc::downgrade(request));
        Self { body, request }
    }
}

impl<B> RequestBody<B> {
    fn complete(&mut self) {
        let request = self.request.take().and_then(|request| request.upgrade());
        if let Some(request) = request {
            request.complete();
        }
    }
}

impl<B> Drop for RequestBody<B> {
    fn drop(&mut self) {
        self.complete();
    }
}

impl<B: Body + Unpin> Body for RequestBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.complete();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, with which its request ends.
pub(crate) struct ResponseBody<B> {
    pub(crate) body: B,
    pub(crate) _request: Arc<ActiveRequest>,
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
