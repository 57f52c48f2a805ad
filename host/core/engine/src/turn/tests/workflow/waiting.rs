//! Nodes that wait for the user, while others go on.

use super::*;
use crate::turn::{
    Prompts,
    tests::children::{approve, children},
};
use agent_host_types::{approval::Decision, continuation::Awaiting, turn::ChildInput};
use pretty_assertions::assert_eq;

/// A draft, its approval by the user, and a check beside it.
fn publish() -> Value {
    json!([
        {"id": "draft", "agent": "helper", "next": ["publish", "check"]},
        {"id": "publish", "tool": "send", "input": {"n": 1}},
        {"id": "check", "tool": "look", "input": {}, "next": "note"},
        {"id": "note", "tool": "put", "input": {}},
    ])
}

fn drafting() -> Parts {
    Parts {
        helper: vec!["bees"],
        ..Parts::default()
    }
}

#[tokio::test]
async fn node_waits_for_approval_while_others_go_on() {
    let mut flow = Flow::new(&publish(), drafting());

    let (continuation, waiting) = children(&flow.say().await);

    let lines = [
        "+draft",
        "-draft bees",
        "+check",
        "-check look {}",
        "+note",
        "-note put {}",
        "+publish",
    ];
    assert_eq!(flow.lines(), own(&lines));
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (waiting[0].call_id.0.as_str(), waiting[0].agent.as_str()),
        ("publish", "send")
    );
    let Awaiting::Confirm { calls, .. } = &waiting[0].continuation.awaiting else {
        panic!("{:?}", waiting[0]);
    };
    assert_eq!(calls[0].tool, "send");
    assert_eq!(json!(calls[0].input), json!({"n": 1}));
    assert_eq!(flow.bench.ran(), ["check", "note"]);

    let report = flow
        .bench
        .turn(AgentInput::Children {
            continuation,
            inputs: vec![approve(&waiting[0])],
        })
        .await;

    assert_eq!(
        report.end,
        done("[note]\nput {}\n\n[publish]\nsend {\"n\":1}")
    );
    assert_eq!(flow.bench.ran(), ["check", "note", "call"]);
    assert_eq!(summary(&report).done, 4);
}

#[tokio::test]
async fn denied_node_fails_with_the_users_words() {
    let mut flow = Flow::new(
        &json!([{"id": "publish", "tool": "send", "input": {"n": 1}}]),
        Parts::default(),
    );
    let (continuation, waiting) = children(&flow.say().await);
    let call_id = waiting[0].continuation.calls()[0].call_id.clone();
    let denied = ChildInput {
        call_id: waiting[0].call_id.clone(),
        input: AgentInput::Resume {
            continuation: waiting[0].continuation.clone(),
            decisions: vec![Decision::Reject {
                call_id,
                reason: Some("not today".into()),
            }],
        },
    };
    let report = flow
        .bench
        .turn(AgentInput::Children {
            continuation,
            inputs: vec![denied],
        })
        .await;
    let error = TurnError::Workflow {
        node: "publish".into(),
        code: "execution-denied".into(),
        message: "not today".into(),
    };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert_eq!(flow.bench.ran(), [""; 0]);
}

#[tokio::test]
async fn node_without_a_user_to_ask_is_denied() {
    let parts = Parts {
        change: |agent| agent.settings.prompts = Prompts::Deny,
        ..Parts::default()
    };
    let mut flow = Flow::new(
        &json!([{"id": "publish", "tool": "send", "input": {}}]),
        parts,
    );
    flow.say().await;
    let lines = ["-publish ! execution-denied", "=completed"];
    assert_eq!(flow.lines(), own(&lines));
}

#[tokio::test]
async fn waiting_node_survives_a_restart() {
    let mut flow = Flow::new(&publish(), drafting());
    flow.say().await;

    let mut flow = flow.resumed(&publish(), Parts::default()).await;
    let (continuation, waiting) = children(&flow.bench.turn(AgentInput::Continue).await);
    let input = AgentInput::Children {
        continuation,
        inputs: vec![approve(&waiting[0])],
    };
    let report = flow.bench.turn(input.clone()).await;

    assert_eq!(
        report.end,
        done("[note]\nput {}\n\n[publish]\nsend {\"n\":1}")
    );
    // The check and the note ran before the restart.
    assert_eq!(flow.bench.ran(), ["call"]);
    assert_eq!(
        refusal(flow.bench.turn(input).await),
        "nothing is pending in this session; the continuation was already used, or its calls were answered"
    );
}

/// A denied node has no intent in the journal.
#[tokio::test]
async fn run_with_a_denied_node_continues() {
    let nodes = json!([
        {"id": "a", "tool": "peek", "next": "b"},
        {"id": "b", "tool": "send", "input": {"n": 1}},
    ]);
    let parts = || Parts {
        change: |agent| deny(agent, "peek"),
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts());
    children(&flow.say().await);

    let mut flow = flow.resumed(&nodes, parts()).await;
    let (continuation, waiting) = children(&flow.bench.turn(AgentInput::Continue).await);
    let report = flow
        .bench
        .turn(AgentInput::Children {
            continuation,
            inputs: vec![approve(&waiting[0])],
        })
        .await;

    assert_eq!(kind(&report), "done");
    assert_eq!(
        flow.lines(),
        own(&[
            "-a ! execution-denied",
            "+b",
            "-b send {\"n\":1}",
            "=completed"
        ])
    );
}

#[tokio::test]
async fn several_nodes_that_wait_are_listed_together() {
    let nodes = json!([
        {"id": "b", "tool": "send", "input": {"n": 2}, "mode": "parallel"},
        {"id": "a", "tool": "send", "input": {"n": 1}, "mode": "parallel"},
    ]);
    let mut flow = Flow::new(&nodes, Parts::default());
    let (continuation, waiting) = children(&flow.say().await);
    let names: Vec<&str> = waiting
        .iter()
        .map(|child| child.call_id.0.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);

    let (continuation, waiting) = children(
        &flow
            .bench
            .turn(AgentInput::Children {
                continuation,
                inputs: vec![approve(&waiting[1])],
            })
            .await,
    );
    assert_eq!(waiting.len(), 1);
    let report = flow
        .bench
        .turn(AgentInput::Children {
            continuation,
            inputs: vec![approve(&waiting[0])],
        })
        .await;
    assert_eq!(
        report.end,
        done("[a]\nsend {\"n\":1}\n\n[b]\nsend {\"n\":2}")
    );
}

#[tokio::test]
async fn new_message_supersedes_a_run_that_waits() {
    let mut flow = Flow::new(&publish(), drafting());
    let (continuation, waiting) = children(&flow.say().await);
    flow.helper
        .replies
        .lock()
        .unwrap()
        .push_back(Ok(says("wasps")));

    let (_, again) = children(&flow.say().await);

    assert_eq!(again[0].call_id.0, "2.publish");
    let lines = flow.lines();
    assert_eq!(lines[7..9], own(&["-publish ! cancelled", "=cancelled"]));
    let late = AgentInput::Children {
        continuation,
        inputs: vec![approve(&waiting[0])],
    };
    assert!(refusal(flow.bench.turn(late).await).contains("is not the pending one"));
}

#[tokio::test]
async fn changed_definition_is_refused_unless_accepted() {
    let mut flow = Flow::new(&publish(), drafting());
    flow.say().await;
    let mut changed = publish();
    changed[2]["input"] = json!({"n": 9});

    let mut refused = flow.resumed(&changed, Parts::default()).await;
    assert_eq!(
        refusal(refused.bench.turn(AgentInput::Continue).await),
        "the workflow `flow` has changed since this run of it started; undo the change, or continue with \
         `--accept-changed`, which keeps the results so far"
    );

    let parts = Parts {
        change: |agent| agent.settings.accepts_changed_workflow = true,
        ..Parts::default()
    };
    let mut accepted = flow.resumed(&changed, parts).await;
    let (_, waiting) = children(&accepted.bench.turn(AgentInput::Continue).await);
    assert_eq!(waiting[0].call_id.0, "publish");

    accepted.bench.agent.workflow = None;
    assert_eq!(
        refusal(accepted.bench.turn(AgentInput::Continue).await),
        "this session runs the workflow `flow`; continue it with `--workflow flow`"
    );
}
