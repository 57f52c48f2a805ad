//! Handles notifications and requests of a server. It may report progress and announce changed
//! tools. Elicitation and sampling are undeclared and refused; the list of roots is empty.

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode,
        Implementation, ProgressNotificationParam, ProgressToken,
    },
    service::{NotificationContext, RequestContext},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::mpsc;

/// The maximum of queued progress reports per call. More are dropped: they are transient, and the
/// last one is repeated.
const MAX_QUEUED_UPDATES: usize = 16;

pub(crate) struct ProgressUpdate {
    pub(crate) message: String,
    /// The progress from 0 to 1, if known.
    pub(crate) fraction: Option<f64>,
}

/// The notifications received from a server.
#[derive(Default)]
pub(crate) struct Signals {
    /// The channels of progress, by the token of the running call.
    updates: Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressUpdate>>>,
    /// The number of `tools/list_changed` notifications, and the number at the last `tools/list`.
    changes: AtomicU64,
    read: AtomicU64,
}

impl Signals {
    /// Returns the number of changes if the tools were not listed since.
    pub(crate) fn unread_changes(&self) -> Option<u64> {
        let changes = self.changes.load(Ordering::Acquire);
        (changes != self.read.load(Ordering::Acquire)).then_some(changes)
    }

    /// Records that the tools were listed after `changes` changes.
    pub(crate) fn set_read(&self, changes: u64) {
        self.read.store(changes, Ordering::Release);
    }

    /// Records that the tools have to be listed again.
    pub(crate) fn set_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Subscribes to the progress of the call with `token`, until the value is dropped.
    pub(crate) fn updates(self: &Arc<Self>, token: ProgressToken) -> ProgressUpdates {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_UPDATES);
        let mut all = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(token.clone(), sender);
        ProgressUpdates {
            signals: Arc::clone(self),
            token,
            receiver,
        }
    }
}

/// A subscription to the progress of one call.
pub(crate) struct ProgressUpdates {
    signals: Arc<Signals>,
    token: ProgressToken,
    pub(crate) receiver: mpsc::Receiver<ProgressUpdate>,
}

impl Drop for ProgressUpdates {
    fn drop(&mut self) {
        let all = &self.signals.updates;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.token);
    }
}

pub(crate) struct Handler(pub(crate) Arc<Signals>);

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let all = self.0.updates.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = all.get(&params.progress_token) {
            let whole = params.total.filter(|total| *total > 0.0);
            // Dropped if the queue is full.
            let _ = sender.try_send(ProgressUpdate {
                message: params.message.unwrap_or_default(),
                fraction: whole.map(|total| (params.progress / total).clamp(0.0, 1.0)),
            });
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.set_changed();
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let why = "agent-host has not declared `elicitation`: the user cannot be asked while a tool of a server runs";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("agent-host", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
    }
}
