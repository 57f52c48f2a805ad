//! Descriptions of where the calls of a tool run, and of what they may reach there.

use crate::terminal::ToolReach;
use agent_host_app::{Registry, grant_lines};
use agent_host_mcp_client::Reach;

/// Describes where a tool's calls run and what they may reach there.
pub(super) fn for_tool(registry: &Registry, tool: &str) -> ToolReach {
    if let Some(entry) = registry.component_of(tool) {
        let reach = || format!("can reach {}", grant_lines(&entry.grants).join("; "));
        return ToolReach {
            origin: format!("the component `{}`, in the sandbox", entry.name),
            beyond: (!entry.grants.is_nothing()).then(reach),
        };
    }
    let Some(entry) = registry.server_of(tool) else {
        let origin = "a program outside of agent-host".to_owned();
        let beyond = Some(format!("runs outside the sandbox, in {origin}"));
        return ToolReach { origin, beyond };
    };
    let reach = &entry.server.config().reach;
    let rights = match reach {
        Reach::Command(_) => "a program with all of your permissions",
        Reach::Http(_) => "a server on the network",
    };
    let name = &entry.config.name;
    ToolReach {
        origin: format!("the MCP server `{name}`: {}", reach.identity()),
        beyond: Some(format!(
            "runs outside the sandbox: MCP server `{name}` is {rights}"
        )),
    }
}
