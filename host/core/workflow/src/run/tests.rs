//! The state machine without a driver. Tests name the points and cases of the specification that
//! they show.

mod failure;
mod foreach;
mod inputs;
mod property;
mod replay;
mod routing;
mod schedule;
mod shared;
mod waiting;

use super::*;
use crate::doubles::{nodes, workflow};
use agent_host_types::{output::ToolResultOutput, workflow::NodeFailure};
use serde_json::Value;

/// Starts a run of the nodes in the lines, with the message `hello`.
fn begin(lines: &str) -> Run {
    begin_toml(&nodes(lines))
}

fn begin_toml(toml: &str) -> Run {
    Run::new(workflow(toml), "hello", Vec::new())
}

/// Parses `node` or `node[3]`.
fn name(text: &str) -> NodeRun {
    let (node, iteration) = match text.split_once('[') {
        Some((node, index)) => (node, index.trim_end_matches(']').parse().ok()),
        None => (text, None),
    };
    let node = node.into();
    NodeRun { node, iteration }
}

/// Starts what is ready, and returns the names.
fn started(run: &mut Run) -> Vec<String> {
    let starts = run.ready();
    starts.iter().map(|start| start.run.to_string()).collect()
}

/// Starts the one node that is ready.
fn start(run: &mut Run) -> Start {
    let mut starts = run.ready();
    assert_eq!(starts.len(), 1, "{starts:#?}");
    starts.remove(0)
}

/// Returns the text of the message of the one node that is ready.
fn message(run: &mut Run) -> String {
    start(run).input.text().unwrap().to_owned()
}

/// Settles with a text.
fn ok(run: &mut Run, node: &str, text: &str) {
    let output = NodeOutput::of_text("", None, text);
    assert_eq!(run.settled(&name(node), output), Ok(Progress::Settled));
}

/// Settles with a JSON result.
fn json(run: &mut Run, node: &str, value: Value) {
    let output = NodeOutput::of_result("", None, ToolResultOutput::json(value));
    assert_eq!(run.settled(&name(node), output), Ok(Progress::Settled));
}

/// Settles with a failure.
fn fail(run: &mut Run, node: &str) {
    assert_eq!(try_fail(run, node), Progress::Settled);
}

fn try_fail(run: &mut Run, node: &str) -> Progress {
    let failure = NodeFailure::new("broken", "it broke");
    let output = NodeOutput::of_failure("", failure);
    run.settled(&name(node), output).unwrap()
}

fn states(run: &Run) -> Vec<(String, NodeState)> {
    let states = run.states();
    states.map(|(id, state)| (id.to_string(), state)).collect()
}

fn state(run: &Run, node: &str) -> NodeState {
    let states = states(run);
    let found = states.into_iter().find(|(id, _)| id == node);
    found.unwrap().1
}

fn names(list: &[NodeRun]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}
