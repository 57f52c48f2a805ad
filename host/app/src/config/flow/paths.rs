//! The paths of granted directories, by which flows know files.

use super::super::{Config, ConfigError, problem::config_error};
use agent_host_engine::policy::{DirGrant, DirMode};
use std::path::Path;

/// Checks that each file which a tool may write has one path for all tools and agents: what one of
/// them wrote would else be a trusted file for another.
pub(in crate::config) fn check(config: &Config) -> Result<(), ConfigError> {
    let mut agents = config.agent_definitions.iter();
    if !config.flow.mode.decides() && !agents.any(|agent| agent.flow.decides()) {
        return Ok(());
    }
    let dirs = dirs(config);
    let pairs = dirs
        .iter()
        .flat_map(|one| dirs.iter().map(move |other| (one, other)));
    let conflict = pairs.into_iter().find_map(|(one, other)| {
        let is_written = [one, other]
            .iter()
            .any(|dir| dir.mode == DirMode::ReadWrite);
        let below = other.host.strip_prefix(&one.host).ok()?;
        let path = Path::new(&one.guest).join(below);
        let path = path.to_str()?.trim_end_matches('/').to_owned();
        (is_written && path != other.guest.trim_end_matches('/')).then_some((other, path))
    });
    let Some((dir, path)) = conflict else {
        return Ok(());
    };
    let (host, other) = (dir.host.display(), &dir.guest);
    let guest = toml::Value::from(path.as_str());
    Err(config_error!(
        "flow.mode",
        "[flow] knows files by the paths that tools see, and {host} is `{path}` in one grant and `{other}` in another, \
         so text in a file could lose its source",
        "give it one path: guest = {guest}"
    ))
}

fn dirs(config: &Config) -> Vec<&DirGrant> {
    let tools = config.tools.iter().map(|tool| &tool.grants);
    let servers = config
        .servers
        .iter()
        .filter_map(|server| server.component());
    let servers = servers.map(|server| &server.grants);
    let agents = config.agent_definitions.iter();
    let agents = agents.filter_map(|agent| agent.grants.as_ref());
    let grants = tools.chain(servers).chain(agents);
    grants.flat_map(|grants| &grants.dirs).collect()
}
