//! Programs in the place of a model: their calls, what waits inside of them, restarts and limits.

mod crashes;
pub(super) mod printed;
mod semantics;
mod waiting;

use super::{children::TestJournals, harness::*};
use crate::{
    BoxFuture,
    program::{NestedCall, Program, ProgramRun, ProgramRunner, RUN_PROGRAM, ToolCaller},
    tool::{CallReport, SessionChange},
    tool_set::ToolSet,
    turn::{Step, StepOutput, StepReader},
};
use agent_host_types::{
    event::Event,
    id::Digest,
    model::ModelReply,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Approval, Effect},
    turn::{TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

type Body = Arc<dyn Fn(ToolCaller) -> BoxFuture<'static, ToolResultOutput> + Send + Sync>;

/// Runs a closure as every program.
#[derive(Clone)]
pub(super) struct Closure {
    body: Body,
    runs: Arc<AtomicUsize>,
    sources: Arc<Mutex<Vec<(String, Digest, u64)>>>,
}

impl ProgramRunner for Closure {
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let source = (run.code, run.seed, run.started_ms);
        self.sources.lock().unwrap().push(source);
        let ended = (self.body)(run.tools);
        Box::pin(async move { CallReport::of(ended.await) })
    }
}

/// Makes calls at once; a program that is to stop goes no further.
pub(super) async fn call(tools: &ToolCaller, calls: &[(&str, &str)]) -> Vec<ToolResultOutput> {
    let calls = calls.iter().map(|(name, input)| NestedCall {
        name: (*name).to_owned(),
        input: (*input).to_owned(),
    });
    match tools.call_many(calls.collect()).await {
        Some(results) => results,
        None => std::future::pending().await,
    }
}

/// An agent whose model writes programs over the standard tools.
pub(super) struct Coder {
    pub(super) bench: Bench,
    pub(super) journals: Arc<TestJournals>,
    pub(super) program: Closure,
}

impl Coder {
    pub(super) fn new<F>(body: F) -> Self
    where
        F: Fn(ToolCaller) -> BoxFuture<'static, ToolResultOutput> + Send + Sync + 'static,
    {
        Self::with(standard(), 256, body)
    }

    pub(super) fn with<F>(tools: Vec<Tool>, max_calls: usize, body: F) -> Self
    where
        F: Fn(ToolCaller) -> BoxFuture<'static, ToolResultOutput> + Send + Sync + 'static,
    {
        let bench = Bench::with(vec![writes("p"), says("done")], tools);
        Self::of(bench, max_calls, body)
    }

    /// An agent whose model writes programs.
    pub(super) fn of<F>(bench: Bench, max_calls: usize, body: F) -> Self
    where
        F: Fn(ToolCaller) -> BoxFuture<'static, ToolResultOutput> + Send + Sync + 'static,
    {
        let program = Closure {
            body: Arc::new(body),
            runs: Arc::default(),
            sources: Arc::default(),
        };
        Self::around(bench, Arc::default(), program, max_calls)
    }

    pub(super) fn around(
        mut bench: Bench,
        journals: Arc<TestJournals>,
        program: Closure,
        max_calls: usize,
    ) -> Self {
        let runner = Arc::new(program.clone());
        let writer = Program { runner, max_calls };
        bench.agent = bench
            .agent
            .with_programs(writer, ToolSet::default(), journals.clone());
        Self {
            bench,
            journals,
            program,
        }
    }

    pub(super) fn runs(&self) -> usize {
        self.program.runs.load(Ordering::SeqCst)
    }

    /// The result of the program.
    pub(super) fn result(&self) -> ToolResultOutput {
        let results = self.bench.results();
        assert_eq!(results.len(), 1);
        results.into_iter().next().unwrap().1
    }

    /// The kinds of the events of the program's session.
    fn kinds(&self) -> Vec<String> {
        let records = self.journals.only().durable();
        let kind = |event: &Event| json!(event)["kind"].as_str().unwrap().to_owned();
        records.iter().map(|record| kind(&record.event)).collect()
    }
}

/// A reply that writes a program.
pub(super) fn writes(id: &str) -> ModelReply {
    calls(&[(id, RUN_PROGRAM, r#"{"code": "the source"}"#)])
}

fn json_of(results: &[ToolResultOutput]) -> ToolResultOutput {
    ToolResultOutput::json(json!(results))
}

/// Batches run one after the other, each as the calls of a reply; the parent has the result alone.
#[tokio::test]
async fn program_calls_tools_and_returns_one_result() {
    let mut coder = Coder::new(|tools| {
        Box::pin(async move {
            let mut all = call(&tools, &[("look", r#"{"n": 1}"#), ("peek", "")]).await;
            all.extend(call(&tools, &[("act", r#"{"n": 2}"#)]).await);
            all.extend(call(&tools, &[]).await);
            json_of(&all)
        })
    });
    let report = coder.bench.say("go").await;
    assert_eq!(kind(&report), "needs-more-turns");
    let expected = json_of(&[
        text(r#"look {"n":1}"#),
        text("peek {}"),
        text(r#"act {"n":2}"#),
    ]);
    assert_eq!(coder.result(), expected);
    assert_eq!(
        (coder.runs(), coder.bench.ran()),
        (1, ids(&["call-1", "call-2", "call-3"]))
    );
    assert_eq!(
        coder.kinds(),
        [
            "session-started",
            "input-received",
            "program-called",
            "call-intended",
            "call-intended",
            "call-settled",
            "call-settled",
            "program-called",
            "call-intended",
            "call-settled",
            "program-ended",
            "turn-ended"
        ]
    );
    let requests = coder.bench.requests();
    let offered: Vec<&str> = requests[0]
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(offered, [RUN_PROGRAM]);
    let sources = coder.program.sources.lock().unwrap();
    assert_eq!(sources[0].0, "the source");
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// A program's session has a barrier at its end and one for each batch that may change something.
#[tokio::test]
async fn read_only_calls_of_a_program_need_no_barrier() {
    let cases: [(&[&str], u64); 3] = [
        (&["look", "look", "look", "peek"], 1),
        (&["look", "act", "look"], 2),
        (&["act", "put", "act"], 4),
    ];
    for (names, barriers) in cases {
        let mut coder = Coder::new(move |tools| {
            Box::pin(async move {
                for name in names {
                    call(&tools, &[(name, "")]).await;
                }
                text("done")
            })
        });
        coder.bench.say("go").await;
        assert_eq!(coder.result(), text("done"));
        assert_eq!(coder.journals.only().barriers(), barriers, "{names:?}");
    }
}

/// Failures of calls are values of the program, and every call passes schema and policy.
#[tokio::test]
async fn failed_and_denied_calls_are_results_of_the_program() {
    let mut coder = Coder::new(|tools| {
        Box::pin(async move {
            let calls = [
                ("missing", ""),
                ("look", r#"{"n": "x"}"#),
                ("look", "[]"),
                ("look", "not json"),
                (RUN_PROGRAM, r#"{"code": "1"}"#),
                ("peek", ""),
            ];
            let results = call(&tools, &calls).await;
            let code = |output: &ToolResultOutput| match output {
                ToolResultOutput::ErrorJson(json) => json.to_value()["code"].clone(),
                other => json!(other),
            };
            ToolResultOutput::json(results.iter().map(code).collect::<Value>())
        })
    });
    coder.bench.say("go").await;
    let expected = json!([
        "unknown-tool",
        "invalid-input",
        "invalid-input",
        "invalid-input",
        "unknown-tool",
        text("peek {}"),
    ]);
    assert_eq!(coder.result(), ToolResultOutput::json(expected));
}

/// A result that is too long for a conversation reaches the program whole.
#[tokio::test]
async fn long_result_reaches_the_program_whole() {
    const LENGTH: usize = 3 * 1024 * 1024;
    let long = tool("look", Effect::ReadOnly, Approval::Never)
        .body(|_| async { text(&"x".repeat(LENGTH)) });
    let mut coder = Coder::with(vec![long], 8, |tools| {
        Box::pin(async move {
            match call(&tools, &[("look", "")]).await.as_slice() {
                [ToolResultOutput::Text(text)] => ToolResultOutput::json(json!(text.len())),
                other => json_of(other),
            }
        })
    });
    coder.bench.say("go").await;
    assert_eq!(coder.result(), ToolResultOutput::json(json!(LENGTH)));
}

fn image(data: FileData) -> ToolResultOutput {
    ToolResultOutput::Content(vec![ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data,
        filename: Some("a.png".into()),
    })])
}

/// A file is a handle in the program and bytes again in its result; other handles are refused.
#[tokio::test]
async fn file_is_a_handle_that_only_its_program_can_return() {
    let png = include_bytes!("../../../../../../guest-tools/mcp-suite/dot.png").to_vec();
    let bytes = png.clone();
    let draws = move || {
        let bytes = bytes.clone();
        tool("draw", Effect::ReadOnly, Approval::Never).body(move |_| {
            let bytes = bytes.clone();
            async move { image(FileData::Bytes(bytes)) }
        })
    };
    let mut coder = Coder::with(vec![draws()], 8, |tools| {
        Box::pin(async move { call(&tools, &[("draw", "")]).await.remove(0) })
    });
    coder.bench.say("go").await;
    let shown = coder.bench.results_shown().await;
    assert_eq!(shown, pairs([("p", image(FileData::Bytes(png.clone())))]));
    let digest = Digest::of(&png);
    let mut coder = Coder::with(vec![draws()], 8, move |_| {
        let forged = FileData::Url(format!("session-file:{digest}"));
        Box::pin(async move { image(forged) })
    });
    coder.bench.say("go").await;
    let why = "The program returned a file that none of its calls returned. Pass files on as they came in results.";
    assert_eq!(coder.result(), failure("invalid-output", why));
}

#[tokio::test]
async fn limits_of_a_program_end_it() {
    let many = "The program was stopped: it made more than 3 calls (`code-calls` in agent.toml). Its calls so far took effect. Do less in one program.";
    let large = "The program was stopped: it made calls with more than 4194304 bytes of arguments. Its calls so far took effect. Do less in one program.";
    let pad: &'static str = Box::leak("x".repeat(2 * 1024 * 1024).into_boxed_str());
    let bodies: [(Body, &str, usize); 3] = [
        (
            Arc::new(|tools| {
                Box::pin(async move {
                    loop {
                        call(&tools, &[("look", "")]).await;
                    }
                })
            }),
            many,
            3,
        ),
        (
            Arc::new(|tools| {
                Box::pin(async move { json_of(&call(&tools, &[("look", ""); 4]).await) })
            }),
            many,
            0,
        ),
        (
            Arc::new(move |tools| {
                Box::pin(async move {
                    loop {
                        call(&tools, &[("peek", pad)]).await;
                    }
                })
            }),
            large,
            0,
        ),
    ];
    for (body, why, ran) in bodies {
        let mut coder = Coder::with(standard(), 3, move |tools| body(tools));
        coder.bench.say("go").await;
        assert_eq!(coder.result(), failure("resource-limit", why));
        assert_eq!(coder.bench.ran().len(), ran, "{why}");
    }
}

/// Changes of the session by its calls come with a success, all or none.
#[tokio::test]
async fn state_of_the_calls_comes_with_a_success() {
    for (end, expected) in [
        (text("done"), json!({"x": 1})),
        (ToolResultOutput::ErrorText("no".into()), json!({})),
    ] {
        let ended = end.clone();
        let merges = tool("act", Effect::Effectful, Approval::Never).ends(|_| {
            let delta = Map::from_iter([("x".to_owned(), json!(1))]);
            CallReport {
                changes: vec![SessionChange::Merge(delta)],
                ..CallReport::of(text("merged"))
            }
            .into()
        });
        let mut coder = Coder::with(vec![merges], 8, move |tools| {
            let end = end.clone();
            Box::pin(async move {
                call(&tools, &[("act", "")]).await;
                end
            })
        });
        coder.bench.say("go").await;
        assert_eq!(coder.result(), ended);
        let shared = coder.bench.session.state().shared().clone();
        assert_eq!(json!(*shared), expected);
    }
}

/// A cancelled turn stops the program and what it runs.
#[tokio::test]
async fn cancelled_turn_stops_the_program() {
    let mut coder = Coder::new(|_| Box::pin(std::future::pending()));
    let (cancel, journals) = (coder.bench.cancel.clone(), coder.journals.clone());
    let stop = async move {
        while journals.is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(coder.bench.say("go"), stop);
    assert_eq!(report.end, TurnEnd::Cancelled);
    assert_eq!(
        coder.result(),
        failure(
            "cancelled",
            "The call was stopped before it ended. Whether it took effect is not known."
        )
    );
}

/// The budgets of the parent hold for the calls of its programs.
#[tokio::test]
async fn budget_of_calls_bounds_a_program() {
    let mut coder = Coder::new(|tools| {
        Box::pin(async move {
            loop {
                call(&tools, &[("look", "")]).await;
            }
        })
    });
    coder.bench.agent.settings.budgets.tool_calls = Some(5);
    coder.bench.say("go").await;
    assert_eq!(
        coder.result(),
        failure(
            "agent-budget",
            "The agent used up its budget (tool-calls) before it had its result."
        )
    );
    assert_eq!(coder.bench.ran().len(), 4);
}

/// Every step of a program's turn can be read from its events.
#[tokio::test]
async fn steps_of_a_program_are_read_from_its_events() {
    let mut coder =
        Coder::new(|tools| Box::pin(async move { call(&tools, &[("look", "")]).await.remove(0) }));
    coder.bench.say("go").await;
    let mut reader = StepReader::default();
    let records = coder.journals.only().durable();
    let steps = records
        .into_iter()
        .flat_map(|record| reader.read(record.event));
    let steps: Vec<(Step, bool)> = steps
        .map(|step| {
            (
                step.step,
                matches!(step.result.output, StepOutput::Program { .. }),
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            (Step::CheckBudgets, false),
            (Step::RunProgram, true),
            (Step::CheckApproval, false),
            (Step::ExecuteTools, false),
            (Step::CheckBudgets, false),
            (Step::RunProgram, true),
        ]
    );
}

/// The declarations are in the description of the tool.
#[test]
fn tool_of_programs_declares_the_others() {
    let coder = Coder::new(|_| Box::pin(std::future::pending()));
    let tool = coder.bench.agent.tools.tools().next().unwrap();
    let description = &tool.definition.description;
    let expected = "  /** Does look. */\n  look(input: { n?: number }): Promise<any>;\n";
    assert!(description.contains(expected), "{description}");
    assert_eq!(tool.effect, Effect::Effectful);
    assert_eq!(tool.approval, Approval::Never);
}

fn done(report: &TurnReport) -> bool {
    matches!(report.end, TurnEnd::Done { .. })
}
