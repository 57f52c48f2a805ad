//! Indented text for a terminal. A node with several nodes before it is drawn in full once.

use super::{States, details, escape};
use crate::workflow::{Edge, NodeIndex, Workflow};
use std::fmt::Write as _;

/// The most levels that are indented; deeper nodes are not indented more.
const MAX_INDENT: usize = 40;

/// Draws a workflow as indented text: each node below one before it, with the condition of the edge
/// between them. Where a node comes up again, its line ends with `(above)`.
///
/// ```text
/// search (tool web_search) done
///   write (agent writer) running
///   archive (tool files) skipped, when search.error == null
///     notify (tool mail) pending
/// ```
#[must_use]
pub fn text(workflow: &Workflow, states: &States) -> String {
    let mut out = String::new();
    let mut is_drawn = vec![false; workflow.nodes.len()];
    // A stack, since a chain may be as long as the bound on nodes.
    let mut stack: Vec<(NodeIndex, usize, Option<&Edge>)> = Vec::new();
    for (index, node) in (0..).zip(&workflow.nodes) {
        if node.is_entry() {
            stack.push((index, 0, None));
        }
        while let Some((index, depth, edge)) = stack.pop() {
            let is_again = is_drawn
                .get_mut(index as usize)
                .is_none_or(|drawn| std::mem::replace(drawn, true));
            line(&mut out, workflow, states, (index, depth, edge), is_again);
            let node = workflow.at(index).filter(|_| !is_again);
            let edges = node.into_iter().flat_map(|node| node.edges.iter().rev());
            stack.extend(edges.map(|edge| (edge.to, depth + 1, Some(edge))));
        }
    }
    out
}

fn line(
    out: &mut String,
    workflow: &Workflow,
    states: &States,
    (index, depth, edge): (NodeIndex, usize, Option<&Edge>),
    is_again: bool,
) {
    let Some(node) = workflow.at(index) else {
        return;
    };
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
    out.push_str(&escape::line(&node.id));
    // Writing to a string does not fail.
    if !is_again {
        let _ = write!(out, " ({})", escape::line(&details(node)));
        if let Some(state) = states.get(index as usize) {
            let _ = write!(out, " {}", state.as_str());
        }
    }
    if let Some(when) = edge.and_then(|edge| edge.when.as_ref()) {
        let _ = write!(out, ", when {}", escape::line(when.as_str()));
    }
    out.push_str(if is_again { " (above)\n" } else { "\n" });
}
