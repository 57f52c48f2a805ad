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
use agent_host_app::{Host, HostError};
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
/// let server = Server::new(Host::open_tools(config).await?, &[])?;
/// let (input, output) = standard_streams();
/// serve_stdio(&server, input, output, CancellationToken::new()).await?;
/// server.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    calls: Arc<CallRunner>,
    listeners: Arc<Listeners>,
    /// The connection of all requests of the stateless lifecycle, which belong to none.
    stateless: Arc<Connection>,
}

impl Server {
    /// Makes a server of an open host, with these of its agents as tools. Must be called within a
    /// tokio runtime.
    ///
    /// # Errors
    /// There is no agent with one of the names.
    pub fn new(host: Host, agents: &[String]) -> Result<Self, HostError> {
        let calls = Arc::new(CallRunner {
            catalog: CurrentCatalog::new(host.agents(), agents)?,
            host,
            sessions: OpenSessions::default(),
            pending: PendingCalls::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        calls.tasks.spawn(maintain(Arc::clone(&calls)));
        Ok(Self {
            calls,
            listeners: Arc::default(),
            stateless: Arc::default(),
        })
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.calls.host
    }

    /// Returns the names of the tools that are served now.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.calls.catalog.get().listing.names()
    }

    /// Returns a handler for one connection. Its calls are recorded in a journal session that
    /// starts with the first of them. Requests of the stateless lifecycle share one session,
    /// whichever handler they reach.
    #[must_use]
    pub fn handler(&self) -> Handler {
        Handler {
            calls: Arc::clone(&self.calls),
            listeners: Arc::clone(&self.listeners),
            own: Arc::default(),
            stateless: Arc::clone(&self.stateless),
            end: CancellationToken::new(),
        }
    }

    /// Reloads changed components that the operator has accepted, until the server closes, and
    /// calls `report` for each change.
    pub async fn watch(&self, report: impl Fn(Reloaded)) {
        let reloader = Reloader {
            agents: self.calls.host.agents(),
            catalog: &self.calls.catalog,
            listeners: &self.listeners,
        };
        tokio::select! {
            never = reloader.watch(report) => match never {},
            () = self.calls.stop.cancelled() => {}
        }
    }

    /// Closes the server: stops running calls, ends pending ones, and makes all records durable.
    /// Connections should have ended before.
    pub async fn close(&self) {
        self.calls.stop.cancel();
        self.calls.tasks.close();
        self.calls.tasks.wait().await;
        self.calls.abandon_pending(None).await;
        self.calls.sessions.flush().await;
    }
}

/// Flushes sessions and ends expired pending calls until the server closes.
async fn maintain(calls: Arc<CallRunner>) {
    let mut sweep = interval(SWEEP);
    loop {
        tokio::select! {
            () = calls.stop.cancelled() => return,
            () = calls.sessions.flush_due() => {}
            now = sweep.tick() => calls.abandon_pending(Some(now.into_std())).await,
        }
        calls.sessions.flush().await;
    }
}
