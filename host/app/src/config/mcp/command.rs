//! The program of a server that is started.

use super::Address;
use crate::config::{
    ConfigError,
    env_grants::{self, RawEnvGrant},
    paths::Scope,
    problem::config_error,
};
use agent_host_mcp_client::ServerCommand;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// `command` of `[[mcp]]`, as clients write it: a program whose arguments are in `args`, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::config) enum RawCommand {
    Program(String),
    Words(Vec<String>),
}

impl RawCommand {
    /// Returns the program and all its arguments.
    pub(in crate::config) fn words(&self, args: &[String]) -> Vec<String> {
        let own = match self {
            Self::Program(program) => std::slice::from_ref(program),
            Self::Words(words) => words,
        };
        own.iter().chain(args).cloned().collect()
    }
}

/// Resolves a server that is started, with the host's `PATH`, the granted variables, and a home
/// directory when it starts, and nothing else of the environment; in `dir`, or in the directory of
/// the file.
pub(super) fn command_address(
    name: &str,
    command: Vec<String>,
    dir: Option<&str>,
    env: Vec<RawEnvGrant>,
    scope: Scope<'_>,
) -> Result<Address, ConfigError> {
    let refuse = |why: &str, fix: &str| {
        Err(config_error!(
            "command",
            "`command` of the MCP server `{name}` {why}",
            "{fix}"
        ))
    };
    if command.iter().any(|word| word.contains('\0')) {
        let why = "contains NUL, which is not allowed in a command";
        return refuse(why, "remove it");
    }
    let mut words = command.into_iter();
    let fix = "write the program and its arguments as a list";
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return refuse("names no program", fix);
    };
    if program.contains(' ') && !program.contains('/') {
        return refuse("names a program with a space in its name", fix);
    }
    let granted = env_grants::resolve(env, scope)?;
    let mut env: Vec<(String, SecretString)> = granted
        .into_iter()
        .map(|grant| (grant.name, grant.value.into()))
        .collect();
    if !env.iter().any(|(name, _)| name == "PATH") {
        let path = scope.environment.variable("PATH");
        env.extend(path.map(|path| ("PATH".to_owned(), path.into())));
    }
    Ok(Address::Command(ServerCommand {
        program,
        args: words.collect(),
        env,
        directory: match dir {
            Some(dir) => scope.resolve_path("dir", dir)?,
            None => scope.base.to_owned(),
        },
        supervisor: None,
    }))
}
