//! Budgets, bounds, timeouts and cancellation of a run.

use super::*;
use agent_host_types::budget::Budget;
use pretty_assertions::assert_eq;
use std::sync::atomic::Ordering;

fn slow() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(
        tool("wait", Effect::ReadOnly, Approval::Never).stopping(|invocation| {
            Box::pin(async move {
                invocation.cancel.cancelled().await;
                failure("cancelled", "stopped").into()
            })
        }),
    );
    tools.push(
        tool("many", Effect::ReadOnly, Approval::Never)
            .body(|_| async { ToolResultOutput::from_value(json!((0..30).collect::<Vec<_>>())) }),
    );
    tools
}

fn with_slow() -> Parts {
    Parts {
        tools: slow,
        ..Parts::default()
    }
}

#[tokio::test]
async fn calls_of_all_nodes_count_against_the_budget() {
    let nodes = json!([
        {"id": "list", "tool": "many", "next": "each"},
        {"id": "each", "tool": "look", "foreach": "list.output", "input": {"n": "loop.item"}},
    ]);
    let parts = Parts {
        change: |agent| agent.settings.budgets.tool_calls = Some(4),
        ..with_slow()
    };
    let mut flow = Flow::new(&nodes, parts);
    let report = flow.say().await;
    let budget = Budget::ToolCalls { limit: 4 };
    assert_eq!(report.end, TurnEnd::BudgetExceeded { budget });
    assert_eq!(flow.bench.ran().len(), 4);

    flow.bench.agent.settings.budgets.tool_calls = None;
    let report = flow.bench.turn(AgentInput::Continue).await;
    assert_eq!(kind(&report), "done");
    assert_eq!(flow.bench.ran().len(), 31);
}

#[tokio::test]
async fn parallel_iterations_are_bounded_and_in_order() {
    let nodes = json!([
        {"id": "list", "tool": "many", "next": "each"},
        {
            "id": "each",
            "tool": "look",
            "foreach": {"over": "list.output", "mode": "parallel", "at-once": 20},
            "input": {"n": "loop.item"},
        },
    ]);
    let parts = Parts {
        change: |agent| agent.settings.parallel_calls = 3,
        ..with_slow()
    };
    let mut flow = Flow::new(&nodes, parts);
    let report = flow.say().await;
    let texts: Vec<String> = (0..30).map(|n| format!("look {{\"n\":{n}}}")).collect();
    assert_eq!(report.end, done(&texts.join("\n\n---\n\n")));
    assert_eq!(flow.bench.ran.peak.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn node_that_takes_too_long_fails() {
    let nodes = json!([{"id": "a", "tool": "wait", "timeout-ms": 50}]);
    let report = Flow::new(&nodes, with_slow()).say().await;
    let error = TurnError::Workflow {
        node: "a".into(),
        code: "timeout".into(),
        message: "the node did not finish within 50 ms".into(),
    };
    assert_eq!(report.end, TurnEnd::Error { error });
}

#[tokio::test]
async fn abort_stops_what_runs_beside_it() {
    let nodes = json!([
        {"id": "a", "tool": "wait", "mode": "async"},
        {"id": "b", "tool": "nope", "on-error": "abort"},
        {"id": "c", "tool": "look", "input": {}},
    ]);
    let tools = || {
        let mut tools = slow();
        tools.push(
            tool("nope", Effect::ReadOnly, Approval::Never)
                .body(|_| async { failure("no-luck", "it broke") }),
        );
        tools
    };
    let mut flow = Flow::new(
        &nodes,
        Parts {
            tools,
            ..Parts::default()
        },
    );
    let report = flow.say().await;
    let error = TurnError::Workflow {
        node: "b".into(),
        code: "no-luck".into(),
        message: "it broke".into(),
    };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert_eq!(
        flow.lines(),
        own(&["+a", "+b", "-b ! no-luck", "-a ! cancelled", "=aborted"])
    );
}

#[tokio::test]
async fn cancelled_run_stops_its_nodes_and_ends() {
    let nodes = json!([
        {"id": "a", "agent": "helper", "mode": "async"},
        {"id": "b", "tool": "wait", "next": "c"},
        {"id": "c", "tool": "look", "input": {}},
    ]);
    let mut flow = Flow::new(&nodes, with_slow());
    *flow.helper.cancel_when_asked.lock().unwrap() = Some(flow.bench.cancel.clone());
    let report = flow.say().await;
    assert_eq!(report.end, TurnEnd::Cancelled);
    let mut lines = flow.lines();
    lines[2..4].sort();
    assert_eq!(
        lines,
        own(&["+a", "+b", "-a ! cancelled", "-b ! cancelled", "=cancelled"])
    );
}
