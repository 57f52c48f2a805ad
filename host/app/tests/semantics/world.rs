//! One host with one session, real except for the model, with short functions to drive it and to
//! read its events.

pub(super) use super::values::*;
use super::{
    components::Component,
    script::{Script, USAGE, provenance},
    tools::{Native, Runs, counted},
    watcher::Watcher,
};
use agent_host_app::{Config, Environment, Host, Overrides};
use agent_host_engine::{
    session::Session,
    turn::{Actors, Agent, Prompts, Settings, TurnContext},
};
use agent_host_journal::{
    ImportAs, ImportSource, JournalStore as _, SqliteOptions, SqliteStore, Transcript,
};
use agent_host_test_support::TestEnv;
use agent_host_types::{
    approval::Decision,
    continuation::Continuation,
    event::Event,
    id::{Digest, SessionId},
    message::{Message, Role},
    model::{ModelReply, StopReason},
    output::ToolResultOutput,
    question::Answer,
    tool::ToolRuntime,
    turn::{AgentInput, Durability, SubmittedResult, TurnEnd, TurnError, TurnReport, TurnSummary},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The longest that a turn may take before its test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host, its session, and the observed events.
pub(super) struct World {
    pub(super) agent: Agent,
    pub(super) session: Session,
    pub(super) script: Arc<Script>,
    pub(super) watcher: Arc<Watcher>,
    pub(super) cancel: CancellationToken,
    env: TestEnv,
    natives: Vec<Native>,
    runs: Runs,
    wired: bool,
    /// Dropped last, after everything that uses the journal.
    host: Host,
}

impl World {
    /// A new session with these components and scripted replies.
    pub(super) async fn new(components: &[Component], replies: Vec<ModelReply>) -> Self {
        Self::with(components, Vec::new(), replies).await
    }

    /// A new session with native tools, too.
    pub(super) async fn with(
        components: &[Component],
        natives: Vec<Native>,
        replies: Vec<ModelReply>,
    ) -> Self {
        let env = prepare("", components);
        let host = open(&env).await;
        let session = start(&host).await;
        Self::around(env, host, session, natives, Some(Script::new(replies)))
    }

    /// A new session with the model that these lines of `agent.toml` configure.
    pub(super) async fn wired(settings: &str, components: &[Component]) -> Self {
        let env = prepare(settings, components);
        let host = open(&env).await;
        let session = start(&host).await;
        Self::around(env, host, session, Vec::new(), None)
    }

    /// A new session that runs the workflow `flow` of these lines of `agent.toml`. Its agents have
    /// the scripted models of these files.
    pub(super) async fn workflow(
        settings: &str,
        components: &[Component],
        scripts: &[(&str, &str)],
    ) -> Self {
        let env = prepare(settings, components);
        for (file, script) in scripts {
            env.write(file, script);
        }
        let host = open(&env).await;
        let session = host.sessions().start(None).await.unwrap();
        let agent = host.agents().workflow_agent("flow", Prompts::Ask);
        let mut world = Self::around(env, host, session, Vec::new(), None);
        world.agent = agent.unwrap();
        world.wire();
        world
    }

    /// The refusal of the workflow `flow` of these lines of `agent.toml`.
    pub(super) async fn refused_workflow(settings: &str, components: &[Component]) -> String {
        let env = prepare(settings, components);
        let host = open(&env).await;
        let agent = host.agents().workflow_agent("flow", Prompts::Ask);
        agent.unwrap_err().to_string()
    }

    fn around(
        env: TestEnv,
        host: Host,
        session: Session,
        natives: Vec<Native>,
        script: Option<Arc<Script>>,
    ) -> Self {
        let watcher = Arc::<Watcher>::default();
        let agent = host.agents().agent(Prompts::Ask);
        let mut world = Self {
            agent,
            session,
            wired: script.is_none(),
            script: script.unwrap_or_default(),
            watcher,
            cancel: CancellationToken::new(),
            env,
            natives,
            runs: Runs::default(),
            host,
        };
        world.wire();
        world
    }

    /// Continues with a new session.
    pub(super) async fn start_session(&mut self) {
        self.session = start(&self.host).await;
    }

    /// Installs the scripted model and the counted tools.
    fn wire(&mut self) {
        if !self.wired {
            self.agent.model = self.script.clone();
        }
        let tools = counted(&self.agent.tools, &self.natives, &self.runs);
        self.agent.tools = Arc::new(tools);
    }

    /// Simulates a restart with other tools in `agent.toml`.
    pub(super) async fn restart_with(self, components: &[Component]) -> Self {
        self.restart_as("", components).await
    }

    /// Simulates a restart with other tools and these lines in `agent.toml`.
    pub(super) async fn restart_as(self, settings: &str, components: &[Component]) -> Self {
        configure(&self.env, settings, components);
        self.restart().await
    }

    /// Simulates a restart: drops everything and opens it again from disk. Changed settings stay.
    pub(super) async fn restart(self) -> Self {
        let Self {
            agent,
            session,
            script,
            watcher,
            env,
            natives,
            runs,
            wired,
            host,
            ..
        } = self;
        let (id, settings, hooks) = (session.id(), agent.settings.clone(), agent.hooks.clone());
        drop((agent, session, host));
        let host = open(&env).await;
        let session = host.sessions().resume(&id.to_string()).await.unwrap();
        let agent = host.agents().agent(Prompts::Ask);
        let mut world = Self {
            agent: Agent {
                settings: Settings {
                    rules: agent.settings.rules.clone(),
                    ..settings
                },
                hooks,
                ..agent
            },
            session,
            script,
            watcher,
            cancel: CancellationToken::new(),
            env,
            natives,
            runs,
            wired,
            host,
        };
        world.wire();
        world
    }

    /// Has the session record the setup of its loop, as the program does.
    fn configure(&mut self) {
        self.session.configure_loop(&self.agent.setup(), &[]);
    }

    /// Sends a message, and dies while a call of the tool `spin` runs.
    pub(super) async fn dies_while_it_spins(mut self) -> Self {
        self.configure();
        let input = AgentInput::Text("go".into());
        let cx = TurnContext {
            observer: self.watcher.as_ref(),
            approvals: &[],
            cancel: &self.cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        tokio::select! {
            outcome = self.agent.run_turn(&mut self.session, input, &cx) => {
                panic!("the turn ended: {outcome:?}")
            }
            () = self.watcher.spinning.notified() => {}
        }
        self.restart().await
    }

    /// Sends a message, and is cancelled while a call of the tool `spin` runs.
    pub(super) async fn cancelled_while_it_spins(&mut self) -> TurnReport {
        self.configure();
        let cancel = std::mem::take(&mut self.cancel);
        let input = AgentInput::Text("go".into());
        let cx = TurnContext {
            observer: self.watcher.as_ref(),
            approvals: &[],
            cancel: &cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let turn = self.agent.run_turn(&mut self.session, input, &cx);
        let stop = async {
            self.watcher.spinning.notified().await;
            cancel.cancel();
        };
        let both = async { tokio::join!(turn, stop).0 };
        timeless(tokio::time::timeout(PATIENCE, both).await.unwrap())
    }

    /// Runs one turn.
    pub(super) async fn turn(&mut self, input: AgentInput) -> TurnReport {
        self.configure();
        let cx = TurnContext {
            observer: self.watcher.as_ref(),
            approvals: &[],
            cancel: &self.cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let turn = self.agent.run_turn(&mut self.session, input, &cx);
        timeless(tokio::time::timeout(PATIENCE, turn).await.unwrap())
    }

    pub(super) async fn say(&mut self, text: &str) -> TurnReport {
        self.turn(AgentInput::Text(text.into())).await
    }

    pub(super) async fn resume(&mut self) -> TurnReport {
        self.turn(AgentInput::Continue).await
    }

    pub(super) async fn decide(
        &mut self,
        continuation: &Continuation,
        decisions: &[Decision],
    ) -> TurnReport {
        self.turn(AgentInput::Resume {
            continuation: continuation.clone(),
            decisions: decisions.to_vec(),
        })
        .await
    }

    pub(super) async fn answer(&mut self, continuation: &Continuation, text: &str) -> TurnReport {
        self.turn(AgentInput::Answer {
            continuation: continuation.clone(),
            answer: Answer::Text { text: text.into() },
        })
        .await
    }

    /// Submits results in their JSON form.
    pub(super) async fn submit(
        &mut self,
        continuation: &Continuation,
        results: &Value,
    ) -> TurnReport {
        let results: Vec<SubmittedResult> = serde_json::from_value(results.clone()).unwrap();
        self.turn(AgentInput::SubmitToolResults {
            continuation: continuation.clone(),
            results,
        })
        .await
    }

    /// Submits results in their JSON text.
    pub(super) async fn submit_text(&mut self, continuation: &Continuation, results: &str) {
        let results: Vec<SubmittedResult> = serde_json::from_str(results).unwrap();
        let outcome = self.turn(AgentInput::SubmitToolResults {
            continuation: continuation.clone(),
            results,
        });
        assert_eq!(kind(&outcome.await), "needs-more-turns");
    }

    /// Imports a conversation of another program, which becomes the session. Returns the warnings.
    pub(super) async fn import(&mut self, conversation: &Value) -> Vec<String> {
        let text = conversation.to_string();
        let transcript = Transcript::read(&mut text.as_bytes()).unwrap().unwrap();
        let warnings = transcript.warnings().to_vec();
        let source = ImportSource::Conversation(transcript);
        let store = self.store().await;
        let imported = store.import_owned(source, ImportAs::Copy, None).await;
        let session = imported.unwrap().to_string();
        self.session = self.host.sessions().resume(&session).await.unwrap();
        warnings
    }

    /// The durable events of a session.
    pub(super) async fn journal(&self, session: SessionId) -> Vec<Event> {
        let records = self.store().await.read(session, 0).await.unwrap();
        records.into_iter().map(|record| record.event).collect()
    }

    /// The journal, as another process opens it.
    async fn store(&self) -> SqliteStore {
        let store = SqliteStore::open(self.state_dir(), SqliteOptions::default());
        store.await.unwrap()
    }

    /// The ids of the calls that ran, in order of their start.
    /// The identity of a tool.
    pub(super) fn identity(&self, tool: &str) -> Option<Digest> {
        Some(self.agent.tools.get(tool)?.tool.identity())
    }

    pub(super) fn ran(&self) -> Vec<String> {
        self.runs.lock().unwrap().clone()
    }

    /// The directories that calls left, sorted: one for each effectful call that ran.
    pub(super) fn made(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.env.work().join("made")).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The results of the last batch, as the session keeps them.
    pub(super) fn results(&self) -> Vec<(String, ToolResultOutput)> {
        results_of(self.session.state().messages().last().unwrap())
    }

    /// The results in this message of the session.
    pub(super) fn results_at(&self, message: usize) -> Vec<(String, ToolResultOutput)> {
        results_of(&self.session.state().messages()[message])
    }

    /// The results in the last request to the model.
    pub(super) fn shown(&self) -> Vec<(String, ToolResultOutput)> {
        results_of(self.script.asked().last().unwrap().messages.last().unwrap())
    }

    /// The summary of a first turn in which the model stopped for this reason and asked for this
    /// many calls.
    pub(super) fn summary(&self, stop_reason: StopReason, tool_calls: u64) -> TurnSummary {
        TurnSummary {
            session: self.id(),
            turn: 1,
            total_turns: 1,
            turn_usage: USAGE,
            total_usage: USAGE,
            provenance: provenance(),
            response_id: Some("r".into()),
            stop_reason: Some(stop_reason),
            tool_calls,
            duration_ms: 0,
            tool_runtime: ToolRuntime::Host,
            durability: Durability::Turn,
            children: Vec::new(),
            workflow: None,
        }
    }

    /// The directory of this host's sessions.
    pub(super) fn state_dir(&self) -> &std::path::Path {
        &self.host.config().state_dir
    }

    pub(super) fn id(&self) -> SessionId {
        self.session.id()
    }
}

/// A test directory with these components in its `agent.toml`, and a directory for their traces.
fn prepare(settings: &str, components: &[Component]) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.work().join("made")).unwrap();
    configure(&env, settings, components);
    env
}

/// Writes `agent.toml`, and the components beside it.
fn configure(env: &TestEnv, settings: &str, components: &[Component]) {
    let mut text = format!(
        "{settings}\n[sandbox]\npooling = \"off\"\n[[grants.dir]]\nhost = \"made\"\nmode = \"read-write\"\n"
    );
    for Component {
        name,
        settings,
        bytes,
    } in components
    {
        let head = match bytes {
            Some(bytes) => {
                env.write(&format!("{name}.wasm"), bytes);
                format!("[[tool]]\ncomponent = \"{name}.wasm\"")
            }
            None => "[[external-tool]]".to_owned(),
        };
        writeln!(text, "{head}\nname = \"{name}\"\n{settings}").unwrap();
    }
    if components.iter().all(|component| component.bytes.is_none()) {
        text.insert_str(0, "tool = []\n");
    }
    env.write("agent.toml", text);
}

async fn start(host: &Host) -> Session {
    let system = host.agents().system_prompt(Prompts::Ask);
    host.sessions().start(system).await.unwrap()
}

async fn open(env: &TestEnv) -> Host {
    let variables = [
        ("HOME", env.outside().join("home").display().to_string()),
        (
            "XDG_CACHE_HOME",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/cache").to_owned(),
        ),
    ];
    let environment = Environment {
        cwd: env.work(),
        variables: variables
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
    };
    let file = env.work().join("agent.toml");
    let config = Config::load(Some(&file), &Overrides::default(), &environment).unwrap();
    Host::open(config).await.unwrap()
}

fn results_of(message: &Message) -> Vec<(String, ToolResultOutput)> {
    assert_eq!(message.role, Role::ToolResult);
    let results = message.tool_results.iter();
    results
        .map(|result| (result.call_id.0.clone(), result.output.clone()))
        .collect()
}

/// The outcome without its duration.
fn timeless(mut report: TurnReport) -> TurnReport {
    report.summary.duration_ms = 0;
    report
}

/// The outcome's kind, as in JSON.
pub(super) fn kind(report: &TurnReport) -> String {
    json!(report)["type"].as_str().unwrap().to_owned()
}

/// The calls and questions that a turn waits for.
pub(super) fn waiting(report: TurnReport) -> Continuation {
    match report.end {
        TurnEnd::AwaitingConfirmation { continuation, .. }
        | TurnEnd::AwaitingAnswer { continuation, .. }
        | TurnEnd::PendingToolCalls { continuation, .. }
        | TurnEnd::AwaitingChildren { continuation } => continuation,
        other => panic!("nothing waits: {other:?}"),
    }
}

/// The text of a refused input.
pub(super) fn refusal(report: TurnReport) -> String {
    match report.end {
        TurnEnd::Error {
            error: TurnError::Input { message },
        } => message,
        other => panic!("the input was not refused: {other:?}"),
    }
}
