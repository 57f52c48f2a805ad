//! Point 37: conditions on edges, and what is skipped.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json as value;

const ROUTE: &str = "a: tool = 't'; next = [{ to = 'x', when = \"a.output.kind == 'x'\" }, { to = 'y', when = \"a.output.kind == 'y'\" }]\n x: message = 'a.text'; next = 'join'\n y: message = 'a.text'; next = 'deep'\n deep: message = 'y.text'; next = 'join'\n join: inputs = [{ x = 'x.text' }, { y = 'deep.text' }]";

#[test]
fn only_edges_whose_condition_holds_fire() {
    let mut run = begin(ROUTE);
    started(&mut run);
    json(&mut run, "a", value!({"kind": "x"}));
    assert_eq!(run.take_skipped(), ["y".into(), "deep".into()]);
    assert_eq!(started(&mut run), ["x"]);
    ok(&mut run, "x", "out");
    assert_eq!(
        message(&mut run),
        "[x]\nout\n\n[y: skipped]",
        "the join waits for fired edges only"
    );
}

#[test]
fn node_without_a_fired_edge_is_skipped_with_its_dependents() {
    let mut run = begin(ROUTE);
    started(&mut run);
    json(&mut run, "a", value!({"kind": "z"}));
    let skipped = run.take_skipped();
    assert_eq!(skipped, ["x", "y", "deep", "join"].map(Arc::from));
    assert!(run.is_done());
    let outcome = run.outcome();
    assert_eq!(outcome.end, WorkflowEnd::Completed);
    assert_eq!(outcome.skipped, ["deep", "join", "x", "y"].map(Arc::from));
}

#[test]
fn failure_can_be_routed() {
    let mut run = begin(
        "a: next = [{ to = 'fix', when = \"a.error.code == 'broken'\" }, { to = 'use', when = 'a.error == null' }]\n fix: message = 'a.error.message'\n use: message = 'a.text'",
    );
    started(&mut run);
    fail(&mut run, "a");
    assert_eq!(run.take_skipped(), ["use".into()]);
    assert_eq!(message(&mut run), "it broke");
}

#[test]
fn several_edges_to_one_node_fire_as_one() {
    let mut run = begin(
        "a: next = [{ to = 'b', when = \"'x' in a.text\" }, { to = 'b', when = \"'y' in a.text\" }]\n b: message = 'a.text'",
    );
    started(&mut run);
    ok(&mut run, "a", "only y");
    assert_eq!(started(&mut run), ["b"]);
    assert_eq!(started(&mut run), Vec::<String>::new());
}

#[test]
fn condition_sees_nodes_before_its_own() {
    let mut run = begin(
        "a: next = 'b'\n b: message = 'a.text'; next = { to = 'c', when = \"a.text == 'go' and run.message == 'hello'\" }\n c: message = 'b.text'",
    );
    started(&mut run);
    ok(&mut run, "a", "go");
    started(&mut run);
    ok(&mut run, "b", "x");
    assert_eq!(started(&mut run), ["c"]);
}
