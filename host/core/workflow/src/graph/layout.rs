//! Nodes in layers with the edges between them, for a drawing in two dimensions. Text is raw: who
//! draws it escapes it.

use super::{States, details, nodes};
use crate::workflow::Workflow;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;

/// A workflow in layers: every edge leads to a later layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layout {
    /// The name of the workflow.
    pub workflow: String,
    /// The nodes, in the order of ids.
    pub nodes: Vec<LayoutNode>,
    /// The edges.
    pub edges: Vec<LayoutEdge>,
}

/// A node of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutNode {
    /// The id.
    pub id: String,
    /// The kind and name of what it runs, and how.
    pub details: String,
    /// The state in the run; absent in the drawing of a definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The layer, from 0: the length of the longest path to it.
    pub layer: usize,
    /// The place in its layer, from 0.
    pub place: usize,
}

/// An edge of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutEdge {
    /// The index of the node that it leaves.
    pub from: usize,
    /// The index of the node that follows.
    pub to: usize,
    /// The condition; absent for always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// Returns a workflow in layers, with the states of a run.
#[must_use]
pub fn layout(workflow: &Workflow, states: &States) -> Layout {
    let layers = layers(workflow);
    let mut nodes: Vec<LayoutNode> = nodes(workflow, states)
        .zip(layers)
        .map(|((_, node, state), layer)| LayoutNode {
            id: node.id.to_string(),
            details: details(node),
            state: state.map(|state| state.as_str().to_owned()),
            layer,
            place: 0,
        })
        .collect();
    place(workflow, &mut nodes);
    let edges = workflow.nodes.iter().enumerate();
    let edges = edges.flat_map(|(from, node)| {
        node.edges.iter().map(move |edge| LayoutEdge {
            from,
            to: edge.to as usize,
            when: edge.when.as_ref().map(|when| when.as_str().to_owned()),
        })
    });
    Layout {
        workflow: workflow.name().to_owned(),
        nodes,
        edges: edges.collect(),
    }
}

/// Returns the length of the longest path to each node. A checked workflow has no cycle.
fn layers(workflow: &Workflow) -> Vec<usize> {
    let mut layers = vec![0_usize; workflow.nodes.len()];
    let mut open: Vec<usize> = workflow
        .nodes
        .iter()
        .map(|node| node.predecessors.len())
        .collect();
    let entries = open.iter().enumerate().filter(|(_, open)| **open == 0);
    let mut ready: VecDeque<usize> = entries.map(|(index, _)| index).collect();
    while let Some(index) = ready.pop_front() {
        let Some(node) = workflow.nodes.get(index) else {
            continue;
        };
        let below = layers.get(index).map_or(0, |layer| layer + 1);
        // A node with two edges to the same one is before it once.
        let mut followers: Vec<usize> = node.edges.iter().map(|edge| edge.to as usize).collect();
        followers.sort_unstable();
        followers.dedup();
        for follower in followers {
            if let Some(layer) = layers.get_mut(follower) {
                *layer = below.max(*layer);
            }
            if let Some(open) = open.get_mut(follower) {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    ready.push_back(follower);
                }
            }
        }
    }
    layers
}

/// Gives each node its place: beside those that follow the same nodes, in the order of ids.
fn place(workflow: &Workflow, nodes: &mut [LayoutNode]) {
    let layer_of: Vec<usize> = nodes.iter().map(|node| node.layer).collect();
    let layer_of = |index: usize| layer_of.get(index).copied();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|index| layer_of(*index));
    for layer in order.chunk_by(|one, other| layer_of(*one) == layer_of(*other)) {
        let mut layer: Vec<(usize, usize)> = layer
            .iter()
            .map(|index| (centre(workflow, nodes, *index), *index))
            .collect();
        layer.sort_unstable();
        for (place, (_, index)) in layer.into_iter().enumerate() {
            if let Some(node) = nodes.get_mut(index) {
                node.place = place;
            }
        }
    }
}

/// Returns the mean place of the nodes before one, in hundredths.
fn centre(workflow: &Workflow, nodes: &[LayoutNode], index: usize) -> usize {
    let before = workflow.nodes.get(index);
    let before = before.map_or(&[][..], |node| node.predecessors.as_slice());
    let places = before.iter().filter_map(|index| nodes.get(*index as usize));
    let sum: usize = places.map(|node| node.place * 100).sum();
    sum.checked_div(before.len()).unwrap_or(0)
}
