//! The lists of a file: the most entries, and the names of these. What one list has is combined
//! with each entry of another, such as grants with tools and tools with agents. Bounds of both
//! bound the product, also for a file that is not trusted. Agents, hooks, rules, schedules, skills,
//! webhooks and workflows are bounded where they are resolved.

use super::{
    ConfigError,
    problem::{Problems, config_error},
};
use agent_host_types::tool::is_tool_name;
use std::collections::HashSet;

/// The most components, whose grants each has.
pub(super) const MAX_TOOLS: usize = 256;

/// The most external tools.
pub(super) const MAX_EXTERNAL_TOOLS: usize = 1_000;

/// The most MCP servers.
pub(super) const MAX_SERVERS: usize = 128;

/// The most secrets, providers of models and publishers.
pub(super) const MAX_NAMED: usize = 256;

/// The most directories, hosts or secrets of one list of grants. A tool without one of the lists
/// has that of `[grants]`.
pub(super) const MAX_GRANTS: usize = 256;

/// Checks the lists of these keys, each with its count and the most entries.
///
/// # Errors
/// All that are too long.
pub(super) fn check(lists: &[(&str, usize, usize)]) -> Result<(), ConfigError> {
    let mut problems = Problems::default();
    for (key, count, most) in lists.iter().filter(|(_, count, most)| count > most) {
        problems.take::<()>(Err(config_error!(
            key,
            "`{key}` has {count} entries, and the maximum is {most}",
            "remove some of them"
        )));
    }
    problems.or(())
}

/// Checks the name of a tool, a secret or an external tool. The text around the name in a message
/// is `before` and `after`; `section` is its table.
pub(super) fn check_name(
    name: &str,
    before: &str,
    after: &str,
    section: &str,
) -> Result<(), ConfigError> {
    if is_tool_name(name) {
        return Ok(());
    }
    let shown = name.escape_debug();
    Err(config_error!(
        "name",
        "{before}{shown}{after} is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`",
        "change `name` under {section}"
    )
    .with_value(name))
}

/// Refuses the second of two items of the same name. `items`, and `reader`, which could not tell
/// them apart, are for messages.
pub(super) fn check_unique(
    names: &mut HashSet<String>,
    name: &str,
    items: &str,
    reader: &str,
) -> Result<(), ConfigError> {
    if names.insert(name.to_owned()) {
        return Ok(());
    }
    let shown = name.escape_debug();
    Err(config_error!(
        "name",
        "two {items} are named `{shown}`, and {reader} could not tell them apart",
        "rename one of them"
    )
    .with_value(name))
}

/// Refuses more entries of the list `key` than are used. `items` are the entries in words.
pub(super) fn check_count(
    key: &str,
    items: &str,
    count: usize,
    most: usize,
    fix: &str,
) -> Result<(), ConfigError> {
    match count > most {
        false => Ok(()),
        true => Err(config_error!(
            key,
            "there are {count} {items}, and the maximum is {most}",
            "{fix}"
        )),
    }
}
