//! Measures the calls of a program: the cost of one beside the tool, which returns at once. A
//! journal in memory, the built-in component `code`, and the loop. Fails if the median of
//! sequential calls exceeds the bound. The figures are in host/BENCHMARKS.md.

use agent_host_benches::doubles;
use agent_host_engine::{
    BoxFuture,
    journal::MemoryJournal,
    model::{DeltaSink, Model},
    observer::Unobserved,
    policy::Grants,
    program::{Program, ProgramRun, ProgramRunner, RUN_PROGRAM},
    session::{Session, SessionStart},
    tool::CallReport,
    tool_set::ToolSet,
    turn::{Actors, Agent, ContinuationKey, Settings, StandardMode, TurnContext},
};
use agent_host_sandbox::{
    Call, CallContext, ProgramContext, Sandbox, SandboxConfig, ToolComponent,
};
use agent_host_types::{
    id::{CallId, SessionId},
    limits::Limits,
    model::{ModelError, ModelReply, ModelRequest, Provenance, StopReason},
    output::ToolResultOutput,
    tool::{Effect, ToolCall},
    turn::{AgentInput, TurnEnd},
};
use serde_json::{Map, Value, json};
use std::{
    future::ready,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The bound on the cost of one of a program's sequential calls.
const BOUND: Duration = Duration::from_micros(30);

/// The calls of one program.
const CALLS: u32 = 256;

/// The number of measured programs of each kind.
const PROGRAMS: usize = 50;

/// Writes one program.
struct Writes(Mutex<String>);

impl Model for Writes {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "bench".into(),
            model: "m".into(),
        }
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let code = self.0.lock().unwrap().clone();
        let call = ToolCall::parse(
            CallId("p".into()),
            RUN_PROGRAM.into(),
            json!({ "code": code }).to_string(),
        );
        Box::pin(ready(Ok(ModelReply {
            tool_calls: vec![call],
            stop_reason: Some(StopReason::ToolUse),
            ..ModelReply::default()
        })))
    }
}

struct Programs(ToolComponent);

impl ProgramRunner for Programs {
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport> {
        let component = self.0.clone();
        Box::pin(async move {
            let input = Map::from_iter([("code".to_owned(), Value::from(run.code))]);
            let call = Call {
                tool: "run_javascript",
                call_id: &CallId("program".into()),
                input: &input.into(),
                idempotency_key: "key",
                effect: Effect::ReadOnly,
                grants: Arc::new(Grants::default()),
                secrets: Arc::default(),
                limits: &Limits::default(),
                context: CallContext {
                    program: Some(ProgramContext {
                        tools: run.tools,
                        seed: run.seed,
                        started_ms: run.started_ms,
                    }),
                    ..CallContext::default()
                },
                progress: &|_| {},
            };
            component.call(call).await.settled().unwrap()
        })
    }
}

/// Runs a program a number of times, and returns the median.
async fn median(component: &ToolComponent, code: &str) -> Duration {
    let mut times = Vec::new();
    for _ in 0..PROGRAMS {
        let agent = Agent {
            model: Arc::new(Writes(Mutex::new(code.to_owned()))),
            tools: Arc::new(ToolSet::from_iter([doubles::instant_tool(
                "look",
                "Looks.",
                Effect::ReadOnly,
                json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
                "seen",
            )])),
            agents: None,
            hooks: Vec::new(),
            mode: Arc::new(StandardMode),
            workflow: None,
            program: None,
            key: ContinuationKey::new([0; 32]),
            settings: Settings::default(),
        };
        let program = Program {
            runner: Arc::new(Programs(component.clone())),
            max_calls: 10_000,
        };
        let agent = agent.with_programs(program, ToolSet::default(), Arc::new(doubles::InMemory));
        let journal = Arc::new(MemoryJournal::new(SessionId::new()));
        let mut session = Session::start(journal, SessionStart::default());
        let cx = TurnContext {
            observer: &Unobserved,
            approvals: &[],
            cancel: &CancellationToken::new(),
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let began = Instant::now();
        let input = AgentInput::Text("go".into());
        let report = agent.run_turn(&mut session, input, &cx).await;
        times.push(began.elapsed());
        assert!(matches!(report.end, TurnEnd::NeedsMoreTurns), "{report:?}");
        let last = session.state().messages().last().unwrap();
        let output = &last.tool_results[0].output;
        assert_eq!(*output, ToolResultOutput::json(json!({"value": "done"})));
    }
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let kinds = [
        ("no call", 0, "'done'".to_owned()),
        (
            "calls one after the other",
            CALLS,
            format!("for (let n = 0; n < {CALLS}; n++) await tools.look({{ n }}); 'done'"),
        ),
        (
            "calls at once",
            CALLS,
            format!(
                "await Promise.all(Array.from({{ length: {CALLS} }}, (_, n) => tools.look({{ n }}))); 'done'"
            ),
        ),
    ];
    runtime.block_on(async {
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let code = include_bytes!("../../../guest-tools/dist/code.wasm");
        let component = sandbox.load(code.as_slice()).await.unwrap();
        median(&component, "'done'").await;
        let mut base = Duration::ZERO;
        println!("program                          median   a call");
        for (name, calls, code) in kinds {
            let took = median(&component, &code).await;
            let each = match calls {
                0 => {
                    base = took;
                    Duration::ZERO
                }
                calls => took.saturating_sub(base) / calls,
            };
            println!("{name:<26}  {took:>10.1?}  {each:>10.2?}");
            assert!(each < BOUND, "{name}: {each:?}");
        }
    });
}
