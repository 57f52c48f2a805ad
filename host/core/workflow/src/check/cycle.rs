//! Finds cycles: what is left after nodes without predecessors, and then those without successors,
//! were removed. Walks no node recursively.

use super::Fault;
use crate::workflow::{Node, NodeIndex};

/// The edges between the nodes that are left.
struct Rest<'a> {
    nodes: &'a [Node],
    is_left: Vec<bool>,
    /// The number of edges from and to other nodes that are left.
    incoming: Vec<u32>,
    outgoing: Vec<u32>,
}

/// Reports each cycle that shares no node with one reported before.
pub(super) fn check(nodes: &[Node], faults: &mut Vec<Fault>) {
    let mut rest = Rest {
        nodes,
        is_left: vec![true; nodes.len()],
        incoming: nodes.iter().map(|node| node.in_degree).collect(),
        outgoing: nodes.iter().map(|node| count(node.edges.len())).collect(),
    };
    let ends = (0..count(nodes.len())).filter(|&node| rest.is_end(node));
    rest.prune(ends.collect());
    let mut from = 0;
    while let Some(start) = rest.first_left(from) {
        from = start;
        let cycle = rest.cycle(start);
        if cycle.is_empty() {
            return;
        }
        let ids = cycle.iter().filter_map(|&node| nodes.get(node as usize));
        let ids: Vec<&str> = ids.map(|node| &*node.id).collect();
        faults.push(Fault::of_cycle(&ids));
        rest.prune(cycle);
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Rest<'_> {
    fn left(&self, node: NodeIndex) -> bool {
        self.is_left.get(node as usize).copied().unwrap_or(false)
    }

    fn is_end(&self, node: NodeIndex) -> bool {
        let is_zero = |counts: &[u32]| counts.get(node as usize) == Some(&0);
        self.left(node) && (is_zero(&self.incoming) || is_zero(&self.outgoing))
    }

    fn first_left(&self, from: NodeIndex) -> Option<NodeIndex> {
        (from..count(self.nodes.len())).find(|&node| self.left(node))
    }

    /// Removes nodes, and then those that became ends.
    fn prune(&mut self, mut ends: Vec<NodeIndex>) {
        while let Some(end) = ends.pop() {
            let Some(node) = self.nodes.get(end as usize) else {
                continue;
            };
            if !self.left(end) {
                continue;
            }
            if let Some(left) = self.is_left.get_mut(end as usize) {
                *left = false;
            }
            for edge in &node.edges {
                if let Some(degree) = self.incoming.get_mut(edge.to as usize) {
                    *degree = degree.saturating_sub(1);
                }
                if self.is_end(edge.to) {
                    ends.push(edge.to);
                }
            }
            for &before in &node.predecessors {
                let edges = self.nodes.get(before as usize).map(|node| &node.edges);
                let edges = edges.into_iter().flatten();
                let removed = count(edges.filter(|edge| edge.to == end).count());
                if let Some(degree) = self.outgoing.get_mut(before as usize) {
                    *degree = degree.saturating_sub(removed);
                }
                if self.is_end(before) {
                    ends.push(before);
                }
            }
        }
    }

    /// Follows the edges from a node that is left, each of which has a successor that is left, and
    /// returns the cycle, from its first id on.
    fn cycle(&self, start: NodeIndex) -> Vec<NodeIndex> {
        let mut position = vec![None; self.nodes.len()];
        let (mut walk, mut node) = (Vec::new(), start);
        loop {
            let Some(seen) = position.get_mut(node as usize) else {
                return Vec::new();
            };
            if let Some(first) = *seen {
                let mut cycle = walk.split_off(first);
                let smallest = cycle.iter().enumerate().min_by_key(|(_, node)| **node);
                let smallest = smallest.map_or(0, |(index, _)| index);
                cycle.rotate_left(smallest);
                return cycle;
            }
            *seen = Some(walk.len());
            walk.push(node);
            let edges = self.nodes.get(node as usize).map(|node| &node.edges);
            let next = edges.into_iter().flatten().map(|edge| edge.to);
            match next.filter(|&to| self.left(to)).min() {
                Some(next) => node = next,
                None => return Vec::new(),
            }
        }
    }
}
