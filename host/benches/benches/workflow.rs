//! The engine's overhead of workflows: graphs of handlers that do nothing, a long `foreach`, and
//! the continuation of a run with many ended nodes.
//!
//! `cargo bench -p agent-host-benches --bench workflow`; figures: `host/BENCHMARKS.md`.

use agent_host_engine::{
    BoxFuture,
    journal::{Journal, MemoryJournal},
    model::{DeltaSink, Model},
    observer::Unobserved,
    session::{Session, SessionStart},
    turn::{Actors, Agent, ContinuationKey, Settings, StandardMode, TurnContext},
    workflow::{Graph, Handler, HandlerInput, Handlers},
};
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_types::{
    budget::Budgets,
    id::SessionId,
    model::{ModelError, ModelReply, ModelRequest, Provenance},
    tool::Effect,
    turn::{AgentInput, TurnEnd, TurnReport},
    workflow::{Artifact, NodeOutput},
};
use agent_host_workflow::definition::WorkflowDefinition;
use serde_json::{Value, json};
use std::{
    fs,
    future::{pending, ready},
    sync::Arc,
    time::{Duration, Instant},
};

/// The runs of a row, of which the fastest and the median are printed.
const RUNS: usize = 9;

/// A model that is never asked.
struct NoModel;

impl Model for NoModel {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "none".into(),
            model: "none".into(),
        }
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(pending())
    }
}

/// Returns its message.
struct Echo;

impl Handler for Echo {
    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn run(&self, input: HandlerInput) -> BoxFuture<'_, NodeOutput> {
        let text = input.input.text().unwrap_or_default();
        Box::pin(ready(NodeOutput::of_text(&input.node, None, text)))
    }
}

/// Returns a list of numbers.
struct List(usize);

impl Handler for List {
    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn run(&self, input: HandlerInput) -> BoxFuture<'_, NodeOutput> {
        let items: Vec<usize> = (0..self.0).collect();
        let mut output = NodeOutput::of_text(&input.node, None, "");
        let items = Artifact::value(&json!(items)).unwrap();
        output.artifacts.insert("items".into(), items);
        Box::pin(ready(output))
    }
}

fn agent(nodes: &Value, items: usize) -> Agent {
    let definition: WorkflowDefinition =
        serde_json::from_value(json!({ "name": "bench", "node": nodes })).unwrap();
    let mut handlers = Handlers::new();
    handlers.insert("echo".into(), Arc::new(Echo));
    handlers.insert("list".into(), Arc::new(List(items)));
    let mut agent = Agent {
        model: Arc::new(NoModel),
        tools: Arc::default(),
        agents: None,
        workflow: None,
        program: None,
        hooks: Vec::new(),
        mode: Arc::new(StandardMode),
        key: ContinuationKey::new([0; 32]),
        settings: Settings {
            budgets: Budgets::default(),
            ..Settings::default()
        },
    };
    let graph = Graph::check(&definition, &agent, handlers).unwrap();
    agent.workflow = Some(Arc::new(graph));
    agent
}

async fn turn(
    agent: &Agent,
    session: &mut Session,
    input: AgentInput,
    cancel: &tokio_util::sync::CancellationToken,
) -> TurnReport {
    let cx = TurnContext {
        observer: &Unobserved,
        approvals: &[],
        cancel,
        drain: &tokio_util::sync::CancellationToken::new(),
        actors: Actors::default(),
    };
    agent.run_turn(session, input, &cx).await
}

async fn once(agent: &Agent, journal: Arc<dyn Journal>) -> Duration {
    let mut session = Session::start(journal, SessionStart::default());
    let began = Instant::now();
    let cancel = tokio_util::sync::CancellationToken::new();
    let report = turn(agent, &mut session, AgentInput::Text("go".into()), &cancel).await;
    assert!(
        matches!(report.end, TurnEnd::Done { .. }),
        "{:?}",
        report.end
    );
    began.elapsed()
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let (fastest, median) = (times[0], times[times.len() / 2]);
    println!("{name:<48} fastest {fastest:>10.2?}  median {median:>10.2?}");
}

async fn in_memory(name: &str, agent: &Agent) {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let journal = Arc::new(MemoryJournal::new(SessionId::new()));
        times.push(once(agent, journal).await);
    }
    print(name, times);
}

/// A chain, and layers of 100 nodes that all depend on one before.
fn chain(nodes: usize) -> Value {
    let node = |index: usize| match index + 1 < nodes {
        true => {
            json!({"id": format!("n{index:05}"), "handler": "echo", "next": format!("n{:05}", index + 1), "message": "run.message"})
        }
        false => json!({"id": format!("n{index:05}"), "handler": "echo", "message": "run.message"}),
    };
    (0..nodes).map(node).collect()
}

fn fan(nodes: usize) -> Value {
    let ids: Vec<String> = (0..nodes - 2).map(|index| format!("n{index:05}")).collect();
    let mut all = vec![json!({"id": "a", "handler": "echo", "next": ids})];
    all.extend(ids.iter().map(|id| {
        json!({"id": id, "handler": "echo", "message": "run.message", "mode": "parallel", "next": "z"})
    }));
    all.push(json!({"id": "z", "handler": "echo", "message": "run.message"}));
    Value::Array(all)
}

fn each(mode: &str) -> Value {
    json!([
        {"id": "list", "handler": "list", "next": "each"},
        {
            "id": "each",
            "handler": "echo",
            "foreach": {"over": "list.artifacts.items", "mode": mode},
            "message": "'a result of some words, such as one that a tool returns'",
        },
    ])
}

/// The peak of this process's memory since the last call, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().trim_end_matches(" kB").trim().parse();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    peak.unwrap()
}

async fn stored(items: usize) {
    let agent = agent(&each("sequential"), items);
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), SqliteOptions::default())
        .await
        .unwrap();
    let id = SessionId::new();
    let journal = store.create(id).await.unwrap();
    let before = peak_kib();
    let took = once(&agent, journal).await;
    let peak = peak_kib().saturating_sub(before);
    println!("foreach over {items:>6}, stored: {took:>10.2?}, {peak} KiB more at the peak");
}

/// Ends a run within a `foreach` by a budget of time, and continues it.
async fn continued(items: usize) {
    let mut nodes = each("sequential");
    nodes[1]["next"] = json!("last");
    nodes.as_array_mut().unwrap().push(json!({
        "id": "last", "handler": "stop", "message": "'end'",
    }));
    let stop = tokio_util::sync::CancellationToken::new();
    let definition: WorkflowDefinition =
        serde_json::from_value(json!({ "name": "bench", "node": nodes })).unwrap();
    let mut agent = agent(&each("sequential"), items);
    let mut handlers = Handlers::new();
    handlers.insert("echo".into(), Arc::new(Echo));
    handlers.insert("list".into(), Arc::new(List(items)));
    handlers.insert("stop".into(), Arc::new(Stop(stop.clone())));
    let graph = Graph::check(&definition, &agent, handlers.clone()).unwrap();
    agent.workflow = Some(Arc::new(graph));
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), SqliteOptions::default())
        .await
        .unwrap();
    let id = SessionId::new();
    let mut session = Session::start(store.create(id).await.unwrap(), SessionStart::default());
    let cancel = tokio_util::sync::CancellationToken::new();
    let run = turn(&agent, &mut session, AgentInput::Text("go".into()), &cancel);
    tokio::select! {
        report = run => panic!("{:?}", report.end),
        () = stop.cancelled() => {}
    }
    drop(session);
    // The program ended there. Its last node runs again, and ends this time.
    handlers.insert("stop".into(), Arc::new(Echo));
    let graph = Graph::check(&definition, &agent, handlers).unwrap();
    agent.workflow = Some(Arc::new(graph));
    let began = Instant::now();
    let mut session = Session::resume(store.open_session(id).await.unwrap())
        .await
        .unwrap();
    let report = turn(&agent, &mut session, AgentInput::Continue, &cancel).await;
    assert!(
        matches!(report.end, TurnEnd::Done { .. }),
        "{:?}",
        report.end
    );
    println!("continued after {items} ended: {:>10.2?}", began.elapsed());
}

/// Says that it runs, and never ends.
struct Stop(tokio_util::sync::CancellationToken);

impl Handler for Stop {
    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn run(&self, _: HandlerInput) -> BoxFuture<'_, NodeOutput> {
        self.0.cancel();
        Box::pin(pending())
    }
}

#[tokio::main]
async fn main() {
    in_memory("1,000 nodes in a chain", &agent(&chain(1_000), 0)).await;
    in_memory("1,000 nodes, 998 side by side", &agent(&fan(1_000), 0)).await;
    in_memory(
        "foreach over 10,000, one by one",
        &agent(&each("sequential"), 10_000),
    )
    .await;
    in_memory(
        "foreach over 10,000, 4 at once",
        &agent(&each("parallel"), 10_000),
    )
    .await;
    stored(1_000).await;
    stored(10_000).await;
    continued(10_000).await;
}
