//! The most entries of the lists of a file. What one list has is combined with each entry of
//! another, such as grants with tools and tools with agents. Bounds of both bound the product, also
//! for a file that is not trusted. Agents, hooks, rules, schedules, skills, webhooks and workflows
//! are bounded where they are resolved.

use super::{
    ConfigError, GrantsSection,
    problem::{Problems, config_error},
    raw::RawConfig,
};

/// The most components, whose grants each has.
const MAX_TOOLS: usize = 256;

/// The most external tools.
const MAX_EXTERNAL_TOOLS: usize = 1_000;

/// The most MCP servers.
const MAX_SERVERS: usize = 128;

/// The most secrets, providers of models and publishers.
const MAX_NAMED: usize = 256;

/// The most directories, hosts or secrets of one list of grants. A tool without one of the lists
/// has that of `[grants]`.
const MAX_GRANTS: usize = 256;

/// Checks the lists of a file.
///
/// # Errors
/// All that are too long.
pub(super) fn check(raw: &RawConfig) -> Result<(), ConfigError> {
    let lists = [
        ("tool", raw.tool.as_ref().map_or(0, Vec::len), MAX_TOOLS),
        ("external-tool", raw.external_tool.len(), MAX_EXTERNAL_TOOLS),
        ("mcp", raw.mcp.len(), MAX_SERVERS),
        ("secret", raw.secret.len(), MAX_NAMED),
        ("provider", raw.provider.len(), MAX_NAMED),
        ("publisher", raw.publisher.len(), MAX_NAMED),
    ];
    check_all(&lists)
}

/// Checks lists of grants.
///
/// # Errors
/// All that are too long.
pub(super) fn check_grants(raw: &GrantsSection) -> Result<(), ConfigError> {
    let lists = [
        ("dir", raw.dir.as_ref().map_or(0, Vec::len), MAX_GRANTS),
        ("http", raw.http.as_ref().map_or(0, Vec::len), MAX_GRANTS),
        (
            "secrets",
            raw.secrets.as_ref().map_or(0, Vec::len),
            MAX_GRANTS,
        ),
    ];
    check_all(&lists)
}

fn check_all(lists: &[(&str, usize, usize)]) -> Result<(), ConfigError> {
    let mut problems = Problems::default();
    for (key, count, most) in lists.iter().filter(|(_, count, most)| count > most) {
        problems.take::<()>(Err(config_error!(
            key,
            "`{key}` has {count} entries, and at most {most} are used",
            "remove some of them"
        )));
    }
    problems.or(())
}
