//! [The DOT language](https://graphviz.org/doc/info/lang.html) of Graphviz.

use super::{States, details, escape, nodes};
use crate::{run::NodeState, workflow::Workflow};
use std::fmt::Write as _;

fn color(state: NodeState) -> &'static str {
    match state {
        NodeState::Pending => "#eeeeee",
        NodeState::Running => "#cce5ff",
        NodeState::Waiting => "#fff3cd",
        NodeState::Done => "#d4edda",
        NodeState::Failed => "#f8d7da",
        NodeState::Skipped => "#ffffff",
    }
}

/// Draws a workflow as a DOT graph. Nodes are `n0`, `n1` and so on, in the order of ids.
#[must_use]
pub fn dot(workflow: &Workflow, states: &States) -> String {
    // Writing to a string does not fail.
    let mut out = "digraph {\n    node [shape=box];\n".to_owned();
    for (index, node, state) in nodes(workflow, states) {
        let (id, details) = (escape::dot(&node.id), escape::dot(&details(node)));
        let _ = match state {
            None => writeln!(out, "    n{index} [label=\"{id}\\n{details}\"];"),
            Some(state) => writeln!(
                out,
                "    n{index} [label=\"{id}\\n{details}\\n{}\", style=filled, fillcolor=\"{}\"];",
                state.as_str(),
                color(state)
            ),
        };
    }
    for (index, node, _) in nodes(workflow, states) {
        for edge in &node.edges {
            let _ = match &edge.when {
                None => writeln!(out, "    n{index} -> n{};", edge.to),
                Some(when) => {
                    let when = escape::dot(when.as_str());
                    writeln!(out, "    n{index} -> n{} [label=\"{when}\"];", edge.to)
                }
            };
        }
    }
    out.push_str("}\n");
    out
}
