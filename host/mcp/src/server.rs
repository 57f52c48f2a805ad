//! The server: what its connections share, and its background work.

use crate::{
    call::CallRunner,
    catalog::CurrentCatalog,
    connection::Connection,
    handler::Handler,
    listeners::Listeners,
    open_sessions::OpenSessions,
    pending::PendingCalls,
    reload::{Reloaded, Reloader},
};
use agent_host_app::Host;
use std::{sync::Arc, time::Duration};
use tokio::time::interval;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How often pending calls are searched for expired ones.
const SWEEP: Duration = Duration::from_secs(60);

/// Serves the tools of a host. Clones are handles to one server.
///
/// ```no_run
/// use agent_host_app::{Config, Host};
/// use agent_host_mcp::{Server, serve_stdio, standard_streams};
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example(config: Config) -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(Host::open_tools(config).await?);
/// let (input, output) = standard_streams();
/// serve_stdio(&server, input, output, CancellationToken::new()).await?;
/// server.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    host: Arc<Host>,
    catalog: Arc<CurrentCatalog>,
    sessions: Arc<OpenSessions>,
    listeners: Arc<Listeners>,
    calls: Arc<CallRunner>,
    /// The connection of all requests of the stateless lifecycle, which belong to none.
    stateless: Arc<Connection>,
    /// The running calls and background tasks.
    tasks: TaskTracker,
    /// Cancelled when the server closes; stops running calls.
    stop: CancellationToken,
}

impl Server {
    /// Makes a server of an open host. Must be called within a tokio runtime.
    #[must_use]
    pub fn new(host: Host) -> Self {
        let host = Arc::new(host);
        let catalog = Arc::new(CurrentCatalog::new(&host));
        let sessions = Arc::<OpenSessions>::default();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let calls = Arc::new(CallRunner {
            host: Arc::clone(&host),
            catalog: Arc::clone(&catalog),
            sessions: Arc::clone(&sessions),
            pending: PendingCalls::default(),
            tasks: tasks.clone(),
            stop: stop.clone(),
        });
        tasks.spawn(maintain(
            Arc::clone(&sessions),
            Arc::clone(&calls),
            stop.clone(),
        ));
        Self {
            host,
            catalog,
            sessions,
            listeners: Arc::default(),
            calls,
            stateless: Arc::default(),
            tasks,
            stop,
        }
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns a handler for one connection. Its calls are recorded in a journal session that
    /// starts with the first of them. Requests of the stateless lifecycle share one session,
    /// whichever handler they reach.
    #[must_use]
    pub fn handler(&self) -> Handler {
        Handler {
            calls: Arc::clone(&self.calls),
            catalog: Arc::clone(&self.catalog),
            listeners: Arc::clone(&self.listeners),
            own: Arc::default(),
            stateless: Arc::clone(&self.stateless),
            stop: self.stop.clone(),
            end: CancellationToken::new(),
        }
    }

    /// Reloads changed components that the operator has accepted, until the server closes, and
    /// calls `report` for each change.
    pub async fn watch(&self, report: impl Fn(Reloaded)) {
        let reloader = Reloader {
            host: &self.host,
            catalog: &self.catalog,
            listeners: &self.listeners,
        };
        tokio::select! {
            never = reloader.watch(report) => match never {},
            () = self.stop.cancelled() => {}
        }
    }

    /// Closes the server: stops running calls, ends pending ones, and makes all records durable.
    /// Connections should have ended before.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.calls.abandon_all().await;
        self.sessions.flush().await;
    }
}

/// Flushes sessions and ends expired pending calls until `stop` is cancelled.
async fn maintain(sessions: Arc<OpenSessions>, calls: Arc<CallRunner>, stop: CancellationToken) {
    let mut sweep = interval(SWEEP);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sessions.flush_due() => {}
            _ = sweep.tick() => calls.abandon_expired().await,
        }
        sessions.flush().await;
    }
}
