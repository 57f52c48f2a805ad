//! Handles notifications and requests of a server. It may report progress, announce changed tools,
//! ask the user during a call if there is one, and list the configured roots. Sampling is
//! undeclared and refused.

#![expect(
    deprecated,
    reason = "a later revision of the protocol drops roots, and servers of today use them"
)]

use crate::{
    config::ServerConfig,
    elicitation::{Elicitation, ElicitationAnswer},
};
use agent_host_engine::{
    text,
    tool::{CallUpdate, ProgressSink},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        ErrorCode, FormElicitationCapability, Implementation, ListRootsResult,
        ProgressNotificationParam, ProgressToken, Root, RootsCapabilities,
        UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext},
};
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// The maximum of queued progress reports per call. More are dropped: they are transient, and the
/// last one is repeated.
const MAX_QUEUED_UPDATES: usize = 16;

/// The maximum of questions while calls run; that of a component's call.
const MAX_QUESTIONS: usize = agent_host_types::question::MAX_QUESTIONS;

/// The time between the answer to `roots/list` and the next call. The protocol has no message by
/// which a server says that it uses the roots. The official filesystem server asks for them right
/// after the handshake, before its answer to `tools/list`; then it looks at each directory, and
/// refuses calls until it is done, after 1 to 20 ms on a busy machine. A server that never asks is
/// not waited for, and a model is seldom ready with a call this soon.
const ROOTS_PAUSE: Duration = Duration::from_millis(100);

/// The maximum of bytes shown of a question that cannot be asked.
const REFUSAL_BYTES: usize = 300;

pub(crate) struct ProgressUpdate {
    pub(crate) message: String,
    /// The progress from 0 to 1, if known.
    pub(crate) fraction: Option<f64>,
}

impl ProgressUpdate {
    /// Tells it, redacted.
    pub(crate) fn tell(&self, config: &ServerConfig, progress: ProgressSink<'_>) {
        progress(CallUpdate::Progress {
            message: &config.redact(&self.message),
            fraction: self.fraction,
        });
    }
}

/// The notifications received from a server.
#[derive(Default)]
pub(crate) struct Signals {
    updates: Mutex<UpdateChannels>,
    /// The number of `tools/list_changed` notifications, and the number at the last `tools/list`.
    changes: AtomicU64,
    read: AtomicU64,
    questions: Mutex<Questions>,
    /// The last time at which the server asked for the roots outside of a call, or was answered.
    roots_asked: Mutex<Option<Instant>>,
}

/// The progress of running calls, by their tokens.
#[derive(Default)]
struct UpdateChannels {
    subscribed: HashMap<ProgressToken, CallUpdates>,
    /// The last updates with other tokens: a server may report before its request counts as sent.
    early: VecDeque<(ProgressToken, ProgressUpdate)>,
}

/// The progress of a running call.
struct CallUpdates {
    sender: mpsc::Sender<ProgressUpdate>,
    /// The highest fraction so far. rmcp (3.9) handles each notification in a task of its own, so
    /// that later progress may come before earlier, whose fraction would go back.
    furthest: f64,
}

impl CallUpdates {
    fn push(&mut self, mut update: ProgressUpdate) {
        update.fraction = update
            .fraction
            .filter(|fraction| *fraction >= self.furthest);
        self.furthest = update.fraction.unwrap_or(self.furthest);
        // Dropped if the queue is full.
        drop(self.sender.try_send(update));
    }
}

impl UpdateChannels {
    fn push(&mut self, token: ProgressToken, update: ProgressUpdate) {
        match self.subscribed.get_mut(&token) {
            Some(call) => call.push(update),
            None => {
                self.early.push_back((token, update));
                let excess = self.early.len().saturating_sub(MAX_QUEUED_UPDATES);
                self.early.drain(..excess);
            }
        }
    }

    fn subscribe(&mut self, token: ProgressToken, sender: mpsc::Sender<ProgressUpdate>) {
        let furthest = 0.0;
        self.subscribed
            .insert(token, CallUpdates { sender, furthest });
        for (token, update) in std::mem::take(&mut self.early) {
            self.push(token, update);
        }
    }
}

/// A running call. Dropping it ends it.
pub(crate) struct RunningCall(Arc<Signals>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut questions = self.0.questions();
        questions.calls -= 1;
        if questions.calls == 0 {
            questions.asked = 0;
        }
    }
}

/// The questions that the server asked the user.
#[derive(Default)]
struct Questions {
    /// The running calls, during which the server may ask.
    calls: usize,
    /// Since no call was running.
    asked: usize,
    /// Open now, and the time since one is.
    open: usize,
    since: Option<Instant>,
    /// The time of those before.
    before: Duration,
}

/// An open question. Dropping it closes it.
struct OpenQuestion<'s>(&'s Signals);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut questions = self.0.questions();
        questions.open -= 1;
        if questions.open == 0
            && let Some(since) = questions.since.take()
        {
            questions.before += since.elapsed();
        }
    }
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

    /// Returns the time in which the user had a question of the server.
    pub(crate) fn question_time(&self) -> Duration {
        let questions = self.questions();
        let open = questions.since.map(|since| since.elapsed());
        questions.before + open.unwrap_or_default()
    }

    /// Begins a call, during which the server may ask the user.
    pub(crate) fn begin_call(self: &Arc<Self>) -> RunningCall {
        self.questions().calls += 1;
        RunningCall(Arc::clone(self))
    }

    /// Opens a question; `None` if no call is running or there were too many.
    fn open_question(&self) -> Option<OpenQuestion<'_>> {
        let mut questions = self.questions();
        if questions.calls == 0 || questions.asked >= MAX_QUESTIONS {
            return None;
        }
        questions.asked += 1;
        questions.open += 1;
        questions.since.get_or_insert_with(Instant::now);
        Some(OpenQuestion(self))
    }

    /// Records that the server asks for the roots, or is told them. One that asks during its calls
    /// uses them at once.
    pub(crate) fn set_roots_asked(&self) {
        if self.questions().calls == 0 {
            *self.roots_asked() = Some(Instant::now());
        }
    }

    /// Waits until the server has had [`ROOTS_PAUSE`] to use the roots that it asked for.
    pub(crate) async fn roots_in_use(&self) {
        let asked = *self.roots_asked();
        if let Some(asked) = asked {
            tokio::time::sleep(ROOTS_PAUSE.saturating_sub(asked.elapsed())).await;
        }
    }

    fn roots_asked(&self) -> MutexGuard<'_, Option<Instant>> {
        self.roots_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the progress of the call with `token`, until the value is dropped.
    pub(crate) fn updates(self: &Arc<Self>, token: ProgressToken) -> ProgressUpdates {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_UPDATES);
        let mut all = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        all.subscribe(token.clone(), sender);
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
        all.subscribed.remove(&self.token);
    }
}

/// The client's side of a connection.
pub(crate) struct ClientSide {
    pub(crate) signals: Arc<Signals>,
    pub(crate) config: Arc<ServerConfig>,
}

impl ClientSide {
    /// Asks the user a question of the server. It is declined if no call of it is running.
    pub(crate) async fn elicit(
        &self,
        request: ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        let name = &self.config.name;
        let Some(user) = &self.config.elicitor else {
            tracing::warn!(
                "the MCP server `{name}` has a question for the user, and no one can be asked in this run; use `agent-host run` at a terminal"
            );
            let why = "agent-host has not declared `elicitation`: no user can be asked in this run";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None));
        };
        let elicitation = match Elicitation::new(name, request) {
            Ok(elicitation) => elicitation,
            Err(why) => {
                let why = format!(
                    "agent-host cannot ask it: {}",
                    text::sanitize(why.as_str(), REFUSAL_BYTES)
                );
                tracing::warn!("a question of the MCP server `{name}`: {why}");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        let Some(_open) = self.signals.open_question() else {
            tracing::warn!(
                "the MCP server `{name}` asked a question outside of a call, or more than {MAX_QUESTIONS} questions; \
                 the question was declined"
            );
            return Ok(ElicitationAnswer::Decline.into());
        };
        Ok(user.ask(elicitation).await.into())
    }

    /// Returns the configured roots.
    pub(crate) fn roots(&self) -> ListRootsResult {
        let roots = self.config.roots.iter().filter_map(|directory| {
            let address = reqwest::Url::from_directory_path(directory).ok()?;
            Some(Root::new(address))
        });
        ListRootsResult::new(roots.collect())
    }
}

impl ClientHandler for ClientSide {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let whole = params.total.filter(|total| *total > 0.0);
        let update = ProgressUpdate {
            message: params.message.unwrap_or_default(),
            fraction: whole.map(|total| (params.progress / total).clamp(0.0, 1.0)),
        };
        let all = self.signals.updates.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        all.push(params.progress_token, update);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.signals.set_changed();
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.elicit(request).await
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.signals.set_roots_asked();
        Ok(self.roots())
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("agent-host", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.config.elicitor.is_some() {
            let asks = ElicitationCapability::new()
                .with_form(FormElicitationCapability::new().with_schema_validation(true))
                .with_url(UrlElicitationCapability::new());
            capabilities.elicitation = Some(asks);
        }
        if !self.config.roots.is_empty() {
            // They do not change while the host runs.
            capabilities.roots = Some(RootsCapabilities::default());
        }
        ClientConfig::new(capabilities, client)
    }
}

#[cfg(test)]
mod tests {
    use super::{ProgressUpdate, Signals};
    use pretty_assertions::assert_eq;
    use rmcp::model::{NumberOrString, ProgressToken};
    use std::sync::Arc;

    #[test]
    fn late_progress_keeps_its_message_and_not_its_fraction() {
        let signals = Arc::new(Signals::default());
        let token = ProgressToken(NumberOrString::Number(1));
        let mut updates = signals.updates(token.clone());
        for (message, fraction) in [("a", 0.1), ("c", 0.3), ("b", 0.2), ("d", 0.4)] {
            let update = ProgressUpdate {
                message: message.to_owned(),
                fraction: Some(fraction),
            };
            signals.updates.lock().unwrap().push(token.clone(), update);
        }
        for expected in [
            ("a", Some(0.1)),
            ("c", Some(0.3)),
            ("b", None),
            ("d", Some(0.4)),
        ] {
            let update = updates.receiver.try_recv().unwrap();
            assert_eq!((&*update.message, update.fraction), expected);
        }
    }

    /// A server may report before its request counts as sent.
    #[test]
    fn progress_before_the_subscription_is_kept_within_bounds() {
        let signals = Arc::new(Signals::default());
        let token = |number| ProgressToken(NumberOrString::Number(number));
        let push = |number, message: &str| {
            let update = ProgressUpdate {
                message: message.to_owned(),
                fraction: None,
            };
            signals.updates.lock().unwrap().push(token(number), update);
        };
        push(1, "early");
        push(2, "of another call");
        let mut updates = signals.updates(token(1));
        push(1, "then");
        for expected in ["early", "then"] {
            assert_eq!(updates.receiver.try_recv().unwrap().message, expected);
        }
        assert!(updates.receiver.try_recv().is_err());
        for _ in 0..1_000 {
            push(3, "no call");
        }
        let mut updates = signals.updates(token(2));
        assert!(updates.receiver.try_recv().is_err());
        assert_eq!(signals.updates.lock().unwrap().early.len(), 16);
    }
}
