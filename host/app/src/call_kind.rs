//! The kinds of calls, for icons. They follow from the runtime, the effect and the grants that the
//! host enforces; a tool has no say in its kind.

use crate::{ComponentSource, READ_SKILL, Registry};
use agent_host_engine::{
    artifact::READ_ARTIFACT,
    policy::{DirGrant, DirMode, Grants},
    program::{DESCRIBE_TOOLS, RUN_PROGRAM},
    tool_search::SEARCH_TOOL,
};
use agent_host_types::tool::{Effect, RegisteredTool, ToolRuntime};
use schemars::JsonSchema;
use serde::Serialize;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// Reads files, artifacts or instructions.
    Read,
    /// May change files.
    Edit,
    /// Lists or searches files or tools.
    Search,
    /// Sends requests to the network.
    Network,
    /// Runs code of the model.
    Code,
    /// Starts an agent.
    Agent,
    /// Anything else, such as a tool of an MCP server.
    Other,
}

impl CallKind {
    /// Returns the kind of the calls of a tool; `tool` is absent for one that is not known any more.
    #[must_use]
    pub fn new(registry: &Registry, name: &str, tool: Option<&RegisteredTool>) -> Self {
        let is_agent = tool.is_some_and(|tool| tool.runtime == ToolRuntime::Agent);
        match (registry.component_of(name), registry.tool(name), name) {
            (Some(component), Some(tool), _) => match &component.source {
                ComponentSource::Builtin(builtin) => match (builtin.as_str(), name) {
                    ("code", _) => Self::Code,
                    // It has the directory grants of the file's top level, too.
                    ("fetch", _) => Self::Network,
                    ("files", "search_files" | "list_directory") => Self::Search,
                    _ => Self::from_grants(tool.effect, &component.grants),
                },
                _ => Self::from_grants(tool.effect, &component.grants),
            },
            (None, None, RUN_PROGRAM) => Self::Code,
            (None, None, SEARCH_TOOL | DESCRIBE_TOOLS) => Self::Search,
            (None, None, READ_SKILL | READ_ARTIFACT) => Self::Read,
            _ if is_agent => Self::Agent,
            _ => Self::Other,
        }
    }

    fn from_grants(effect: Effect, grants: &Grants) -> Self {
        let is_writable = |dir: &DirGrant| dir.mode == DirMode::ReadWrite;
        match effect {
            Effect::ReadOnly if !grants.dirs.is_empty() => Self::Read,
            Effect::Idempotent | Effect::Effectful if grants.dirs.iter().any(is_writable) => {
                Self::Edit
            }
            _ if !grants.http.is_empty() => Self::Network,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallKind;
    use agent_host_engine::policy::{DirGrant, DirMode, Grants};
    use agent_host_types::tool::Effect;
    use pretty_assertions::assert_eq;

    fn grants(dirs: &[(&str, &str, DirMode)]) -> Grants {
        let dirs = dirs
            .iter()
            .map(|(host, guest, mode)| DirGrant::new(host, *guest, *mode));
        Grants {
            dirs: dirs.collect(),
            ..Grants::default()
        }
    }

    #[test]
    fn call_kind_follows_effect_and_grants() {
        let read = grants(&[("/a", "/a", DirMode::ReadOnly)]);
        let write = grants(&[("/a", "/a", DirMode::ReadWrite)]);
        for (effect, grants, expected) in [
            (Effect::ReadOnly, &read, CallKind::Read),
            (Effect::ReadOnly, &write, CallKind::Read),
            (Effect::Effectful, &read, CallKind::Other),
            (Effect::Effectful, &write, CallKind::Edit),
            (Effect::Idempotent, &write, CallKind::Edit),
            (Effect::ReadOnly, &Grants::default(), CallKind::Other),
        ] {
            let kind = CallKind::from_grants(effect, grants);
            assert_eq!(kind, expected, "{effect:?} {grants:?}");
        }
    }
}
