//! The faults of a definition. Each message names what is wrong, where, and the next step.

use crate::syntax::SyntaxError;
use agent_host_types::tool::Effect;
use std::fmt;

/// A fault of a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The workflow has no name.
    #[error("a workflow has no name; set `name`")]
    NoName,
    /// The workflow has no nodes.
    #[error("workflow `{}` has no nodes; add a `[[workflow.node]]`", .workflow.escape_debug())]
    NoNodes {
        /// The name of the workflow.
        workflow: String,
    },
    /// The workflow is too large.
    #[error("workflow `{}` has {count} {what}, and the maximum is {most}; split it into several workflows", .workflow.escape_debug())]
    TooMany {
        /// The name of the workflow.
        workflow: String,
        /// Nodes or edges.
        what: &'static str,
        /// Their number.
        count: usize,
        /// The bound.
        most: usize,
    },
    /// An id has other characters than letters, digits, `_` and `-`.
    #[error("node `{}`: an id has at most 64 letters, digits, `_` and `-`; rename it", .id.escape_debug())]
    InvalidId {
        /// The id.
        id: String,
    },
    /// An id is the first word of other references.
    #[error(
        "node `{id}`: the id is reserved for references such as `loop.item`, `run.message` and `state.KEY`; rename it"
    )]
    ReservedId {
        /// The id.
        id: String,
    },
    /// Several nodes have one id.
    #[error("node `{}`: {count} nodes have this id; rename all but one", .id.escape_debug())]
    DuplicateId {
        /// The id.
        id: String,
        /// The number of nodes.
        count: usize,
    },
    /// A node is neither an agent nor a tool nor a handler, or several of them.
    #[error("node `{}` has {}; set exactly one of `agent`, `tool` and `handler`", .node.escape_debug(), kinds(.given))]
    Kind {
        /// The id of the node.
        node: String,
        /// The keys that it has.
        given: Vec<&'static str>,
    },
    /// An agent, tool or handler is unknown.
    #[error("node `{}`: unknown {kind} `{}`; {}", .node.escape_debug(), .name.escape_debug(), unknown_hint(.kind))]
    Unknown {
        /// The id of the node.
        node: String,
        /// `agent`, `tool` or `handler`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// `next` names no node.
    #[error("node `{}`: `next` names `{}`, which is not a node; add the node, or remove it from `next`", .node.escape_debug(), .next.escape_debug())]
    UnknownNext {
        /// The id of the node.
        node: String,
        /// The unknown id.
        next: String,
    },
    /// Nodes follow each other in a circle.
    #[error("nodes {} form a cycle; remove one of these edges from `next`", path(.nodes))]
    Cycle {
        /// The ids, in order; the edge from the last to the first closes the cycle.
        nodes: Vec<String>,
    },
    /// A value is neither a reference nor a quoted literal, or a condition is malformed.
    #[error("node `{}`: {place} is malformed: {error} of `{}`{}", .node.escape_debug(), .text.escape_debug(), syntax_hint(.place))]
    Syntax {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
        /// The text.
        text: String,
        /// The syntax that was expected, and its place.
        error: SyntaxError,
    },
    /// A reference is to a node that does not exist.
    #[error("node `{}`: {place} refers to `{reference}`, but there is no node `{}`; use the id of an earlier node", .node.escape_debug(), .id.escape_debug())]
    UnknownNode {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
        /// The reference.
        reference: String,
        /// The unknown id.
        id: String,
    },
    /// A reference is to a node that need not have run.
    #[error("node `{}`: {place} refers to `{reference}`, but no path of `next` leads from `{}` to it; add one", .node.escape_debug(), .id.escape_debug())]
    NotBefore {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
        /// The reference.
        reference: String,
        /// The id of the node that is not before it.
        id: String,
    },
    /// `loop.*` stands where there is no iteration.
    #[error("node `{}`: {place} refers to `{reference}` outside of the iterations of a `foreach`; {}", .node.escape_debug(), loop_hint(.place))]
    LoopOutside {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
        /// The reference.
        reference: String,
    },
    /// `loop.prior_results` stands in parallel iterations, which have none before them.
    #[error("node `{}`: {place} refers to `loop.prior_results`, which depends on timing with `mode = \"parallel\"`; make the `foreach` sequential", .node.escape_debug())]
    PriorInParallel {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
    },
    /// `state.KEY` has a key without a reducer.
    #[error("node `{}`: {place} refers to `state.{key}`, but `reduce` has no key `{key}`; add it to `reduce` of the \
        workflow", .node.escape_debug())]
    UnknownState {
        /// The id of the node.
        node: String,
        /// The place in it.
        place: Place,
        /// The key.
        key: String,
    },
    /// A node after others has no input.
    #[error("node `{}` follows other nodes but has no input; set `inputs = [{{ KEY = REFERENCE }}]` or `message`", .node.escape_debug())]
    NoInput {
        /// The id of the node.
        node: String,
    },
    /// A key of a node does not fit its kind.
    #[error("node `{}`: `{key}` is not allowed for {kind}s; {}", .node.escape_debug(), input_hint(.kind))]
    WrongInput {
        /// The id of the node.
        node: String,
        /// The key.
        key: &'static str,
        /// `agent`, `tool` or `handler`.
        kind: &'static str,
    },
    /// The key of an input cannot be the heading of a section.
    #[error("node `{}`: invalid key `{}` in `inputs`: {reason}", .node.escape_debug(), .key.escape_debug())]
    InputKey {
        /// The id of the node.
        node: String,
        /// The key.
        key: String,
        /// The reason and the next step.
        reason: &'static str,
    },
    /// The input of a tool does not fit its schema.
    #[error("node `{}`: invalid input for the tool `{}`: {reason}; change `input`", .node.escape_debug(), .tool.escape_debug())]
    ToolInput {
        /// The id of the node.
        node: String,
        /// The name of the tool.
        tool: String,
        /// The reason.
        reason: String,
    },
    /// A node that takes effect has `retry`.
    #[error("node `{}`: `retry` would repeat a node that is {}, but only read-only and idempotent nodes can be \
        repeated; remove `retry`", .node.escape_debug(), .effect.as_str())]
    RetryEffectful {
        /// The id of the node.
        node: String,
        /// Its effect.
        effect: Effect,
    },
    /// A number is beyond its bound.
    #[error("node `{}`: `{key}` is {value}, and the maximum is {most}; lower it", .node.escape_debug())]
    TooLarge {
        /// The id of the node.
        node: String,
        /// The key.
        key: &'static str,
        /// The value.
        value: u32,
        /// The bound.
        most: u32,
    },
    /// A sequential `foreach` bounds its iterations at once.
    #[error("node `{}`: `at-once` of `foreach` needs `mode = \"parallel\"`; set it, or remove `at-once`", .node.escape_debug())]
    AtOnceSequential {
        /// The id of the node.
        node: String,
    },
}

/// A place in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `message`.
    Message,
    /// A key of `inputs`.
    Inputs(String),
    /// A string in `input`, by its path.
    Input(String),
    /// `foreach`.
    Foreach,
    /// The condition of the edge to this node.
    When(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message => f.write_str("`message`"),
            Self::Inputs(key) => write!(f, "`{}` of `inputs`", key.escape_debug()),
            Self::Input(path) => write!(f, "`{}` of `input`", path.escape_debug()),
            Self::Foreach => f.write_str("`foreach`"),
            Self::When(to) => write!(f, "`when` of the edge to `{}`", to.escape_debug()),
        }
    }
}

impl Fault {
    /// Returns the id of the node with the fault; of a cycle, the first one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::NoName | Self::NoNodes { .. } | Self::TooMany { .. } => None,
            Self::InvalidId { id } | Self::ReservedId { id } | Self::DuplicateId { id, .. } => {
                Some(id)
            }
            Self::Cycle { nodes } => nodes.first().map(String::as_str),
            Self::Kind { node, .. }
            | Self::Unknown { node, .. }
            | Self::UnknownNext { node, .. }
            | Self::Syntax { node, .. }
            | Self::UnknownNode { node, .. }
            | Self::NotBefore { node, .. }
            | Self::LoopOutside { node, .. }
            | Self::PriorInParallel { node, .. }
            | Self::UnknownState { node, .. }
            | Self::NoInput { node }
            | Self::WrongInput { node, .. }
            | Self::InputKey { node, .. }
            | Self::ToolInput { node, .. }
            | Self::RetryEffectful { node, .. }
            | Self::TooLarge { node, .. }
            | Self::AtOnceSequential { node } => Some(node),
        }
    }
}

fn kinds(given: &[&str]) -> String {
    match given {
        [] => "no agent, tool or handler".to_owned(),
        given => format!("`{}`", given.join("` and `")),
    }
}

fn unknown_hint(kind: &str) -> &'static str {
    match kind {
        "agent" => "name an `[[agent]]`",
        "tool" => "name a tool that `agent-host doctor` lists",
        _ => "register it in the program that embeds agent-host, or use a tool",
    }
}

fn input_hint(kind: &str) -> &'static str {
    match kind {
        "tool" => "set `input`, a table whose strings are references or quoted literals",
        _ => "set `inputs` or `message`",
    }
}

fn syntax_hint(place: &Place) -> &'static str {
    match place {
        Place::Message | Place::Inputs(_) | Place::Input(_) => "; put a literal text in quotes",
        Place::Foreach | Place::When(_) => "",
    }
}

fn loop_hint(place: &Place) -> &'static str {
    match place {
        Place::When(_) | Place::Foreach => "refer to the output of a node",
        Place::Message | Place::Inputs(_) | Place::Input(_) => "add `foreach` to the node",
    }
}

fn path(nodes: &[String]) -> String {
    let closed = nodes.iter().chain(nodes.first());
    let ids: Vec<String> = closed
        .map(|id| format!("`{}`", id.escape_debug()))
        .collect();
    ids.join(" -> ")
}
