//! Checks that the rules about calls name tools that are there.

use crate::{
    READ_SKILL, Registry,
    config::{Config, ConfigError, advice},
};
use agent_host_engine::{
    agents::TOOL_PREFIX, artifact::READ_ARTIFACT, ask_user::ASK_USER, text, tool::ToolRunner as _,
    tool_search::SEARCH_TOOL,
};

/// The tools of the program, which are offered where there is use for them.
const OWN_TOOLS: [&str; 4] = [READ_ARTIFACT, READ_SKILL, SEARCH_TOOL, ASK_USER];

/// The maximum of bytes shown of the names of all tools.
const NAMES_BYTES: usize = 1_000;

/// Checks the names of tools in rules. A denial with a misspelled name would deny nothing.
///
/// # Errors
/// A rule names a tool without a glob, and there is none. Tools of an absent MCP server, which is
/// not required, may be named.
pub fn check_rules(config: &Config, registry: &Registry) -> Result<(), ConfigError> {
    let tools = registry.tools().iter();
    let mut known: Vec<&str> = tools.map(|tool| tool.definition.name.as_str()).collect();
    known.extend(OWN_TOOLS);
    let agents: Vec<String> = config
        .agent_definitions
        .iter()
        .map(|agent| format!("{TOOL_PREFIX}{}", agent.name))
        .collect();
    known.extend(agents.iter().map(String::as_str));
    let of_absent = |tool: &str| {
        let mut servers = registry.absent_servers().iter();
        servers.any(|server| {
            let own = tool.strip_prefix(server.as_str());
            own.is_some_and(|own| own.starts_with('_'))
        })
    };
    for rule in config.rules.iter() {
        let named = rule.tools.iter().filter_map(|tool| tool.as_exact());
        let missing = |tool: &&str| !known.contains(tool) && !of_absent(tool);
        if let Some(tool) = named.into_iter().find(missing) {
            let advice = advice(tool, &known, "the tools are");
            let reason = format!(
                "{} is for the tool `{tool}`, and there is no such tool, so that it would match no call",
                rule.name
            );
            let fix = format!(
                "{}; if it is there only sometimes, write its name with a `*`",
                text::sanitize(&advice, NAMES_BYTES)
            );
            return Err(ConfigError::new("", reason, fix));
        }
    }
    Ok(())
}
