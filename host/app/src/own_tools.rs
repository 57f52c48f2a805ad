//! The names of the tools of the program, which no component, MCP server or client may take: its
//! tool would stand in the place of the program's, or behind it.

use crate::READ_SKILL;
use agent_host_engine::{
    artifact::READ_ARTIFACT,
    ask_user::ASK_USER,
    flow::reader::READ_QUARANTINED,
    program::{DESCRIBE_TOOLS, RUN_PROGRAM},
    todo_list::WRITE_TODOS,
    tool_search::SEARCH_TOOL,
};

/// The tools of the program, which are offered where there is use for them. Those that start agents
/// are reserved beside them, by the agents' names.
pub const OWN_TOOLS: [&str; 8] = [
    READ_ARTIFACT,
    READ_SKILL,
    SEARCH_TOOL,
    ASK_USER,
    WRITE_TODOS,
    RUN_PROGRAM,
    DESCRIBE_TOOLS,
    READ_QUARANTINED,
];

/// Whether a name is that of a tool of the program.
#[must_use]
pub(crate) fn is_own_tool(name: &str) -> bool {
    OWN_TOOLS.contains(&name)
}
