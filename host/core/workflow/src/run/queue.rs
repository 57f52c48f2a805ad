//! The nodes that have something to start, by mode. Sync nodes are admitted one at a time in the
//! whole run.

use crate::{definition::NodeMode, workflow::NodeIndex};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Queue {
    background: BTreeSet<NodeIndex>,
    parallel: BTreeSet<NodeIndex>,
    sync: BTreeSet<NodeIndex>,
    /// The sync node that is under way. It keeps its place between its iterations, and gives it up
    /// while all of it waits for the user.
    current: Option<NodeIndex>,
}

impl Queue {
    /// Returns the next node that may start something.
    pub(super) fn pop(&mut self) -> Option<NodeIndex> {
        let background = self.background.pop_first();
        if let Some(node) = background.or_else(|| self.parallel.pop_first()) {
            return Some(node);
        }
        match self.current {
            Some(node) => self.sync.take(&node),
            None => self.sync.pop_first(),
        }
    }

    /// Adds a node that has something to start, or removes one that has not.
    pub(super) fn set(&mut self, node: NodeIndex, mode: NodeMode, is_startable: bool) {
        let nodes = match mode {
            NodeMode::Async => &mut self.background,
            NodeMode::Parallel => &mut self.parallel,
            NodeMode::Sync => &mut self.sync,
        };
        if is_startable {
            nodes.insert(node);
        } else {
            nodes.remove(&node);
        }
    }

    /// Records that a sync node is under way.
    pub(super) fn enter(&mut self, node: NodeIndex, mode: NodeMode) {
        if mode == NodeMode::Sync {
            self.current = Some(node);
        }
    }

    /// Records that a node is not under way.
    pub(super) fn leave(&mut self, node: NodeIndex) {
        if self.current == Some(node) {
            self.current = None;
        }
    }

    /// Removes all nodes.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
