//! The HTTP API of the host: sessions, messages, events as they happen, and answers to what waits
//! for the user. Every route reads the journal, or submits an input that the engine takes; none has
//! logic of a turn. [`API`] is the path of the routes, and `GET /api/v1/openapi.json` describes
//! them. Those below `/v1` are OpenAI's, for any client of that.
//!
//! - [`Service`] holds the sessions that run here. One runs at a time for each session, since the
//!   journal has one writer.
//! - [`ServerAccess`] has the tokens and their roles; the table of routes has the least role of each.
//! - A caller sees the sessions of the server's project, or those of them that its token started.
//!   Any other one is answered as one that does not exist.
//! - A problem is answered as `application/problem+json` (RFC 9457) with a stable `code`.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod access;
mod artifacts;
mod blobs;
mod call_words;
mod create;
mod events;
mod explain;
mod health;
mod hosts;
mod input;
mod links;
mod memory;
mod metrics;
mod once;
mod openai;
mod openapi;
mod page;
mod problem;
mod requests;
mod routes;
mod scope;
mod search;
mod sessions;
mod share;
mod stats;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod triggers;
mod undo;

pub use access::{AccessRole, ServerAccess};
pub use links::Links;
pub use openai::refused;
pub use problem::{Problem, ProblemCode};
pub use routes::{API, route_roles};
pub use tokens::{TokenEntry, TokenFile, TokenFileError, TokenName, TokenSessions};
pub use triggers::{TriggerError, Triggers};

use agent_host_app::runs;

use agent_host_app::Host;
use agent_host_engine::BoxFuture;
use agent_host_http::HttpServer;
use agent_host_journal::JournalStore;
use metrics::ReaderCount;
use runs::Runs;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Time that drained runs get to end before they are cancelled.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Time that cancelled runs get to record their end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The sessions of a host, as the API sees them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    host: Arc<Host>,
    runs: Arc<Runs>,
    readers: ReaderCount,
    triggers: Arc<Triggers>,
    /// Whether operators see the sessions of other projects, too.
    all_projects: bool,
    /// Cancelled when responses that do not end by themselves must end.
    stop: CancellationToken,
}

impl Service {
    /// Creates the service of a host.
    #[must_use]
    pub fn new(host: Arc<Host>) -> Self {
        Self {
            runs: Arc::new(Runs::for_host(&host)),
            host,
            readers: ReaderCount::for_connections(usize::MAX),
            triggers: Arc::new(Triggers::none()),
            all_projects: false,
            stop: CancellationToken::new(),
        }
    }

    /// Runs these schedules and webhooks, too, while it serves.
    #[must_use]
    pub fn with_triggers(mut self, triggers: Triggers) -> Self {
        self.triggers = Arc::new(triggers);
        self
    }

    /// Opens the sessions of other projects of the store to tokens of the role `operator`.
    #[must_use]
    pub fn with_all_projects(mut self, all_projects: bool) -> Self {
        self.all_projects = all_projects;
        self
    }

    fn store(&self) -> &dyn JournalStore {
        self.host.sessions().store().as_ref()
    }

    /// Serves the API until `shutdown` is cancelled. Runs are drained then: what runs ends, nothing
    /// else starts, and each can be resumed. After 60 s they are cancelled, or left to another host
    /// if hosts share the store.
    pub fn serve(
        mut self,
        server: HttpServer,
        shutdown: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let stop = server.stop_token().child_token();
        self.stop = stop.clone();
        self.readers = ReaderCount::for_connections(server.limits().connections);
        Box::pin(async move {
            let (runs, host) = (Arc::clone(&self.runs), Arc::clone(&self.host));
            let drained = async {
                shutdown.cancelled().await;
                runs.drain();
                // What is watched has ended then, and no stream has more to say.
                tokio::select! {
                    () = runs.ended() => stop.cancel(),
                    () = stop.cancelled() => {}
                }
            };
            let fired = triggers::run(self.clone(), shutdown.clone());
            let server = server.with_open_routes(triggers::router(self.clone()));
            let router = routes::router(self);
            let part = tokio::spawn(runs::take_part(host, Arc::clone(&runs)));
            tokio::join!(drained, fired, server.serve(router, shutdown.clone()));
            end_runs(&runs).await;
            let _ = timeout(CANCEL_TIMEOUT, part).await;
        })
    }

    /// Runs the sessions that wait for a host or whose host has ended, until `shutdown` is
    /// cancelled, and then ends as [`Self::serve`] does. The store must be one that hosts share.
    pub fn work(self, shutdown: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let runs = Arc::clone(&self.runs);
            let host = Arc::clone(&self.host);
            let part = tokio::spawn(runs::take_part(host, Arc::clone(&runs)));
            triggers::run(self, shutdown.clone()).await;
            shutdown.cancelled().await;
            runs.drain();
            end_runs(&runs).await;
            let _ = timeout(CANCEL_TIMEOUT, part).await;
        })
    }
}

/// Waits for the end of drained runs, and ends those that take too long.
async fn end_runs(runs: &Runs) {
    if timeout(DRAIN_TIMEOUT, runs.ended()).await.is_err() {
        runs.end_all();
        let _ = timeout(CANCEL_TIMEOUT, runs.ended()).await;
    }
}
