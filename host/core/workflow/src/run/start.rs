//! A node, or an iteration of its `foreach`, that may start.

use crate::workflow::Node;
use agent_host_types::{
    id::Digest,
    json::JsonText,
    output::{FilePart, ToolResultOutput},
    workflow::NodeOutput,
};
use serde_json::{Map, Value};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// A run of a node: the node, or one iteration of its `foreach`. All attempts are one run, and have
/// one idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRun {
    /// The id of the node.
    pub node: Arc<str>,
    /// The index of the item; absent for a node without `foreach`.
    pub iteration: Option<u32>,
}

impl NodeRun {
    /// Returns the key in the maps of the node.
    pub(super) fn key(&self) -> u32 {
        self.iteration.unwrap_or_default()
    }
}

impl fmt::Display for NodeRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.iteration {
            None => f.write_str(&self.node),
            Some(iteration) => write!(f, "{}[{iteration}]", self.node),
        }
    }
}

/// A run of a node that may start now.
#[derive(Clone, Debug)]
pub struct Start {
    /// The name under which it settles.
    pub run: NodeRun,
    /// The node: its executor, effect and timeout.
    pub node: Arc<Node>,
    /// The input.
    pub input: Input,
    /// The iteration of a `foreach`.
    pub iteration: Option<Iteration>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The wait before it starts, in milliseconds.
    pub not_before_ms: u64,
    /// Whether it began before, and continues where it waited or was interrupted.
    pub is_resumed: bool,
}

impl Start {
    /// Returns the output for the result of its call.
    #[must_use]
    pub fn output_of(&self, result: ToolResultOutput) -> NodeOutput {
        let id = &self.node.id;
        match (self.node.agent(), result) {
            (Some(agent), ToolResultOutput::Text(text)) => {
                NodeOutput::of_text(id, Some(agent), text)
            }
            (agent, result) => NodeOutput::of_result(id, agent, result),
        }
    }
}

/// The input of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The message of an agent or a handler.
    Message {
        /// The text, with a section for each of `inputs`.
        text: String,
        /// The files of the initial message and of the outputs that the text has. Shared by the
        /// iterations.
        files: Arc<[FilePart]>,
    },
    /// The input of a tool, or of a handler with `input`.
    Object(Map<String, Value>),
}

/// The iteration of a `foreach`.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// The item.
    pub item: JsonText,
    /// Its index, from 0.
    pub index: u32,
    /// The number of items.
    pub total: u32,
    /// The results of the iterations before; none if iterations run in parallel.
    pub prior_results: PriorResults,
}

/// The results of the first iterations. Shares memory with the run.
#[derive(Clone, Default)]
pub struct PriorResults {
    pub(super) slots: Slots,
    pub(super) count: usize,
}

/// One slot for each item, written once.
pub(super) type Slots = Arc<[OnceLock<JsonText>]>;

impl PriorResults {
    /// Returns the results, in order; none for an item that failed.
    pub fn iter(&self) -> impl Iterator<Item = Option<&JsonText>> {
        self.slots.iter().take(self.count).map(OnceLock::get)
    }

    /// Returns the result of an iteration before.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&JsonText> {
        let slot = self.slots.get(index).filter(|_| index < self.count)?;
        slot.get()
    }

    /// Returns the number of results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for PriorResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Start {
    /// Computes the digest of the input, for the journal.
    #[must_use]
    pub fn input_digest(&self) -> Digest {
        // An input always has a JSON form.
        Digest::of_json(&(&self.input.text(), self.input.object(), self.input.files()))
            .unwrap_or_else(|_| Digest::of(b""))
    }
}

impl Input {
    /// Returns the text of a message.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Message { text, .. } => Some(text),
            Self::Object(_) => None,
        }
    }

    /// Returns the files of a message.
    #[must_use]
    pub fn files(&self) -> &[FilePart] {
        match self {
            Self::Message { files, .. } => files,
            Self::Object(_) => &[],
        }
    }

    /// Returns the input of a tool.
    #[must_use]
    pub fn object(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Message { .. } => None,
        }
    }
}
