//! Workflows in place of the model: what runs, what is recorded, and how the turn ends.

mod agents;
mod crashes;
mod drained;
mod halt;
mod limits;
mod waiting;

use super::{children::TestJournals, harness::*};
use crate::{
    BoxFuture,
    policy::{CallRule, NameGlob, RuleDecision},
    turn::Agent,
    workflow::{Graph, Handler, HandlerInput, Handlers},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::CallId,
    message::ToolResult,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Approval, Effect},
    turn::{AgentInput, ChildSummary, TurnEnd, TurnError, TurnReport},
    workflow::{NodeFailure, NodeOutput, WorkflowEnd, WorkflowSummary},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

/// An agent with a workflow, whose nodes can run the agents `helper` and `judge`.
struct Flow {
    bench: Bench,
    journals: Arc<TestJournals>,
    helper: Arc<QueueModel>,
    judge: Arc<QueueModel>,
}

/// The parts of a flow that tests change.
struct Parts {
    tools: fn() -> Vec<Tool>,
    helper: Vec<&'static str>,
    judge: Vec<&'static str>,
    handlers: Handlers,
    change: fn(&mut Agent),
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            tools: standard,
            helper: Vec::new(),
            judge: Vec::new(),
            handlers: Handlers::new(),
            change: |_| {},
        }
    }
}

impl Flow {
    fn new(nodes: &Value, parts: Parts) -> Self {
        let bench = Bench::with(Vec::new(), (parts.tools)());
        Self::around(bench, Arc::default(), nodes, parts)
    }

    /// The same after the process died.
    async fn resumed(&self, nodes: &Value, parts: Parts) -> Self {
        let bench = Bench::resume(&self.bench.journal, Vec::new(), (parts.tools)()).await;
        Self::around(bench, self.journals.after_crash(), nodes, parts)
    }

    fn around(mut bench: Bench, journals: Arc<TestJournals>, nodes: &Value, parts: Parts) -> Self {
        let agent = |replies: Vec<&str>| {
            let replies = replies.into_iter().map(says).collect();
            let of_child = Bench::with(replies, standard());
            (of_child.agent.clone(), of_child.model)
        };
        let (helper, of_helper) = agent(parts.helper);
        let (judge, of_judge) = agent(parts.judge);
        bench.adopt(vec![("helper", helper), ("judge", judge)], journals.clone());
        (parts.change)(&mut bench.agent);
        let definition = serde_json::from_value(json!({"name": "flow", "node": nodes})).unwrap();
        let graph = Graph::check(&definition, &bench.agent, parts.handlers).unwrap();
        bench.agent.workflow = Some(Arc::new(graph));
        Self {
            bench,
            journals,
            helper: of_helper,
            judge: of_judge,
        }
    }

    async fn say(&mut self) -> TurnReport {
        self.bench.say("go").await
    }

    /// The events of nodes, a line each: what happened, the node, and how it ended.
    fn lines(&self) -> Vec<String> {
        self.bench
            .journal
            .durable()
            .iter()
            .filter_map(line)
            .collect()
    }
}

fn line(record: &EventRecord) -> Option<String> {
    let of = |node: &str, iteration: &Option<u32>| match iteration {
        None => node.to_owned(),
        Some(index) => format!("{node}[{index}]"),
    };
    let ended = |output: &NodeOutput| match &output.error {
        None => output.text.clone(),
        Some(failure) => format!("! {}", failure.code),
    };
    Some(match &record.event {
        Event::NodeIntended {
            node, iteration, ..
        } => format!("+{}", of(node, iteration)),
        Event::NodeSettled {
            node,
            iteration,
            output,
            ..
        } => format!("-{} {}", of(node, iteration), ended(output)),
        Event::NodeRetried {
            node,
            iteration,
            attempt,
            failure,
            ..
        } => format!("~{} {attempt} {}", of(node, iteration), failure.code),
        Event::NodeSkipped { node } => format!("/{node}"),
        Event::WorkflowEnded { summary } => format!("={}", json!(summary.end)["type"].as_str()?),
        _ => return None,
    })
}

fn done(text: &str) -> TurnEnd {
    TurnEnd::Done {
        text: text.into(),
        output: None,
        result: None,
    }
}

fn summary(report: &TurnReport) -> WorkflowSummary {
    report.summary.workflow.clone().unwrap()
}

/// A handler that is a closure.
struct Closure<F>(F);

impl<F, R> Handler for Closure<F>
where
    F: Fn(HandlerInput) -> R + Send + Sync,
    R: Future<Output = NodeOutput> + Send + 'static,
{
    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn run(&self, input: HandlerInput) -> BoxFuture<'_, NodeOutput> {
        Box::pin((self.0)(input))
    }
}

fn handlers<F, R>(handlers: Vec<(&str, F)>) -> Handlers
where
    F: Fn(HandlerInput) -> R + Send + Sync + 'static,
    R: Future<Output = NodeOutput> + Send + 'static,
{
    let named = handlers.into_iter().map(|(name, run)| {
        let handler: Arc<dyn Handler> = Arc::new(Closure(run));
        (name.to_owned(), handler)
    });
    named.collect()
}

#[tokio::test]
async fn tools_run_in_order_and_their_ends_are_recorded() {
    let nodes = json!([
        {"id": "a", "tool": "look", "input": {"n": 1}, "next": "b"},
        {"id": "b", "tool": "act", "input": {"n": 2}},
    ]);
    let mut flow = Flow::new(&nodes, Parts::default());

    let report = flow.say().await;

    let result = ToolResult {
        call_id: CallId("b".into()),
        name: "act".into(),
        output: text(r#"act {"n":2}"#),
        whole: None,
    };
    let end = TurnEnd::Done {
        text: r#"act {"n":2}"#.into(),
        output: None,
        result: Some(result),
    };
    assert_eq!(report.end, end);
    let expected = WorkflowSummary {
        workflow: "flow".into(),
        end: WorkflowEnd::Completed,
        done: 2,
        failed: [].into(),
        skipped: Vec::new(),
    };
    assert_eq!(summary(&report), expected);
    let kinds = [
        "session-started",
        "input-received",
        "workflow-started",
        "node-intended",
        "node-settled",
        "node-intended",
        "node-settled",
        "workflow-ended",
        "turn-ended",
    ];
    assert_eq!(flow.bench.kinds(), kinds);
    assert_eq!(
        flow.lines(),
        [
            r#"+a"#,
            r#"-a look {"n":1}"#,
            "+b",
            r#"-b act {"n":2}"#,
            "=completed"
        ]
    );
    assert_eq!(*flow.bench.ran.premature.lock().unwrap(), []);
    assert_eq!(flow.bench.requests(), []);
}

#[tokio::test]
async fn handler_gets_the_message_and_the_iteration() {
    let nodes = json!([
        {"id": "list", "handler": "list", "next": "each"},
        {"id": "each", "handler": "each", "foreach": "list.artifacts.items", "message": "loop.item"},
    ]);
    let list = |input: HandlerInput| async move {
        let text = input.input.text().unwrap_or_default().to_owned();
        let mut output = NodeOutput::of_text(&input.node, None, text);
        let items = agent_host_types::workflow::Artifact::value(&json!(["x", "y"])).unwrap();
        output.artifacts.insert("items".into(), items);
        match input.iteration {
            None => output,
            Some(at) => {
                let prior: Vec<&str> = at
                    .prior_results
                    .iter()
                    .map(|result| result.unwrap().as_str())
                    .collect();
                NodeOutput::of_text(
                    &input.node,
                    None,
                    format!("{} {}/{} {prior:?}", output.text, at.index, at.total),
                )
            }
        }
    };
    let parts = Parts {
        handlers: handlers(vec![("list", list), ("each", list)]),
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);

    let report = flow.say().await;

    assert_eq!(
        report.end,
        done("x 0/2 []\n\n---\n\ny 1/2 [\"\\\"x 0/2 []\\\"\"]")
    );
    assert_eq!(
        flow.lines(),
        [
            "+list",
            "-list go",
            "+each[0]",
            "-each[0] x 0/2 []",
            "+each[1]",
            r#"-each[1] y 1/2 ["\"x 0/2 []\""]"#,
            "=completed",
        ]
    );
}

/// Failures: what the turn ends with, and what is recorded.
#[tokio::test]
async fn failure_of_a_node_is_seen_or_ends_the_run() {
    let tools = || {
        let mut tools = standard();
        tools.push(
            tool("break", Effect::ReadOnly, Approval::Never)
                .body(|_| async { failure("no-luck", "it broke") }),
        );
        tools
    };
    let error = |node: &str, code: &str, message: &str| TurnEnd::Error {
        error: TurnError::Workflow {
            node: node.into(),
            code: code.into(),
            message: message.into(),
        },
    };
    let cases: Vec<(Value, TurnEnd, Vec<&str>)> = vec![
        (
            json!([{"id": "a", "tool": "break"}]),
            error("a", "no-luck", "it broke"),
            vec!["+a", "-a ! no-luck", "=completed"],
        ),
        (
            json!([
                {"id": "a", "tool": "break", "next": "b"},
                {"id": "b", "agent": "helper", "inputs": [{"a": "a.text"}]},
            ]),
            done("sorry"),
            vec!["+a", "-a ! no-luck", "+b", "-b sorry", "=completed"],
        ),
        (
            json!([
                {"id": "a", "tool": "break", "next": "b"},
                {"id": "b", "agent": "helper", "inputs": [{"a": "a.text"}], "needs": "success"},
            ]),
            error("a", "no-luck", "it broke"),
            vec!["+a", "-a ! no-luck", "/b", "=completed"],
        ),
        (
            json!([
                {"id": "a", "tool": "break", "on-error": "abort", "next": "b"},
                {"id": "b", "tool": "look"},
            ]),
            error("a", "no-luck", "it broke"),
            vec!["+a", "-a ! no-luck", "=aborted"],
        ),
        (
            json!([
                {"id": "a", "tool": "break", "retry": {"times": 2}, "next": "b"},
                {"id": "b", "tool": "look", "input": {}},
            ]),
            TurnEnd::Done {
                text: "look {}".into(),
                output: None,
                result: Some(ToolResult {
                    call_id: CallId("b".into()),
                    name: "look".into(),
                    output: text("look {}"),
                    whole: None,
                }),
            },
            vec![
                "+a",
                "~a 1 no-luck",
                "+a",
                "~a 2 no-luck",
                "+a",
                "-a ! no-luck",
                "+b",
                "-b look {}",
                "=completed",
            ],
        ),
    ];
    for (nodes, end, lines) in cases {
        let parts = Parts {
            tools,
            helper: vec!["sorry"],
            ..Parts::default()
        };
        let mut flow = Flow::new(&nodes, parts);
        let report = flow.say().await;
        assert_eq!((report.end, flow.lines()), (end, own(&lines)), "{nodes}");
    }
}

fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[tokio::test]
async fn several_last_nodes_are_sections_of_the_answer() {
    let nodes = json!([
        {"id": "b", "agent": "helper"},
        {"id": "a", "agent": "judge"},
    ]);
    let parts = Parts {
        helper: vec!["two"],
        judge: vec!["one"],
        ..Parts::default()
    };
    let report = Flow::new(&nodes, parts).say().await;
    assert_eq!(report.end, done("[a]\none\n\n[b]\ntwo"));
}

#[tokio::test]
async fn second_message_is_a_second_run_with_calls_of_its_own() {
    let nodes = json!([{"id": "a", "agent": "helper"}]);
    let parts = Parts {
        helper: vec!["one", "two"],
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);
    assert_eq!(flow.say().await.end, done("one"));
    assert_eq!(flow.say().await.end, done("two"));
    assert_eq!(
        refusal(flow.bench.turn(AgentInput::Continue).await),
        "the workflow `flow` has ended, so there is nothing to continue; send a message"
    );
    let calls: Vec<String> = flow
        .bench
        .journal
        .durable()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::NodeIntended { call_id, .. } => Some(call_id.0),
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["a", "2.a"]);
}

fn deny(agent: &mut Agent, tool: &str) {
    agent.settings.rules = Arc::new([CallRule {
        name: "rule.no".into(),
        decision: RuleDecision::Deny,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: None,
        arguments: Vec::new(),
        condition: None,
        reason: None,
    }]);
}

#[tokio::test]
async fn policy_decides_about_nodes() {
    let parts = Parts {
        change: |agent| deny(agent, "look"),
        ..Parts::default()
    };
    let mut flow = Flow::new(&json!([{"id": "a", "tool": "look"}]), parts);
    let report = flow.say().await;
    assert_eq!(kind(&report), "error");
    let rules: Vec<Option<String>> = flow
        .bench
        .journal
        .durable()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::NodeSettled { rule, .. } => Some(rule),
            _ => None,
        })
        .collect();
    assert_eq!(rules, [Some("rule.no".to_owned())]);
    let failed: Vec<(String, NodeFailure)> = summary(&report).failed.into_iter().collect();
    assert_eq!(failed[0].1.code, "execution-denied");
    assert_eq!(flow.bench.ran(), [""; 0]);
}
