//! The names of the tools of the program, which no component, MCP server or client may take: its
//! tool would stand in the place of the program's, or behind it.

use crate::{
    READ_SKILL,
    config::Config,
    memory::{FORGET, RECALL, REMEMBER},
};
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
pub const OWN_TOOLS: [&str; 11] = [
    READ_ARTIFACT,
    READ_SKILL,
    SEARCH_TOOL,
    ASK_USER,
    WRITE_TODOS,
    RUN_PROGRAM,
    DESCRIBE_TOOLS,
    READ_QUARANTINED,
    REMEMBER,
    RECALL,
    FORGET,
];

/// Whether a name is that of a tool of the program. Those of memory have words that others use, and
/// are reserved where they are offered.
#[must_use]
pub(crate) fn is_own_tool(name: &str, config: &Config) -> bool {
    let is_of_memory = [REMEMBER, RECALL, FORGET].contains(&name);
    OWN_TOOLS.contains(&name) && (config.memory.is_some() || !is_of_memory)
}
