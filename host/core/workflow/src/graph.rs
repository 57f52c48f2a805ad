//! Drawings of a workflow, with the state of each node of a run: indented text, Mermaid and DOT,
//! and the layers of one that others draw. Names and conditions are escaped in each notation, so
//! that no label can add a node or an edge.

mod dot;
mod escape;
mod layout;
mod mermaid;
#[cfg(test)]
mod tests;
mod text;

pub use dot::dot;
pub use layout::{Layout, LayoutEdge, LayoutNode, layout};
pub use mermaid::mermaid;
pub use text::text;

use crate::{
    definition::NodeMode,
    run::{NodeState, Run},
    workflow::{Node, Workflow},
};

/// The states of the nodes of a drawing.
#[derive(Clone, Debug, Default)]
pub struct States(Vec<NodeState>);

impl States {
    /// Returns the states of a run.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        Self(run.states().map(|(_, state)| state).collect())
    }

    /// Returns no states: the drawing of a definition.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    fn get(&self, index: usize) -> Option<NodeState> {
        self.0.get(index).copied()
    }
}

/// Returns the nodes with their states, in the order of ids.
fn nodes<'a>(
    workflow: &'a Workflow,
    states: &'a States,
) -> impl Iterator<Item = (usize, &'a Node, Option<NodeState>)> {
    let nodes = workflow.nodes.iter().enumerate();
    nodes.map(|(index, node)| (index, node.as_ref(), states.get(index)))
}

/// Returns the facts about a node that a drawing has below its id, as raw text.
fn details(node: &Node) -> String {
    let mut details = format!("{} {}", node.kind.as_str(), node.kind.name());
    if node.mode != NodeMode::Sync {
        details.push_str(", ");
        details.push_str(node.mode.into());
    }
    if node.is_foreach() {
        details.push_str(", foreach");
    }
    details
}
