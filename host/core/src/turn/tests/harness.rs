//! What the turn tests share: a model that plays replies given as values, tools that are closures, a journal that can fail
//! at a barrier, and an observer that remembers. It decides nothing that a test is about.

use crate::{
    BoxFuture,
    accounting::Accounting,
    event::{Event, EventRecord},
    failure::ToolFailure,
    id::{CallId, Digest, SessionId},
    journal::{Journal, JournalError, MemoryJournal},
    message::{Message, Role},
    model::{
        DeltaSink, Model, ModelDelta, ModelError, ModelErrorKind, ModelReply, ModelRequest,
        Provenance, StopReason, Usage,
    },
    observer::{Live, Observer},
    output::{Blob, ToolResultOutput},
    schema::InputSchema,
    session::{Session, SessionStart},
    tool::{
        Approval, CallReport, Effect, Invocation, ProgressSink, RegisteredTool, ToolCall,
        ToolDefinition, ToolRunner,
    },
    turn::{Agent, AgentInput, Continuation, Decision, Outcome, Prompts, Settings, TurnError},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, VecDeque},
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
};

/// Plays its replies in order and remembers what it was asked.
pub(super) struct QueueModel {
    replies: Mutex<VecDeque<Result<ModelReply, ModelError>>>,
    requests: Mutex<Vec<ModelRequest>>,
    /// Cancelled when the model is asked, for tests that stop the turn meanwhile.
    pub(super) cancel_when_asked: Mutex<Option<CancellationToken>>,
}

impl Model for QueueModel {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "queue".into(),
            model: "m".into(),
        }
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

type Body = Box<dyn Fn(Invocation) -> BoxFuture<'static, ToolResultOutput> + Send + Sync>;

/// A tool that is a closure.
pub(super) struct Tool {
    registered: RegisteredTool,
    schema: InputSchema,
    body: Body,
}

/// A tool whose input is any object with an optional integer `n`. It answers with its name and its input.
pub(super) fn tool(name: &str, effect: Effect, approval: Approval) -> Tool {
    let input_schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Tool {
        schema: InputSchema::compile(&input_schema).unwrap(),
        registered: RegisteredTool {
            definition: ToolDefinition {
                name: name.into(),
                title: Some(format!("The tool {name}")),
                description: format!("Does {name}."),
                input_schema,
                output_schema: None,
                effect,
            },
            effect,
            approval,
        },
        body: Box::new(|invocation| {
            let text = format!("{} {}", invocation.tool, Value::Object(invocation.input));
            Box::pin(std::future::ready(ToolResultOutput::Text(text)))
        }),
    }
}

impl Tool {
    pub(super) fn body<F, R>(mut self, body: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResultOutput> + Send + 'static,
    {
        self.body = Box::new(move |invocation| Box::pin(body(invocation)));
        self
    }
}

/// The tools that most tests use: `look` and `peek` are read-only, `put` is idempotent, `act` is effectful and runs by
/// itself, `send` is effectful and asks.
pub(super) fn standard() -> Vec<Tool> {
    vec![
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("peek", Effect::ReadOnly, Approval::ByEffect),
        tool("put", Effect::Idempotent, Approval::Never),
        tool("act", Effect::Effectful, Approval::Never),
        tool("send", Effect::Effectful, Approval::ByEffect),
    ]
}

/// What the tools did.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) invocations: Mutex<Vec<Invocation>>,
    /// `+ID` when a call begins, `-ID` when it ends.
    pub(super) log: Mutex<Vec<String>>,
    running: AtomicUsize,
    /// The most calls that ever ran at once.
    pub(super) peak: AtomicUsize,
    /// Calls that began before their intention was durable.
    pub(super) premature: Mutex<Vec<CallId>>,
}

struct Tools {
    registered: Vec<RegisteredTool>,
    tools: HashMap<String, Tool>,
    ran: Arc<Ran>,
    journal: Arc<TestJournal>,
}

impl ToolRunner for Tools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.registered
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.tools[tool].schema.validate(input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, CallReport> {
        let ran = &self.ran;
        let tool = &self.tools[&invocation.tool];
        let id = invocation.call_id.clone();
        if !self.journal.is_durably_intended(&id) && tool.registered.effect != Effect::ReadOnly {
            ran.premature.lock().unwrap().push(id.clone());
        }
        ran.invocations.lock().unwrap().push(invocation.clone());
        Box::pin(async move {
            ran.log.lock().unwrap().push(format!("+{id}"));
            let running = ran.running.fetch_add(1, Ordering::SeqCst) + 1;
            ran.peak.fetch_max(running, Ordering::SeqCst);
            progress("half", Some(0.5));
            // Others get their chance to begin meanwhile, if they may.
            tokio::task::yield_now().await;
            let output = (tool.body)(invocation).await;
            ran.running.fetch_sub(1, Ordering::SeqCst);
            ran.log.lock().unwrap().push(format!("-{id}"));
            CallReport {
                output,
                accounting: Accounting {
                    wall_us: 7,
                    ..Accounting::default()
                },
                audit: Vec::new(),
            }
        })
    }
}

/// A memory journal that knows what is durable, and whose barriers fail from a chosen one on.
pub(super) struct TestJournal {
    inner: MemoryJournal,
    appended: Mutex<(Vec<EventRecord>, Vec<Blob>)>,
    durable: AtomicUsize,
    /// The barrier, from 1, from which on every one fails; 0 for none.
    pub(super) fails_from: AtomicU64,
    asked: AtomicU64,
}

impl TestJournal {
    pub(super) fn new(session: SessionId) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryJournal::new(session),
            appended: Mutex::default(),
            durable: AtomicUsize::new(0),
            fails_from: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        })
    }

    /// The records that would be there after a crash.
    pub(super) fn durable(&self) -> Vec<EventRecord> {
        let appended = self.appended.lock().unwrap();
        appended.0[..self.durable.load(Ordering::SeqCst)].to_vec()
    }

    /// What is on disk after the process died: the durable records in a new journal.
    pub(super) fn after_crash(&self) -> Arc<Self> {
        let fresh = Self::new(self.inner.session());
        fresh.append(&self.durable(), self.appended.lock().unwrap().1.clone());
        fresh.durable.store(self.durable().len(), Ordering::SeqCst);
        fresh
    }

    pub(super) fn barriers(&self) -> u64 {
        self.inner.barriers()
    }

    fn is_durably_intended(&self, id: &CallId) -> bool {
        self.durable().iter().any(
            |record| matches!(&record.event, Event::CallIntended { call_id, .. } if call_id == id),
        )
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
        self.inner.append(records, blobs);
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let fails_from = self.fails_from.load(Ordering::SeqCst);
        if fails_from != 0 && asked >= fails_from {
            let error = JournalError::Storage("the disk is full".into());
            return Box::pin(std::future::ready(Err(error)));
        }
        let length = self.appended.lock().unwrap().0.len();
        self.durable.store(length, Ordering::SeqCst);
        self.inner.barrier()
    }

    fn records(&self) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        self.inner.records()
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        self.inner.blob(digest)
    }
}

/// Remembers everything, and whether a record came before it was durable.
pub(super) struct Recorder {
    journal: Arc<TestJournal>,
    pub(super) records: Mutex<Vec<EventRecord>>,
    pub(super) premature: Mutex<Vec<u64>>,
    pub(super) live: Mutex<Vec<String>>,
}

impl Observer for Recorder {
    fn recorded(&self, record: &EventRecord) {
        if record.seq >= self.journal.durable().len() as u64 {
            self.premature.lock().unwrap().push(record.seq);
        }
        self.records.lock().unwrap().push(record.clone());
    }

    fn live(&self, live: Live<'_>) {
        let line = match live {
            Live::ModelAsked => "asked".to_owned(),
            Live::Text(text) => format!("text {text}"),
            Live::Reasoning(text) => format!("reasoning {text}"),
            Live::Restarted => "restarted".to_owned(),
            Live::CallStarted { call_id, .. } => format!("started {call_id}"),
            Live::CallProgress {
                call_id, message, ..
            } => format!("{message} {call_id}"),
            Live::CallEnded {
                call_id, output, ..
            } => format!("ended {call_id} {}", output.tag()),
        };
        self.live.lock().unwrap().push(line);
    }
}

/// An agent with everything that it touches.
pub(super) struct Bench {
    pub(super) agent: Agent,
    pub(super) session: Session,
    pub(super) model: Arc<QueueModel>,
    pub(super) ran: Arc<Ran>,
    pub(super) journal: Arc<TestJournal>,
    pub(super) observer: Arc<Recorder>,
    pub(super) cancel: CancellationToken,
}

impl Bench {
    /// A new session with the standard tools, in which a person can be asked.
    pub(super) fn new(replies: Vec<ModelReply>) -> Self {
        Self::with(replies, standard())
    }

    pub(super) fn with(replies: Vec<ModelReply>, tools: Vec<Tool>) -> Self {
        let journal = TestJournal::new(SessionId::new());
        let start = SessionStart {
            program: "test".into(),
            system: Some("Be brief.".into()),
            folder: None,
        };
        let session = Session::start(journal.clone(), start);
        Self::around(session, journal, replies, tools)
    }

    /// The session in which a journal was left, opened again.
    pub(super) async fn resume(
        journal: &TestJournal,
        replies: Vec<ModelReply>,
        tools: Vec<Tool>,
    ) -> Self {
        let journal = journal.after_crash();
        let session = Session::resume(journal.clone()).await.unwrap();
        Self::around(session, journal, replies, tools)
    }

    fn around(
        session: Session,
        journal: Arc<TestJournal>,
        replies: Vec<ModelReply>,
        tools: Vec<Tool>,
    ) -> Self {
        let model = Arc::new(QueueModel {
            replies: Mutex::new(replies.into_iter().map(Ok).collect()),
            requests: Mutex::default(),
            cancel_when_asked: Mutex::default(),
        });
        let ran = Arc::new(Ran::default());
        let observer = Arc::new(Recorder {
            journal: journal.clone(),
            records: Mutex::default(),
            premature: Mutex::default(),
            live: Mutex::default(),
        });
        let tools = Tools {
            registered: tools.iter().map(|tool| tool.registered.clone()).collect(),
            tools: tools
                .into_iter()
                .map(|tool| (tool.registered.definition.name.clone(), tool))
                .collect(),
            ran: ran.clone(),
            journal: journal.clone(),
        };
        let agent = Agent {
            model: model.clone(),
            tools: Arc::new(tools),
            observer: observer.clone(),
            settings: Settings {
                prompts: Prompts::Ask,
                ..Settings::default()
            },
        };
        let cancel = CancellationToken::new();
        Self {
            agent,
            session,
            model,
            ran,
            journal,
            observer,
            cancel,
        }
    }

    /// Runs one turn. A turn that hangs fails its test.
    pub(super) async fn turn(&mut self, input: AgentInput) -> Outcome {
        let turn = self.agent.run_turn(&mut self.session, input, &self.cancel);
        let limit = std::time::Duration::from_secs(20);
        tokio::time::timeout(limit, turn).await.unwrap()
    }

    pub(super) async fn say(&mut self, text: &str) -> Outcome {
        self.turn(AgentInput::Text(text.into())).await
    }

    /// Says something to which the model replies with calls that wait for a person.
    pub(super) async fn ask(&mut self) -> Continuation {
        match self.say("go").await {
            Outcome::AwaitingConfirmation { continuation, .. } => continuation,
            other => panic!("no confirmation is awaited: {other:?}"),
        }
    }

    pub(super) async fn decide(
        &mut self,
        continuation: &Continuation,
        decisions: Vec<Decision>,
    ) -> Outcome {
        let continuation = continuation.clone();
        self.turn(AgentInput::Resume {
            continuation,
            decisions,
        })
        .await
    }

    /// Runs another turn and returns the results that the model was shown in it.
    pub(super) async fn results_shown(&mut self) -> Vec<(String, ToolResultOutput)> {
        self.replies(says("ok"));
        self.turn(AgentInput::Continue).await;
        results_of(self.requests().last().unwrap().messages.last().unwrap())
    }

    pub(super) fn replies(&self, reply: ModelReply) {
        self.model.replies.lock().unwrap().push_back(Ok(reply));
    }

    pub(super) fn fails(&self, error: ModelError) {
        self.model.replies.lock().unwrap().push_back(Err(error));
    }

    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests.lock().unwrap().clone()
    }

    /// The ids of the calls that ran, in the order in which they began.
    pub(super) fn ran(&self) -> Vec<String> {
        let invocations = self.ran.invocations.lock().unwrap();
        let id = |invocation: &Invocation| invocation.call_id.0.clone();
        invocations.iter().map(id).collect()
    }

    /// The results of the last batch, as the session keeps them.
    pub(super) fn results(&self) -> Vec<(String, ToolResultOutput)> {
        results_of(self.session.state().messages().last().unwrap())
    }

    /// What happened, by kind, as far as it is durable.
    pub(super) fn kinds(&self) -> Vec<String> {
        let kind = |record: &EventRecord| json!(record.event)["kind"].as_str().map(str::to_owned);
        self.journal.durable().iter().filter_map(kind).collect()
    }
}

fn results_of(message: &Message) -> Vec<(String, ToolResultOutput)> {
    assert_eq!(message.role, Role::ToolResult);
    let results = message.tool_results.iter();
    results
        .map(|result| (result.call_id.0.clone(), result.output.clone()))
        .collect()
}

pub(super) fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.into())
}

pub(super) fn failure(code: &str, message: &str) -> ToolResultOutput {
    ToolResultOutput::ErrorJson(json!({"code": code, "message": message}))
}

pub(super) fn denied(reason: &str) -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(reason.into()))
}

/// Pairs of id and result, for comparison.
pub(super) fn pairs<const N: usize>(
    pairs: [(&str, ToolResultOutput); N],
) -> Vec<(String, ToolResultOutput)> {
    pairs.map(|(id, output)| (id.to_owned(), output)).into()
}

/// The outcome's kind, as in JSON.
pub(super) fn kind(outcome: &Outcome) -> String {
    json!(outcome)["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The text of a refused input.
pub(super) fn refusal(outcome: Outcome) -> String {
    match outcome {
        Outcome::Error {
            error: TurnError::Input { message },
        } => message,
        other => panic!("the input was not refused: {other:?}"),
    }
}

/// The outcome with its durations left out.
pub(super) fn timeless(mut outcome: Outcome) -> Outcome {
    match &mut outcome {
        Outcome::NeedsMoreTurns { summary }
        | Outcome::Done { summary, .. }
        | Outcome::BudgetExceeded { summary, .. }
        | Outcome::AwaitingConfirmation { summary, .. }
        | Outcome::Refusal { summary, .. }
        | Outcome::Cancelled { summary } => summary.duration_ms = 0,
        Outcome::Error { .. } => {}
    }
    outcome
}
