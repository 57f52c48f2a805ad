//! A checked workflow: nodes in the order of their ids, with edges by index and parsed expressions.
//! Only [`crate::check::check`] makes one, so every index and every reference in it is valid.

use crate::{
    condition::Condition,
    definition::{Needs, NodeMode, OnError, Retry, WorkflowDefinition},
    reference::{Expression, Reference},
};
use agent_host_types::{id::Digest, tool::Effect};
use serde_json::{Map, Value};
use std::{collections::HashMap, num::NonZeroU64, sync::Arc};

/// The position of a node in the order of ids.
pub(crate) type NodeIndex = u32;

/// A checked workflow.
#[derive(Debug)]
pub struct Workflow {
    pub(crate) definition: WorkflowDefinition,
    pub(crate) digest: Digest,
    /// Sorted by id, so that an index compares as its id does.
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) indices: HashMap<Arc<str>, NodeIndex>,
}

/// A node of a checked workflow.
#[derive(Debug)]
pub struct Node {
    /// The id.
    pub id: Arc<str>,
    /// The executor and its name.
    pub kind: NodeKind,
    /// The scheduling relative to other nodes.
    pub mode: NodeMode,
    /// The effect of the agent's tools, of the tool, or of the handler.
    pub effect: Effect,
    /// The effect of a failure on the run.
    pub on_error: OnError,
    /// The time limit of one run of the node or one iteration, in milliseconds.
    pub timeout_ms: Option<NonZeroU64>,
    /// The attempts after a failure.
    pub retry: Option<Retry>,
    pub(crate) needs: Needs,
    pub(crate) input: InputPlan,
    pub(crate) foreach: Option<Foreach>,
    pub(crate) edges: Vec<Edge>,
    /// The nodes before it, each once, in the order of ids.
    pub(crate) predecessors: Vec<NodeIndex>,
    /// The number of edges to it.
    pub(crate) in_degree: u32,
    /// The nodes whose value its input needs; not those of which it reads only the error.
    pub(crate) values_of: Vec<NodeIndex>,
    /// The nodes whose files its message carries, in the order of the sections.
    pub(crate) files_of: Vec<NodeIndex>,
}

/// The executor of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An agent: a child session.
    Agent(String),
    /// A tool.
    Tool(String),
    /// A closure of the embedder.
    Handler(String),
}

/// The source of the input of a node.
#[derive(Debug)]
pub(crate) enum InputPlan {
    /// The initial message, with its files.
    Initial,
    /// The item of the iteration.
    Item,
    /// One value.
    Message(Expression),
    /// Named values, as sections.
    Sections(Vec<(String, Expression)>),
    /// The input of a tool.
    Object(Template),
}

/// A JSON value with references in it.
#[derive(Debug)]
pub(crate) enum Template {
    Literal(Value),
    Reference(Reference),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

/// The loop of a node.
#[derive(Debug)]
pub(crate) struct Foreach {
    pub(crate) over: Reference,
    /// 1 if sequential.
    pub(crate) at_once: u32,
    pub(crate) is_parallel: bool,
}

/// An edge to another node.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) to: NodeIndex,
    pub(crate) when: Option<Condition>,
}

impl Workflow {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the description for the operator.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.definition.description
    }

    /// Returns the definition that was checked.
    #[must_use]
    pub fn definition(&self) -> &WorkflowDefinition {
        &self.definition
    }

    /// Returns the digest of the definition. Equal definitions have equal digests, whatever the
    /// order of keys in the file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the nodes, in the order of their ids.
    #[must_use]
    pub fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// Returns the node of an id.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Arc<Node>> {
        self.nodes.get(*self.indices.get(id)? as usize)
    }

    pub(crate) fn at(&self, index: NodeIndex) -> Option<&Arc<Node>> {
        self.nodes.get(index as usize)
    }

    pub(crate) fn index(&self, id: &str) -> Option<NodeIndex> {
        self.indices.get(id).copied()
    }
}

impl Node {
    /// Returns whether no node is before it.
    #[must_use]
    pub fn is_entry(&self) -> bool {
        self.in_degree == 0
    }

    /// Returns whether no node is after it: its output is a result of the workflow.
    #[must_use]
    pub fn is_exit(&self) -> bool {
        self.edges.is_empty()
    }

    /// Returns whether it runs over a list.
    #[must_use]
    pub fn is_foreach(&self) -> bool {
        self.foreach.is_some()
    }

    /// Returns the name of the agent, for [`agent_host_types::workflow::NodeOutput::agent_id`].
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Agent(name) => Some(name),
            NodeKind::Tool(_) | NodeKind::Handler(_) => None,
        }
    }
}

impl NodeKind {
    /// Returns `agent`, `tool` or `handler`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Tool(_) => "tool",
            Self::Handler(_) => "handler",
        }
    }

    /// Returns the name of the agent, tool or handler.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(name) | Self::Tool(name) | Self::Handler(name) => name,
        }
    }
}

impl InputPlan {
    /// Returns the references in it.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Initial | Self::Item => Vec::new(),
            Self::Message(value) => value.reference().into_iter().collect(),
            Self::Sections(sections) => {
                let values = sections.iter().map(|(_, value)| value);
                values.filter_map(Expression::reference).collect()
            }
            Self::Object(template) => template.references(),
        }
    }
}

impl Template {
    /// Returns the references in it.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Reference(reference) => vec![reference],
            Self::List(items) => items.iter().flat_map(Self::references).collect(),
            Self::Object(entries) => {
                let values = entries.iter().map(|(_, value)| value);
                values.flat_map(Self::references).collect()
            }
        }
    }

    /// Builds the value, where `resolve` gives those of references.
    pub(crate) fn build(&self, resolve: &impl Fn(&Reference) -> Value) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Reference(reference) => resolve(reference),
            Self::List(items) => items.iter().map(|item| item.build(resolve)).collect(),
            Self::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.build(resolve)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}
