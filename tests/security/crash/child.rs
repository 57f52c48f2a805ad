//! The process that is killed: the test binary, started again with the real tools, sandbox and
//! journal. It starts or resumes the one session of its state directory, and plays the user as
//! well.

use super::{
    play,
    points::{Fault, Points, WatchedJournal, WatchedJournals, WatchedModel, watched_tools},
};
use agent_host_app::{Config, Environment, Host, Overrides};
use agent_host_engine::{
    agents::Agents,
    journal::JournalError,
    observer::Unobserved,
    schema::AnswerSchema,
    session::{Session, SessionStart},
    turn::{Actors, Agent, Prompts, TurnContext},
};
use agent_host_journal::{JournalStore, SqliteOptions, SqliteStore};
use agent_host_sandbox::CompileWorker;
use agent_host_test_support::{TestEnv, program};
use agent_host_types::{
    id::SessionId,
    turn::{AgentInput, TurnEnd},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// Names the file with the order, in the environment of the child process.
const ORDER: &str = "AGENT_HOST_TEST_CRASH";

/// Starts a program that gets an error, not a fatal signal, at its bound on file sizes.
const HEEDING_BOUNDS: &str = r#"trap "" XFSZ; exec "$0" "$@""#;

/// The order for a child process.
#[derive(Serialize, Deserialize)]
struct Order {
    /// The fault, and the number of its point.
    fault: Option<(usize, Fault)>,
    /// Whether the process plays the user; otherwise it ends where one is needed.
    decides: bool,
}

/// The report of a process that ended by itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The points that it passed.
    pub(crate) points: Vec<String>,
    /// The end of its last turn; absent if nothing was left to do.
    pub(crate) outcome: Option<TurnEnd>,
}

/// Runs the order, if this process was started for one.
pub(crate) fn serve() -> bool {
    let Some(path) = std::env::var_os(ORDER).map(PathBuf::from) else {
        return false;
    };
    let order: Order = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let report = runtime.block_on(work(order));
    fs::write(
        path.with_extension("report"),
        serde_json::to_vec(&report).unwrap(),
    )
    .unwrap();
    true
}

/// Runs an order in a test directory, in a child process that runs only `test`. Returns `None` if
/// the child was killed.
pub(crate) fn run(
    test: &str,
    env: &TestEnv,
    fault: Option<(usize, Fault)>,
    decides: bool,
) -> Option<Report> {
    let path = env.outside().join("order");
    let order = serde_json::to_vec(&Order { fault, decides }).unwrap();
    fs::write(&path, order).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", HEEDING_BOUNDS])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"]);
    env.prepare(&mut command).env(ORDER, &path);
    let output = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    if output.status.signal() == Some(9) {
        return None;
    }
    assert!(output.status.success(), "{fault:?}: {output:?}");
    let report = path.with_extension("report");
    let text = fs::read(&report).unwrap();
    fs::remove_file(report).unwrap();
    Some(serde_json::from_slice(&text).unwrap())
}

async fn work(order: Order) -> Report {
    let environment = Environment::from_process().unwrap();
    let mut config = Config::load(
        Some(Path::new("agent.toml")),
        &Overrides::default(),
        &environment,
    )
    .unwrap();
    config.sandbox.compiler = Some(CompileWorker {
        exe: program().into(),
        args: vec!["compile-worker".into()],
    });
    let store = SqliteStore::open(&config.state_dir, SqliteOptions::default());
    let store = store.await.unwrap();
    let log = store.file().with_extension("db-wal");
    let points = Points::new(order.fault, log);
    let host = Host::open(config).await.unwrap();
    let mut agent = match host.config().workflows.first() {
        Some(workflow) => host
            .agents()
            .workflow_agent(&workflow.name, Prompts::Ask)
            .unwrap(),
        None => host.agents().agent(Prompts::Ask),
    };
    agent.model = Arc::new(WatchedModel {
        inner: agent.model,
        points: points.clone(),
    });
    // Many of these processes die before they make progress.
    agent.settings.resumes_without_progress = u64::MAX;
    agent.tools = watched_tools(&agent.tools, &points);
    agent.agents = agent.agents.map(|agents| watched_agents(&agents, &points));
    if let Ok(schema) = fs::read("schema.json") {
        let schema = serde_json::from_slice(&schema).unwrap();
        agent.settings.output_schema = Some(Arc::new(AnswerSchema::compile(&schema).unwrap()));
    }
    let mut session = open(&store, &points).await;
    let outcome = resume(&agent, &mut session, order.decides).await;
    Report {
        points: points.passed(),
        outcome,
    }
}

/// Puts the points around the agents that it can start.
fn watched_agents(agents: &Agents, points: &Arc<Points>) -> Arc<Agents> {
    let (agents, inner) = agents.parts();
    let watched = agents.into_iter().map(|mut child| {
        let points = points.clone();
        child.agent = child.agent.map(move |mut agent| {
            agent.model = Arc::new(WatchedModel {
                inner: agent.model,
                points: points.clone(),
            });
            agent.tools = watched_tools(&agent.tools, &points);
            agent.settings.resumes_without_progress = u64::MAX;
            agent
        });
        child
    });
    let points = points.clone();
    let journals = Arc::new(WatchedJournals { inner, points });
    Arc::new(Agents::new(watched.collect(), journals))
}

/// Opens the session of the state directory, or starts one.
async fn open(store: &dyn JournalStore, points: &Arc<Points>) -> Session {
    let watched = |inner| {
        Arc::new(WatchedJournal {
            inner,
            points: points.clone(),
        })
    };
    match store.find("latest").await {
        Ok(id) => {
            let journal = store.open_session(id).await.unwrap();
            Session::resume(watched(journal)).await.unwrap()
        }
        Err(JournalError::NotFound(_)) => {
            let journal = store.create(SessionId::new()).await.unwrap();
            Session::start(watched(journal), SessionStart::default())
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs turns until the model or the workflow has ended or something fails, and then revokes the
/// remembered approvals. A process that does not decide also ends where the user is needed.
async fn resume(agent: &Agent, session: &mut Session, decides: bool) -> Option<TurnEnd> {
    let mut input = match (
        agent.continuation(session),
        session.state().last_report().map(|report| &report.end),
    ) {
        // The agents may be further than their parent knows.
        (Some(continuation), _) if continuation.awaiting.kind() == "children" => {
            Some(AgentInput::Continue)
        }
        (Some(continuation), _) => Some(play::respond(&continuation)),
        (None, Some(TurnEnd::Done { .. })) => None,
        (None, _) if session.state().messages().is_empty() => {
            Some(AgentInput::Text("go".to_owned()))
        }
        (None, _) => Some(AgentInput::Continue),
    };
    let cx = TurnContext {
        observer: &Unobserved,
        approvals: &[],
        cancel: &CancellationToken::new(),
        drain: &CancellationToken::new(),
        actors: Actors::default(),
    };
    let mut last = None;
    while let Some(next) = input {
        let outcome = agent.run_turn(session, next, &cx).await.end;
        input = match &outcome {
            TurnEnd::NeedsMoreTurns => Some(AgentInput::Continue),
            TurnEnd::AwaitingChildren { .. } if !decides => return Some(outcome),
            TurnEnd::AwaitingConfirmation { continuation, .. }
            | TurnEnd::AwaitingAnswer { continuation, .. }
            | TurnEnd::PendingToolCalls { continuation, .. }
            | TurnEnd::AwaitingChildren { continuation } => Some(play::respond(continuation)),
            TurnEnd::Done { .. } | TurnEnd::Halted { .. } => None,
            TurnEnd::Error { .. }
            | TurnEnd::BudgetExceeded { .. }
            | TurnEnd::Refusal { .. }
            | TurnEnd::Cancelled => return Some(outcome),
        };
        last = Some(outcome);
    }
    for rule in session.state().remembered().to_vec() {
        session.revoke_approval(&rule, &Unobserved).await.unwrap();
    }
    last
}
