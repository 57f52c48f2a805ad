//! F: workflows.

use super::{
    components::{Component, act, look, peek, returning, send, slow, spin},
    world::{World, kind},
};
use agent_host_engine::artifact::ArtifactName;
use agent_host_test_guests::Body;
use agent_host_types::{
    event::Event,
    turn::{TurnEnd, TurnError, TurnReport},
    workflow::{NodeOutput, WorkflowSummary},
};
use pretty_assertions::assert_eq;

/// An agent that repeats its message.
const PARROT: &str = r#"
[[agent]]
name = "parrot"
description = "Repeats."
model = "script:parrot.toml"
tools = []
"#;

const REPEATS: (&str, &str) = ("parrot.toml", "[[turn]]\ntext = \"heard: {{ prompt }}\"\n");

/// A result of a tool that reports a failure without raising: an object with a code and a message.
const FAILURE: Body<'static> = Body::Text(4, br#"{"code":"no-luck","message":"it broke"}"#);

fn flow(nodes: &str) -> String {
    format!("{PARROT}[[workflow]]\nname = \"flow\"\n{nodes}\n")
}

async fn world(nodes: &str, components: &[Component]) -> World {
    World::workflow(&flow(nodes), components, &[REPEATS]).await
}

/// The events of nodes: `+` where one starts, `-` where it ends, and its text or failure.
async fn lines(world: &World) -> Vec<String> {
    let name = |node: &str, iteration: Option<u32>| match iteration {
        None => node.to_owned(),
        Some(index) => format!("{node}[{index}]"),
    };
    let ended = |output: &NodeOutput| match &output.error {
        None => output.text.clone(),
        Some(failure) => format!("! {failure}"),
    };
    let events = world.journal(world.id()).await.into_iter();
    events
        .filter_map(|event| match event {
            Event::NodeIntended {
                node, iteration, ..
            } => Some(format!("+{}", name(&node, iteration))),
            Event::NodeSettled {
                node,
                iteration,
                output,
                ..
            } => Some(format!("-{} {}", name(&node, iteration), ended(&output))),
            _ => None,
        })
        .collect()
}

fn text(report: &TurnReport) -> &str {
    match &report.end {
        TurnEnd::Done { text, .. } => text,
        other => panic!("the workflow did not end: {other:?}"),
    }
}

fn summary(report: &TurnReport) -> &WorkflowSummary {
    report.summary.workflow.as_ref().unwrap()
}

/// F1, F2, F3: all faults at once, before anything is recorded.
#[tokio::test]
async fn f01_f02_f03_faulty_workflow_is_refused_with_all_faults() {
    let faulty = r#"
[[workflow]]
name = "flow"
[[workflow.node]]
id = "a"
tool = "look"
next = ["b", "nowhere"]
[[workflow.node]]
id = "b"
tool = "look"
next = "c"
[[workflow.node]]
id = "c"
tool = "look"
next = "b"
[[workflow.node]]
id = "both"
tool = "look"
agent = "general-purpose"
[[workflow.node]]
id = "none"
"#;
    let refused = World::refused_workflow(faulty, &[look()]).await;
    let mut lines: Vec<&str> = refused.lines().map(str::trim).collect();
    lines[1..].sort_unstable();
    assert_eq!(
        lines,
        [
            "cannot use the workflow `flow`; correct it in agent.toml:",
            "node `a`: `next` names `nowhere`, which is not a node; add the node, or remove it from `next`",
            "node `both` has `agent` and `tool`; set exactly one of `agent`, `tool` and `handler`",
            "node `none` has no agent, tool or handler; set exactly one of `agent`, `tool` and `handler`",
            "nodes `b` -> `c` -> `b` form a cycle; remove one of these edges from `next`",
        ]
    );
}

#[tokio::test]
async fn f04_join_of_a_diamond_runs_once() {
    let diamond = r#"
[[workflow.node]]
id = "top"
tool = "look"
next = ["left", "right"]
[[workflow.node]]
id = "left"
tool = "look"
next = "join"
[[workflow.node]]
id = "right"
tool = "peek"
next = "join"
[[workflow.node]]
id = "join"
tool = "act"
"#;
    let mut world = world(diamond, &[look(), peek(), act()]).await;
    assert_eq!(text(&world.say("go").await), "{}");
    assert_eq!(world.made(), ["join"]);
    assert_eq!(world.ran(), ["top", "left", "right", "join"]);
}

/// F5 and F6: parallel siblings overlap; sync ones never do, and run in the order of their ids.
#[tokio::test]
async fn f05_f06_parallel_siblings_overlap_and_sync_ones_do_not() {
    let siblings = |mode: &str| {
        let node = |id: &str| {
            format!("[[workflow.node]]\nid = \"{id}\"\ntool = \"slow\"\nmode = \"{mode}\"\n")
        };
        [node("b"), node("a")].concat()
    };
    let cases = [
        ("parallel", ["+a", "+b", "-a {}", "-b {}"]),
        ("sync", ["+a", "-a {}", "+b", "-b {}"]),
    ];
    for (mode, expected) in cases {
        let mut world = world(&siblings(mode), &[slow()]).await;
        world.say("go").await;
        let mut lines = lines(&world).await;
        if mode == "parallel" {
            lines[2..].sort_unstable();
        }
        assert_eq!(lines, expected, "{mode}");
    }
}

/// F7: later nodes run on beside it, dependents wait for it, and the run waits for all.
#[tokio::test]
async fn f07_async_node_runs_beside_others() {
    let nodes = r#"
[[workflow.node]]
id = "back"
tool = "slow"
mode = "async"
next = "after"
[[workflow.node]]
id = "first"
tool = "look"
next = "second"
[[workflow.node]]
id = "second"
tool = "look"
[[workflow.node]]
id = "after"
tool = "look"
"#;
    let mut world = world(nodes, &[look(), slow()]).await;
    world.say("go").await;
    assert_eq!(
        lines(&world).await,
        [
            "+back",
            "+first",
            "-first {}",
            "+second",
            "-second {}",
            "-back {}",
            "+after",
            "-after {}",
        ]
    );
}

/// F8: a failure that is continued is a marked section, never ordinary text.
#[tokio::test]
async fn f08_failure_is_a_marked_section_of_what_follows() {
    let nodes = r#"
[[workflow.node]]
id = "try"
tool = "broken"
next = "tell"
[[workflow.node]]
id = "tell"
agent = "parrot"
inputs = [{ try = "try.text" }]
"#;
    let mut world = world(nodes, &[returning("broken", FAILURE)]).await;
    let report = world.say("go").await;
    assert_eq!(text(&report), "heard: [try: failed]\nno-luck: it broke");
    assert_eq!(summary(&report).failed["try"].code, "no-luck");
}

/// F9: an abort stops what runs beside it at once, and names the node and the cause.
#[tokio::test]
async fn f09_abort_cancels_background_nodes() {
    let nodes = r#"
[[workflow.node]]
id = "back"
tool = "spin"
mode = "async"
[[workflow.node]]
id = "try"
tool = "broken"
on-error = "abort"
[[workflow.node]]
id = "zero"
tool = "spin"
"#;
    let spin = spin("spin", agent_host_types::tool::Effect::ReadOnly);
    let mut world = world(nodes, &[returning("broken", FAILURE), spin]).await;
    let report = world.say("go").await;
    let error = TurnError::Workflow {
        node: "try".into(),
        code: "no-luck".into(),
        message: "it broke".into(),
    };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert_eq!(
        lines(&world).await,
        [
            "+back",
            "+try",
            "-try ! no-luck: it broke",
            "-back ! cancelled: The call was stopped before it ended."
        ]
    );
}

/// F10 and F13: the message wins over the inputs, which are sections in their order; every first
/// node gets the initial message.
#[tokio::test]
async fn f10_f13_messages_of_nodes() {
    let nodes = r#"
[[workflow.node]]
id = "a"
agent = "parrot"
next = ["c", "d"]
[[workflow.node]]
id = "b"
agent = "parrot"
next = ["c", "d"]
[[workflow.node]]
id = "c"
agent = "parrot"
inputs = [{ second = "b.text" }, { first = "a.text" }]
[[workflow.node]]
id = "d"
agent = "parrot"
message = "'only this'"
inputs = [{ first = "a.text" }]
"#;
    let mut world = world(nodes, &[look()]).await;
    assert_eq!(
        text(&world.say("go").await),
        "[c]\nheard: [second]\nheard: go\n\n[first]\nheard: go\n\n[d]\nheard: only this"
    );
}

/// F11 and F12: nothing to run over is a success; a failed item leaves the others.
#[tokio::test]
async fn f11_f12_foreach_over_nothing_and_with_a_failure() {
    let nodes = r#"
[[workflow.node]]
id = "list"
tool = "list"
next = "each"
[[workflow.node]]
id = "each"
tool = "look"
foreach = "list.output"
input = { n = "loop.item" }
"#;
    let cases: [(&'static [u8], &str, usize, Option<u32>); 3] = [
        (b"[]", "done", 0, None),
        (b"[1,2,3]", "done", 3, None),
        // The schema of the tool refuses the third item, which is a text; the others are tried.
        (b"[1,2,\"x\",4]", "error", 3, Some(2)),
    ];
    for (items, end, iterations, failed) in cases {
        let list = returning("list", Body::Text(1, items));
        let mut world = world(nodes, &[list, look()]).await;
        let report = world.say("go").await;
        assert_eq!(kind(&report), end);
        assert_eq!(world.ran().len(), 1 + iterations);
        let failure = summary(&report).failed.get("each");
        assert_eq!(failure.and_then(|failure| failure.failed_index), failed);
    }
}

/// F14: a tool that reports a failure without raising it is an error of the node.
#[tokio::test]
async fn f14_reported_failure_is_a_failure_of_the_node() {
    let nodes = "[[workflow.node]]\nid = \"try\"\ntool = \"broken\"\n";
    let mut world = world(nodes, &[returning("broken", FAILURE)]).await;
    assert_eq!(kind(&world.say("go").await), "error");
    assert_eq!(lines(&world).await, ["+try", "-try ! no-luck: it broke"]);
}

/// F15: an agent that used up its rounds is flagged.
#[tokio::test]
async fn f15_agent_without_rounds_left_fails_the_node() {
    let settings = r#"
[[agent]]
name = "busy"
description = "Looks."
model = "script:busy.toml"
max-turns = 1
[[workflow]]
name = "flow"
[[workflow.node]]
id = "work"
agent = "busy"
"#;
    let looks = "[[turn]]\n[[turn.call]]\ntool = \"look\"\n[[turn]]\ntext = \"done\"\n";
    let mut world = World::workflow(settings, &[look()], &[("busy.toml", looks)]).await;
    let report = world.say("go").await;
    assert_eq!(summary(&report).failed["work"].code, "agent-budget");
}

/// F16: names of artifacts stay inside the session.
#[test]
fn f16_name_of_an_artifact_cannot_escape() {
    for name in ["../a", "a/../b", "/a", "", "a//b", "C:\\a"] {
        assert!(name.parse::<ArtifactName>().is_err(), "{name}");
    }
    assert_eq!(
        "plots/a.png".parse::<ArtifactName>().unwrap().as_str(),
        "plots/a.png"
    );
}

/// A node that needs approval waits, and holds up no other.
#[tokio::test]
async fn node_waits_for_approval_while_others_run() {
    let nodes = r#"
[[workflow.node]]
id = "publish"
tool = "send"
input = { n = 1 }
[[workflow.node]]
id = "look"
tool = "look"
"#;
    let mut world = world(nodes, &[look(), send()]).await;
    let report = world.say("go").await;
    assert_eq!(kind(&report), "awaiting-children");
    assert_eq!(world.ran(), ["look"]);
    assert_eq!(world.made(), [""; 0]);
}
