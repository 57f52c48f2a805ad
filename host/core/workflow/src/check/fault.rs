//! The faults of a definition. Each message names what is wrong, where, and the next step.

use std::fmt;

/// A fault of a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    node: Option<String>,
    message: String,
}

impl Fault {
    /// Creates a fault of a whole workflow.
    pub(super) fn of_workflow(message: String) -> Self {
        Self {
            node: None,
            message,
        }
    }

    /// Creates a fault of a node; `message` follows "node `ID`".
    pub(super) fn of_node(id: &str, message: &str) -> Self {
        Self {
            node: Some(id.to_owned()),
            message: format!("node `{}`{message}", id.escape_debug()),
        }
    }

    /// Creates the fault of nodes that follow each other in a circle: their ids, in order. The edge
    /// from the last to the first closes it.
    pub(super) fn of_cycle(ids: &[&str]) -> Self {
        let closed = ids.iter().chain(ids.first());
        let path = closed.map(|id| format!("`{}`", id.escape_debug()));
        let path = path.collect::<Vec<_>>().join(" -> ");
        Self {
            node: ids.first().map(|&id| id.to_owned()),
            message: format!("nodes {path} form a cycle; remove one of these edges from `next`"),
        }
    }

    /// Returns the id of the node with the fault; of a cycle, the first one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }
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
