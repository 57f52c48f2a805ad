//! What a server may tell and ask this client. It may report progress and say that its tools changed; a question to a person
//! and a model's reply are nothing that this client has declared, so they are refused, and it is told of no folder.

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

/// The reports of one call that wait to be told. More are dropped: they are signs of life, and the last one comes again.
const WAITING_REPORTS: usize = 16;

/// How far a call is.
pub(crate) struct Report {
    pub(crate) message: String,
    /// Between 0 and 1, where it is known.
    pub(crate) fraction: Option<f64>,
}

/// What a server has told, for those whom it concerns.
#[derive(Default)]
pub(crate) struct Signals {
    /// Where the reports of running calls go.
    reports: Mutex<HashMap<ProgressToken, mpsc::Sender<Report>>>,
    /// How often the server said that its tools changed, and of how much of that they were read since.
    changes: AtomicU64,
    read: AtomicU64,
}

impl Signals {
    /// The changes that were told so far, if the tools were not read since.
    pub(crate) fn unread_changes(&self) -> Option<u64> {
        let changes = self.changes.load(Ordering::Acquire);
        (changes != self.read.load(Ordering::Acquire)).then_some(changes)
    }

    /// Notes that the tools were read after so many changes.
    pub(crate) fn set_read(&self, changes: u64) {
        self.read.store(changes, Ordering::Release);
    }

    /// Notes that the tools have to be read again.
    pub(crate) fn set_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// The reports of the call with this token, until they are dropped.
    pub(crate) fn reports(self: &Arc<Self>, token: ProgressToken) -> Reports {
        let (sender, receiver) = mpsc::channel(WAITING_REPORTS);
        let mut all = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(token.clone(), sender);
        Reports {
            signals: Arc::clone(self),
            token,
            receiver,
        }
    }
}

/// The reports of one call.
pub(crate) struct Reports {
    signals: Arc<Signals>,
    token: ProgressToken,
    pub(crate) receiver: mpsc::Receiver<Report>,
}

impl Drop for Reports {
    fn drop(&mut self) {
        let all = &self.signals.reports;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.token);
    }
}

/// The client of one server.
pub(crate) struct Handler(pub(crate) Arc<Signals>);

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let all = self.0.reports.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = all.get(&told.progress_token) {
            let whole = told.total.filter(|total| *total > 0.0);
            // One too many is dropped.
            let _ = sender.try_send(Report {
                message: told.message.unwrap_or_default(),
                fraction: whole.map(|total| (told.progress / total).clamp(0.0, 1.0)),
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
        let why = "agent-host has not declared `elicitation`: nobody can be asked while a tool of a server runs";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("agent-host", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
    }
}
