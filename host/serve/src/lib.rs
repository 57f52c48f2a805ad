//! The HTTP API of the host: sessions, messages, events as they happen, and answers to what waits
//! for the user. Every route reads the journal, or submits an input that the engine takes; none has
//! logic of a turn. [`API`] is the path of the routes, and `GET /api/v1/openapi.json` describes them.
//! Those below `/v1` are OpenAI's, for any client of that.
//!
//! - [`Service`] holds the sessions that run here. One runs at a time for each session, since the
//!   journal has one writer.
//! - [`ServerAccess`] has the tokens and their roles; the table of routes has the least role of each.
//! - A problem is answered as `application/problem+json` (RFC 9457) with a stable `code`.

mod access;
mod artifacts;
mod blobs;
mod create;
mod events;
mod explain;
mod health;
mod input;
mod metrics;
mod once;
mod openai;
mod openapi;
mod page;
mod problem;
mod requests;
mod routes;
mod sessions;
mod stats;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod triggers;
mod undo;

pub use access::{AccessRole, ServerAccess};
pub use openai::refused;
pub use problem::{Problem, ProblemCode};
pub use routes::{API, route_roles};
pub use tokens::{TokenEntry, TokenFile, TokenFileError, TokenName};
pub use triggers::{TriggerError, Triggers};

use agent_host_app::runs;

use agent_host_app::Host;
use agent_host_engine::BoxFuture;
use agent_host_http::HttpServer;
use metrics::ReaderCount;
use once::AnswerKeys;
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
    answers: Arc<AnswerKeys>,
    readers: ReaderCount,
    triggers: Arc<Triggers>,
    /// Cancelled when responses that do not end by themselves must end.
    stop: CancellationToken,
}

impl Service {
    /// Creates the service of a host.
    #[must_use]
    pub fn new(host: Arc<Host>) -> Self {
        Self {
            host,
            runs: Arc::default(),
            answers: Arc::default(),
            readers: ReaderCount::of(usize::MAX),
            triggers: Arc::new(Triggers::none()),
            stop: CancellationToken::new(),
        }
    }

    /// Runs these schedules and webhooks, too, while it serves.
    #[must_use]
    pub fn with_triggers(mut self, triggers: Triggers) -> Self {
        self.triggers = Arc::new(triggers);
        self
    }

    /// Serves the API until `shutdown` is cancelled. Runs are drained then: what runs ends, nothing
    /// else starts, and each can be resumed. After 60 s they are cancelled.
    pub fn serve(
        mut self,
        server: HttpServer,
        shutdown: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        self.stop = server.stop_token();
        self.readers = ReaderCount::of(server.limits().connections);
        Box::pin(async move {
            let runs = Arc::clone(&self.runs);
            let drained = async {
                shutdown.cancelled().await;
                runs.drain();
            };
            let fired = triggers::run(self.clone(), shutdown.clone());
            let server = server.with_open_routes(triggers::router(self.clone()));
            let router = routes::router(self);
            tokio::join!(drained, fired, server.serve(router, shutdown.clone()));
            if timeout(DRAIN_TIMEOUT, runs.ended()).await.is_err() {
                runs.cancel_all();
                let _ = timeout(CANCEL_TIMEOUT, runs.ended()).await;
            }
        })
    }
}
