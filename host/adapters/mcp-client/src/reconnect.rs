//! The connection to a server, and its renewal in a task of its own: an attempt outlives the call
//! that needed it, so that a server that starts slowly is ready for a later call.

use crate::{
    config::ServerConfig, connection::Connection, error::ConnectError, features::Features,
    handshake::timeout_error, listing::ToolOffer, resources,
};
use agent_host_types::reason::Reason;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::task::AbortOnDropHandle;

/// The pause after the first failed attempt to reconnect. It doubles with each, up to
/// [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

type Connected = Result<(Connection, ToolOffer), ConnectError>;

pub(crate) struct ConnState {
    /// The connection, which may be closed.
    connection: Option<Arc<Connection>>,
    /// The running attempt to reconnect.
    attempt: Option<AbortOnDropHandle<Connected>>,
    /// The last failed attempt.
    failure: Option<FailedAttempt>,
}

struct FailedAttempt {
    /// The earliest time of the next attempt.
    until: Instant,
    pause: Duration,
    why: String,
}

/// The reason for a missing connection.
pub(crate) enum ReconnectError {
    /// The last attempt failed for this reason, and the next one is not due.
    Paused(String),
    /// The attempt failed.
    Failed(ConnectError),
}

impl ConnState {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection: Some(Arc::new(connection)),
            attempt: None,
            failure: None,
        }
    }

    /// Returns the connection unless it is closed.
    pub(crate) fn open(&self) -> Option<Arc<Connection>> {
        let connection = self.connection.as_ref()?;
        (!connection.is_closed()).then(|| Arc::clone(connection))
    }

    /// Waits for the running attempt, or starts one. Dropping the future does not stop the attempt.
    pub(crate) async fn reconnect(
        &mut self,
        config: &Arc<ServerConfig>,
        features: Features,
    ) -> Result<(Arc<Connection>, ToolOffer), ReconnectError> {
        if let (Some(failed), None) = (&self.failure, &self.attempt)
            && Instant::now() < failed.until
        {
            return Err(ReconnectError::Paused(failed.why.clone()));
        }
        let attempt = self.attempt.get_or_insert_with(|| {
            AbortOnDropHandle::new(tokio::spawn(connect(Arc::clone(config), Some(features))))
        });
        let connected = attempt.await;
        self.attempt = None;
        let connected = connected.unwrap_or_else(|ended| {
            Err(ConnectError::Unusable {
                server: config.name.clone(),
                why: ended.to_string(),
                detail: String::new(),
            })
        });
        match connected {
            Ok((connection, offer)) => {
                let connection = Arc::new(connection);
                self.connection = Some(Arc::clone(&connection));
                self.failure = None;
                Ok((connection, offer))
            }
            Err(error) => {
                let pause = match &self.failure {
                    Some(failed) => (failed.pause * 2).min(LONGEST_PAUSE),
                    None => FIRST_PAUSE,
                };
                self.failure = Some(FailedAttempt {
                    until: Instant::now() + pause,
                    pause,
                    why: error.to_string(),
                });
                Err(ReconnectError::Failed(error))
            }
        }
    }
}

/// Connects and lists the tools within the connect timeout. Resources and prompts are counted
/// unless
/// `features` are known, so that the tools for them stay the same.
pub(crate) async fn connect(config: Arc<ServerConfig>, features: Option<Features>) -> Connected {
    let began = Instant::now();
    let connection = Connection::open(&config).await?;
    let left = config.connect_timeout.saturating_sub(began.elapsed());
    let fault = |why: Reason| ConnectError::Tools {
        server: config.name.clone(),
        why: why.into(),
    };
    let listing = tokio::time::timeout(left, connection.list())
        .await
        .map_err(|_| timeout_error(&config, ", it did not list its tools"))?
        .map_err(fault)?;
    let features = match features {
        Some(known) => known,
        None => {
            let left = config.connect_timeout.saturating_sub(began.elapsed());
            resources::count(&connection, left).await
        }
    };
    let offer = ToolOffer::from_listing(&config, listing, features).map_err(fault)?;
    Ok((connection, offer))
}
