//! Test doubles: a model that replays values, tools that are closures, a journal whose barriers can
//! fail, and an observer that records. They decide nothing that a test checks.

mod recorder;

pub(super) use recorder::Recorder;

use super::counts::Counted;
use crate::{
    BoxFuture,
    journal::{CountedCall, Journal, JournalError, MemoryJournal, Tallies, TallyQuery},
    model::{DeltaSink, Model, ModelDelta},
    tool::{CallReport, CallUpdate, Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{ToolEntry, ToolSet},
};
use agent_host_types::{
    approval::ApprovalRule,
    event::{Event, EventRecord},
    failure::ToolFailure,
    flow::LabelledFile,
    id::{CallId, Digest, SessionId},
    limits::Limits,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    output::{Blob, ToolResultOutput},
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolCall, ToolDefinition, ToolRuntime},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use tokio_util::sync::CancellationToken;

/// The tokens of every reply here.
pub(super) const USAGE: Usage = Usage {
    input_tokens: 10,
    output_tokens: 5,
    cached_input_tokens: 2,
    cache_write_tokens: 0,
    cost_micros: None,
};

/// Replays its replies in order and records its requests.
pub(super) struct QueueModel {
    pub(super) replies: Mutex<VecDeque<Result<ModelReply, ModelError>>>,
    pub(super) requests: Mutex<Vec<ModelRequest>>,
    /// Cancelled when the model is called, for tests that cancel the turn.
    pub(super) cancel_when_asked: Mutex<Option<CancellationToken>>,
    /// Cancelled when the model is called, before its reply, for tests that drain the turn.
    pub(super) drain_when_asked: Mutex<Option<CancellationToken>>,
    pub(super) name: String,
    pub(super) small: Option<Arc<QueueModel>>,
}

impl QueueModel {
    pub(super) fn new(replies: Vec<ModelReply>) -> Arc<Self> {
        Arc::new(Self::named("m", replies, None))
    }

    pub(super) fn named(
        name: &str,
        replies: Vec<ModelReply>,
        small: Option<Arc<QueueModel>>,
    ) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter().map(Ok).collect()),
            requests: Mutex::default(),
            cancel_when_asked: Mutex::default(),
            drain_when_asked: Mutex::default(),
            name: name.to_owned(),
            small,
        }
    }
}

impl Model for QueueModel {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "queue".into(),
            model: self.name.clone(),
        }
    }

    fn small(&self) -> Option<Arc<dyn Model>> {
        let small = self.small.clone()?;
        Some(small)
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        Box::pin(async move {
            let cancel = self.cancel_when_asked.lock().unwrap().take();
            if let Some(cancel) = cancel {
                cancel.cancel();
                std::future::pending::<()>().await;
            }
            if let Some(drain) = self.drain_when_asked.lock().unwrap().take() {
                drain.cancel();
            }
            let next = self.replies.lock().unwrap().pop_front();
            let reply = next.unwrap_or_else(|| Err(failing("the queue is empty")))?;
            deltas(ModelDelta::Text(&reply.text));
            Ok(reply)
        })
    }
}

pub(super) fn failing(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Server, message)
}

/// A reply of text alone.
pub(super) fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.into(),
        stop_reason: Some(StopReason::EndTurn),
        usage: USAGE,
        response_id: Some("r".into()),
        ..ModelReply::default()
    }
}

/// A reply that calls tools: id, tool, raw arguments.
pub(super) fn calls(calls: &[(&str, &str, &str)]) -> ModelReply {
    let parse = |(id, tool, raw): &(&str, &str, &str)| {
        ToolCall::parse(CallId((*id).into()), (*tool).into(), (*raw).into())
    };
    ModelReply {
        tool_calls: calls.iter().map(parse).collect(),
        stop_reason: Some(StopReason::ToolUse),
        ..says("")
    }
}

type Body = Box<dyn Fn(Invocation) -> BoxFuture<'static, RunEnd> + Send + Sync>;

/// A tool that is a closure.
pub(super) struct Tool {
    registered: RegisteredTool,
    limits: Option<Limits>,
    /// Where its calls may write.
    writes: Vec<String>,
    body: Body,
}

/// A tool whose input is any object with an optional integer `n`. Returns its name and its input.
pub(super) fn tool(name: &str, effect: Effect, approval: Approval) -> Tool {
    let input_schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Tool {
        limits: None,
        writes: Vec::new(),
        registered: RegisteredTool {
            definition: Arc::new(ToolDefinition {
                name: name.into(),
                title: Some(format!("The tool {name}")),
                description: format!("Does {name}."),
                input_schema,
                output_schema: None,
                effect,
            }),
            effect,
            approval,
            decisions: DecisionKind::ALL.into(),
            runtime: ToolRuntime::Host,
            component: None,
            destination: None,
            summary: None,
        },
        body: Box::new(|invocation| {
            let text = format!(
                "{} {}",
                invocation.tool,
                Value::Object(invocation.input.into_object())
            );
            Box::pin(std::future::ready(
                CallReport::of(ToolResultOutput::Text(text)).into(),
            ))
        }),
    }
}

impl Tool {
    /// Has all of its arguments go somewhere.
    pub(super) fn goes_to(mut self, destination: &str) -> Self {
        self.registered.destination = Some(destination.to_owned());
        self
    }

    pub(super) fn limited(mut self, limits: &Limits) -> Self {
        self.limits = Some(limits.clone());
        self
    }

    pub(super) fn writes(mut self, path: &str) -> Self {
        self.writes.push(path.to_owned());
        self
    }

    pub(super) fn body<F, R>(mut self, body: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResultOutput> + Send + 'static,
    {
        self.body = Box::new(move |invocation| {
            let output = body(invocation);
            Box::pin(async move { CallReport::of(output.await).into() })
        });
        self
    }

    /// A body that may ask, and merge into the shared state.
    pub(super) fn ends(
        mut self,
        body: impl Fn(Invocation) -> RunEnd + Send + Sync + 'static,
    ) -> Self {
        self.body = Box::new(move |invocation| Box::pin(std::future::ready(body(invocation))));
        self
    }

    /// A body that reports when it is cancelled.
    pub(super) fn stopping(
        mut self,
        body: impl Fn(Invocation) -> BoxFuture<'static, RunEnd> + Send + Sync + 'static,
    ) -> Self {
        self.body = Box::new(body);
        self
    }

    pub(super) fn allowing(mut self, decisions: &[DecisionKind]) -> Self {
        self.registered.decisions = decisions.to_vec();
        self
    }

    pub(super) fn outside(mut self) -> Self {
        self.registered.runtime = ToolRuntime::External;
        self
    }
}

/// The tools of most tests: `look` and `peek` are read-only, `put` is idempotent, `act` is
/// effectful without approval, `send` is effectful with approval.
pub(super) fn standard() -> Vec<Tool> {
    vec![
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("peek", Effect::ReadOnly, Approval::ByEffect),
        tool("put", Effect::Idempotent, Approval::Never),
        tool("act", Effect::Effectful, Approval::Never),
        tool("send", Effect::Effectful, Approval::ByEffect),
    ]
}

/// The log of all tools.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) invocations: Mutex<Vec<Invocation>>,
    /// `+ID` when a call starts, `-ID` when it ends.
    pub(super) log: Mutex<Vec<String>>,
    running: AtomicUsize,
    /// The maximum number of concurrent calls.
    pub(super) peak: AtomicUsize,
    /// Calls that started before their intent was durable.
    pub(super) premature: Mutex<Vec<CallId>>,
    /// The arguments that were checked.
    pub(super) checks: Mutex<Vec<Value>>,
}

/// Runs the closure of a tool.
struct TestHandler {
    tool: Tool,
    ran: Arc<Ran>,
    journal: Arc<TestJournal>,
}

pub(super) fn tool_set(
    tools: Vec<Tool>,
    ran: &Arc<Ran>,
    journal: &Arc<TestJournal>,
) -> Arc<ToolSet> {
    let entries = tools.into_iter().map(|tool| {
        let registered = tool.registered.clone();
        let handler = TestHandler {
            tool,
            ran: Arc::clone(ran),
            journal: Arc::clone(journal),
        };
        ToolEntry::new(registered, Some(Arc::new(handler))).unwrap()
    });
    Arc::new(entries.collect())
}

impl ToolHandler for TestHandler {
    fn limits(&self) -> Option<&Limits> {
        self.tool.limits.as_ref()
    }

    fn possibly_written(&self, _session: SessionId, _call_id: &CallId) -> Vec<LabelledFile> {
        let writes = self.tool.writes.iter();
        let file = |path: &String| LabelledFile {
            path: path.clone(),
            sources: Vec::new(),
        };
        writes.map(file).collect()
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.ran.checks.lock().unwrap().push(json!(input));
        Ok(())
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let (ran, tool) = (&self.ran, &self.tool);
        let id = invocation.call_id.clone();
        if !self.journal.is_durably_intended(&id) && tool.registered.effect != Effect::ReadOnly {
            ran.premature.lock().unwrap().push(id.clone());
        }
        ran.invocations.lock().unwrap().push(invocation.clone());
        Box::pin(async move {
            ran.log.lock().unwrap().push(format!("+{id}"));
            let running = ran.running.fetch_add(1, Ordering::SeqCst) + 1;
            ran.peak.fetch_max(running, Ordering::SeqCst);
            progress(CallUpdate::Progress {
                message: "half",
                fraction: Some(0.5),
            });
            progress(CallUpdate::Output("printed"));
            // Lets other calls start, if they may.
            tokio::task::yield_now().await;
            let mut end = (tool.body)(invocation).await;
            ran.running.fetch_sub(1, Ordering::SeqCst);
            ran.log.lock().unwrap().push(format!("-{id}"));
            if let RunEnd::Settled(report) = &mut end {
                report.accounting.wall_us = 7;
            }
            end
        })
    }
}

/// A memory journal that knows which records are durable, and whose barriers fail from a chosen one
/// on.
pub(super) struct TestJournal {
    inner: MemoryJournal,
    appended: Mutex<(Vec<EventRecord>, Vec<Blob>)>,
    /// The number of records in each call of `append`.
    together: Mutex<Vec<usize>>,
    durable: AtomicUsize,
    /// The first barrier that fails, from 1; 0 for none.
    pub(super) fails_from: AtomicU64,
    asked: AtomicU64,
    /// The setup and the approvals of each turn, by the position at which it began.
    pub(super) setups: Mutex<BTreeMap<u64, (Blob, Vec<ApprovalRule>)>>,
    /// Cancelled when the claim on the session is lost.
    pub(super) lost: CancellationToken,
    /// The calls that were counted, those of other journals included.
    pub(super) counted: Counted,
}

impl TestJournal {
    pub(super) fn new(session: SessionId) -> Arc<Self> {
        Self::counting(session, Counted::default())
    }

    /// A journal that counts beside others.
    pub(super) fn counting(session: SessionId, counted: Counted) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryJournal::new(session),
            appended: Mutex::default(),
            together: Mutex::default(),
            durable: AtomicUsize::new(0),
            fails_from: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            setups: Mutex::default(),
            lost: CancellationToken::new(),
            counted,
        })
    }

    /// The records that survive a crash.
    pub(super) fn durable(&self) -> Vec<EventRecord> {
        let appended = self.appended.lock().unwrap();
        appended.0[..self.durable_count()].to_vec()
    }

    /// The number of records that survive a crash.
    fn durable_count(&self) -> usize {
        self.durable.load(Ordering::SeqCst)
    }

    /// The blobs of all records.
    pub(super) fn blobs(&self) -> Vec<Blob> {
        self.appended.lock().unwrap().1.clone()
    }

    /// The kinds of the events, by call of `append`.
    pub(super) fn kinds_together(&self) -> Vec<Vec<String>> {
        let appended = self.appended.lock().unwrap();
        let mut kinds = appended
            .0
            .iter()
            .map(|record| json!(record.event)["kind"].as_str().unwrap().to_owned());
        let together = self.together.lock().unwrap();
        let group = |count: &usize| kinds.by_ref().take(*count).collect();
        together.iter().map(group).collect()
    }

    /// The storage after the process died: the durable records in a new journal.
    pub(super) fn after_crash(&self) -> Arc<Self> {
        let fresh = Self::counting(self.inner.session(), self.counted.clone());
        fresh.append(&self.durable(), self.appended.lock().unwrap().1.clone());
        fresh.durable.store(self.durable().len(), Ordering::SeqCst);
        *fresh.setups.lock().unwrap() = self.setups.lock().unwrap().clone();
        fresh
    }

    pub(super) fn barriers(&self) -> u64 {
        self.inner.barriers()
    }

    fn is_durably_intended(&self, id: &CallId) -> bool {
        self.durable().iter().any(|record| {
            matches!(
                &record.event,
                Event::CallIntended { call_id, .. } | Event::NodeIntended { call_id, .. }
                    if call_id == id
            )
        })
    }
}

impl Journal for TestJournal {
    fn session(&self) -> SessionId {
        self.inner.session()
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut appended = self.appended.lock().unwrap();
        appended.0.extend_from_slice(records);
        appended.1.extend(blobs.clone());
        self.together.lock().unwrap().push(records.len());
        self.inner.append(records, blobs);
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let fails_from = self.fails_from.load(Ordering::SeqCst);
        if fails_from != 0 && asked >= fails_from {
            let error = JournalError::storage("the disk is full");
            return Box::pin(std::future::ready(Err(error)));
        }
        let length = self.appended.lock().unwrap().0.len();
        self.durable.store(length, Ordering::SeqCst);
        self.inner.barrier()
    }

    fn given_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.lost.cancelled())
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, Result<Tallies, JournalError>> {
        let tallies = self.counted.tallies(self.inner.session(), &query);
        Box::pin(std::future::ready(Ok(tallies)))
    }

    fn count_call(&self, call: CountedCall) -> BoxFuture<'_, Result<bool, JournalError>> {
        let is_counted = self.counted.count(self.inner.session(), call);
        Box::pin(std::future::ready(Ok(is_counted)))
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        self.inner.records(from)
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        self.inner.blob(digest)
    }
}
