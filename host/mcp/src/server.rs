//! What all connections share: the host, the tools as they are now, the sessions that are being written, and the calls that wait.

use crate::{
    connection::Connection, handler::Handler, listing::Listing, parked::Parked, reload::Reloaded,
};
use agent_host_app::{Host, Registry};
use agent_host_engine::{
    observer::Unobserved,
    session::ClientSession,
    tool::ToolRunner as _,
    turn::{Agent, Prompts},
};
use futures_util::future::join_all;
use rmcp::{RoleServer, service::Peer};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long the records of read-only calls, which wait for no barrier, may stay undurable after the first of them.
const FLUSH_AFTER: Duration = Duration::from_millis(500);

/// How many sessions whose connection is gone are kept until their records can be written.
const MAX_UNWRITTEN: usize = 64;

/// How often calls that waited too long for a person are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// Serves the tools of a host. Cheap to clone: all clones are one server.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

/// See the module.
pub(crate) struct Shared {
    pub(crate) host: Host,
    served: watch::Sender<Arc<Served>>,
    /// The connection of all requests that belong to none: those of the stateless lifecycle.
    stateless: Arc<Connection>,
    /// The sessions that are being written.
    sessions: Mutex<Vec<Arc<ClientSession>>>,
    /// The clients that are told when the tools change.
    listeners: Mutex<Vec<Listener>>,
    pub(crate) parked: Parked,
    /// Told when something was recorded that no barrier has covered.
    pub(crate) dirty: Notify,
    /// Told when calls no longer begin in a session: it is closed as soon as its records are durable.
    pub(crate) ended: Notify,
    /// The calls and the tasks that run.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server ends: running calls are stopped then.
    pub(crate) stop: CancellationToken,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// A client that is told when the tools change, and its connection.
type Listener = (Peer<RoleServer>, Arc<Connection>);

/// The tools of one registry, ready to be listed and called.
pub(crate) struct Served {
    pub(crate) registry: Arc<Registry>,
    pub(crate) listing: Listing,
    /// For clients through which a person can be asked.
    pub(crate) asking: Agent,
    /// For all others: what a person would have to confirm is denied.
    pub(crate) denying: Agent,
}

impl Served {
    fn new(host: &Host, registry: Arc<Registry>) -> Self {
        let reaches: HashMap<&str, bool> = registry
            .components()
            .iter()
            .flat_map(|entry| {
                let open = !entry.grants.http.is_empty();
                let definitions = entry.component.definitions().iter();
                definitions.map(move |definition| (definition.name.as_str(), open))
            })
            .collect();
        // What is in no component is served from elsewhere.
        let is_open = |name: &str| reaches.get(name).copied().unwrap_or(true);
        let listing = Listing::new(registry.tools(), is_open);
        let agent = |prompts| Agent {
            tools: Arc::clone(&registry) as Arc<_>,
            ..host.agent(Arc::new(Unobserved), prompts)
        };
        Self {
            listing,
            asking: agent(Prompts::Ask),
            denying: agent(Prompts::Deny),
            registry,
        }
    }
}

impl Server {
    /// Makes a server of an open host. Must be called where the asynchronous runtime runs.
    #[must_use]
    pub fn new(host: Host) -> Self {
        let served = Served::new(&host, Arc::clone(host.registry()));
        let server = Self {
            shared: Arc::new(Shared {
                served: watch::Sender::new(Arc::new(served)),
                stateless: Arc::default(),
                sessions: Mutex::default(),
                listeners: Mutex::default(),
                parked: Parked::default(),
                dirty: Notify::new(),
                ended: Notify::new(),
                tasks: TaskTracker::new(),
                stop: CancellationToken::new(),
                host,
            }),
        };
        let keeper = Arc::clone(&server.shared);
        server
            .shared
            .tasks
            .spawn(async move { keeper.keep().await });
        server
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.shared.host
    }

    /// A handler for one connection: its calls are in one session of the journal, which begins with the first of them. Requests
    /// without a connection (of the stateless lifecycle) share a session, whichever handler they come to.
    #[must_use]
    pub fn handler(&self) -> Handler {
        Handler::new(Arc::clone(&self.shared), Arc::clone(&self.shared.stateless))
    }

    /// Takes over components that change, if the operator accepted the change, until the server ends. `report` hears of each.
    pub async fn watch(&self, report: impl Fn(Reloaded)) {
        self.shared.watch(report).await;
    }

    /// Ends the server: stops what runs, answers what waits for a person, and makes everything durable. Connections should have
    /// ended before.
    pub async fn close(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        for call in self.shared.parked.all() {
            call.abandon().await;
        }
        self.shared.flush().await;
    }
}

impl Shared {
    /// The tools as they are now.
    pub(crate) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.borrow())
    }

    /// Serves another registry from now on, and tells everybody. Calls that run end with the one that they began with.
    pub(crate) async fn replace(&self, registry: Arc<Registry>) {
        let served = Served::new(&self.host, registry);
        self.served.send_replace(Arc::new(served));
        // All at once: one that does not read keeps no other from hearing of it. One that is gone is forgotten when the next comes.
        let told = self.listeners().into_iter();
        let told = told.map(async |(peer, _)| drop(peer.notify_tool_list_changed().await));
        join_all(told).await;
    }

    /// Told when the tools change.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<Served>> {
        self.served.subscribe()
    }

    /// Remembers a client that is to be told when the tools change.
    pub(crate) fn listen(&self, peer: Peer<RoleServer>, connection: Arc<Connection>) {
        let mut listeners = self.lock_listeners();
        listeners.retain(|(known, _)| !known.is_transport_closed());
        listeners.push((peer, connection));
    }

    /// The clients that are told.
    pub(crate) fn listeners(&self) -> Vec<Listener> {
        self.lock_listeners().clone()
    }

    fn lock_listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a session written down.
    pub(crate) fn write(&self, session: Arc<ClientSession>) {
        self.sessions().push(session);
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the records of all sessions durable, and closes those whose connection is gone.
    async fn flush(&self) {
        let sessions = self.sessions().clone();
        for session in &sessions {
            if let Err(error) = session.flush(&Unobserved).await {
                // The session's next call says it to its client.
                tracing::warn!("session {} cannot be written: {error}", session.id());
            }
        }
        drop(sessions);
        // Records of closed connections that could not be written are kept for a later attempt.
        let mut unwritten = 0;
        self.sessions().retain(|session| {
            let waits = session.is_unwritten();
            unwritten += usize::from(waits);
            Arc::strong_count(session) > 1 || waits && unwritten <= MAX_UNWRITTEN
        });
    }

    /// Keeps the journal and the waiting calls up to date until the server ends.
    async fn keep(&self) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.dirty.notified() => {
                    tokio::select! {
                        () = self.stop.cancelled() => return,
                        () = self.ended.notified() => {}
                        () = tokio::time::sleep(FLUSH_AFTER) => {}
                    }
                    self.flush().await;
                }
                () = self.ended.notified() => self.flush().await,
                () = tokio::time::sleep(SWEEP) => {
                    for call in self.parked.expired(Instant::now()) {
                        call.abandon().await;
                    }
                    self.flush().await;
                }
            }
        }
    }
}
