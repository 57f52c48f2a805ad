//! [Mermaid flowcharts](https://mermaid.js.org/syntax/flowchart.html).

use super::{States, details, escape, nodes};
use crate::{run::NodeState, workflow::Workflow};
use std::fmt::Write as _;

/// The style of each state.
const STYLES: [(NodeState, &str); 6] = [
    (NodeState::Pending, "fill:#eeeeee,stroke:#999999"),
    (NodeState::Running, "fill:#cce5ff,stroke:#004085"),
    (NodeState::Waiting, "fill:#fff3cd,stroke:#856404"),
    (NodeState::Done, "fill:#d4edda,stroke:#155724"),
    (NodeState::Failed, "fill:#f8d7da,stroke:#721c24"),
    (
        NodeState::Skipped,
        "fill:#ffffff,stroke:#999999,stroke-dasharray:4",
    ),
];

/// Draws a workflow as a Mermaid flowchart. Nodes are `n0`, `n1` and so on, in the order of ids,
/// since words such as `end` cannot be names there.
#[must_use]
pub fn mermaid(workflow: &Workflow, states: &States) -> String {
    // Writing to a string does not fail.
    let mut out = "flowchart TD\n".to_owned();
    for (index, node, state) in nodes(workflow, states) {
        let (id, details) = (escape::mermaid(&node.id), escape::mermaid(&details(node)));
        let _ = write!(out, "    n{index}[\"{id}<br/>{details}");
        if let Some(state) = state {
            let _ = write!(out, "<br/>{}\"]:::{}", state.as_str(), state.as_str());
        } else {
            out.push_str("\"]");
        }
        out.push('\n');
    }
    for (index, node, _) in nodes(workflow, states) {
        for edge in &node.edges {
            let _ = match &edge.when {
                None => writeln!(out, "    n{index} --> n{}", edge.to),
                Some(when) => {
                    let when = escape::mermaid(when.as_str());
                    writeln!(out, "    n{index} -->|\"{when}\"| n{}", edge.to)
                }
            };
        }
    }
    for (state, style) in STYLES {
        if nodes(workflow, states).any(|(_, _, of_node)| of_node == Some(state)) {
            let _ = writeln!(out, "    classDef {} {style}", state.as_str());
        }
    }
    out
}
