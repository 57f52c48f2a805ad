//! Nodes whose calls end the run.

use super::*;
use crate::turn::tests::{
    children::{approve, children},
    halt::{halted, stopper},
};
use pretty_assertions::assert_eq;

fn tools() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(stopper(Effect::Effectful, Approval::Never, text("stopped")));
    tools
}

fn tools_to_approve() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(stopper(
        Effect::Effectful,
        Approval::Always,
        text("stopped"),
    ));
    tools
}

fn end() -> WorkflowEnd {
    WorkflowEnd::Halted {
        message: "enough".into(),
    }
}

#[tokio::test]
async fn halt_in_a_node_ends_the_whole_run() {
    let nodes = json!([
        {"id": "a", "tool": "stop", "input": {}, "next": "b"},
        {"id": "b", "tool": "act", "input": {"n": 2}},
    ]);
    let mut flow = Flow::new(
        &nodes,
        Parts {
            tools,
            ..Parts::default()
        },
    );

    let report = flow.say().await;

    assert_eq!(report.end, halted());
    assert_eq!(flow.lines(), ["+a", "-a stopped", "=halted"]);
    assert_eq!(flow.bench.ran(), ["a"]);
    assert_eq!(summary(&report).end, end());
    // The next message runs the workflow again.
    assert_eq!(flow.say().await.end, halted());
}

/// The last node ends the run, too: its message is the answer, not its result.
#[tokio::test]
async fn halt_in_the_last_node_and_in_a_session_of_its_own() {
    let nodes = json!([{"id": "a", "tool": "stop", "input": {}}]);
    let mut flow = Flow::new(
        &nodes,
        Parts {
            tools: tools_to_approve,
            ..Parts::default()
        },
    );
    let (continuation, waiting) = children(&flow.say().await);

    let report = flow
        .bench
        .turn(AgentInput::Children {
            continuation,
            inputs: vec![approve(&waiting[0])],
        })
        .await;

    assert_eq!(report.end, halted());
    assert_eq!(summary(&report).end, end());
}

/// A node that fails ends nothing, whatever it asked for.
#[tokio::test]
async fn halt_of_a_failed_node_ends_nothing() {
    fn failing_tools() -> Vec<Tool> {
        let mut tools = standard();
        let broken = ToolResultOutput::ErrorText("broken".into());
        tools.push(stopper(Effect::Effectful, Approval::Never, broken));
        tools
    }
    let nodes = json!([
        {"id": "a", "tool": "stop", "input": {}, "next": "b"},
        {"id": "b", "tool": "act", "input": {"n": 2}},
    ]);
    let mut flow = Flow::new(
        &nodes,
        Parts {
            tools: failing_tools,
            ..Parts::default()
        },
    );
    let report = flow.say().await;
    assert_eq!(kind(&report), "done");
    assert_eq!(summary(&report).end, WorkflowEnd::Completed);
}
