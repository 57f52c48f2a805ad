//! Descriptions of where the calls of a tool run, and of what they may reach there.

use agent_host_app::{Registry, grant_lines};

/// Describes where a tool's calls run and what they may reach there.
pub(super) fn for_tool(registry: &Registry, tool: &str) -> String {
    if let Some(entry) = registry.component_of(tool) {
        let grants = grant_lines(&entry.grants).join("; ");
        return format!("the component `{}`; access: {grants}", entry.name);
    }
    match registry.server_of(tool) {
        Some(entry) => format!(
            "the MCP server `{}`, which is outside of the sandbox and can access everything that {} can",
            entry.config.name,
            entry.server.config().reach.identity()
        ),
        None => "a program outside of agent-host".to_owned(),
    }
}
