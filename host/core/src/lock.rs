//! `agent.lock`: what the operator accepted. Each component is pinned by its own digest and by the digest of its tool
//! definitions; what differs is not run until it is accepted anew. Reading and writing the file is the app's business.

#[cfg(test)]
mod tests;

use crate::{id::Digest, tool::ToolDefinition};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the file's form.
pub const LOCK_VERSION: u32 = 1;

/// The content of `agent.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the form, [`LOCK_VERSION`].
    pub version: u32,
    /// The components by their name in the configuration.
    #[serde(default)]
    pub tool: BTreeMap<String, LockedTool>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: LOCK_VERSION,
            tool: BTreeMap::new(),
        }
    }
}

/// What was accepted of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedTool {
    /// The digest of the component's bytes.
    pub component: Digest,
    /// The digest of its definitions, [`definitions_digest`].
    pub definitions: Digest,
}

/// How a component stands to what was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStatus {
    /// It is exactly what was accepted.
    Same,
    /// It was never accepted.
    New,
    /// Its code changed and its definitions did not.
    ComponentChanged,
    /// Its definitions changed: the model would be told something else.
    DefinitionsChanged,
}

impl Lock {
    /// Compares a component with what was accepted under its name.
    #[must_use]
    pub fn status(&self, name: &str, current: &LockedTool) -> LockStatus {
        match self.tool.get(name) {
            None => LockStatus::New,
            Some(accepted) if accepted == current => LockStatus::Same,
            Some(accepted) if accepted.definitions == current.definitions => {
                LockStatus::ComponentChanged
            }
            Some(_) => LockStatus::DefinitionsChanged,
        }
    }
}

/// The digest of a component's definitions: of their JSON, in which the keys of every object are sorted.
#[must_use]
pub fn definitions_digest(definitions: &[ToolDefinition]) -> Digest {
    crate::id::json_digest(&serde_json::json!(definitions))
}
