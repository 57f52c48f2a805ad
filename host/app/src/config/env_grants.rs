//! Environment variables of guests: `[[grants.env]]`, `[[tool.env]]` and `--grant
//! env:NAME[=VALUE]`. A guest sees these and no others.

use super::{
    ConfigError, Environment,
    paths::Scope,
    problem::{config_error, resolve_all},
    review::{Danger, Review, quoted},
    section::section,
};
use agent_host_engine::policy::EnvGrant;

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 32 * 1024;
/// The maximum number of variables of one tool. All of them are copied into the guest at once.
const MAX_VARIABLES: usize = 64;

section! {
    /// `[[grants.env]]` and `[[tool.env]]`.
    #[derive(Eq)]
    pub(super) struct RawEnvGrant {
        /// The name.
        name: String => together;
        /// The value.
        value [Secret]: Option<String> => pinned;
        /// True to use the value of the host's variable with this name.
        #[serde(default)]
        from_host: bool => together;
    }
}

/// Demands a variable of the host.
pub(super) fn demand(raw: &RawEnvGrant, who: &str, review: &mut Review<'_>) {
    if raw.from_host {
        let name = quoted(&raw.name);
        review.demand(
            Danger::Private,
            format!("passes the environment variable {name} to {who}"),
        );
    }
}

/// Resolves the list `env`.
pub(super) fn resolve(
    raw: Vec<RawEnvGrant>,
    scope: Scope<'_>,
) -> Result<Vec<EnvGrant>, ConfigError> {
    let mut grants = Vec::new();
    resolve_all("env", raw, |raw| {
        if raw.value.is_some() == raw.from_host {
            let name = raw.name.escape_debug();
            return Err(config_error!(
                "",
                "the variable `{name}` needs either `value` or `from-host = true` to be granted to tools",
                "set one of them"
            ));
        }
        add(&mut grants, "", raw.name, raw.value, scope.environment)
    })?;
    Ok(grants)
}

/// Adds a grant of the command line, `NAME=VALUE`, or `NAME` for the host's variable.
pub(super) fn add_argument(
    grants: &mut Vec<EnvGrant>,
    argument: &str,
    environment: &Environment,
) -> Result<(), ConfigError> {
    let (name, value) = match argument.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (argument, None),
    };
    // The command line overrides the file.
    grants.retain(|grant| grant.name != name);
    add(grants, "--grant", name.to_owned(), value, environment)
}

/// Adds a variable with a value, or with the host's. One that the host does not have is absent in
/// guests, too.
fn add(
    grants: &mut Vec<EnvGrant>,
    key: &str,
    name: String,
    value: Option<String>,
    environment: &Environment,
) -> Result<(), ConfigError> {
    let refuse = |why: &str, fix: &str| {
        let name = name.escape_debug();
        let reason = format!("cannot grant the variable `{name}` to tools: {why}");
        Err(ConfigError::new(key, reason, fix))
    };
    if name.is_empty() || name.contains(['=', '\0']) {
        return refuse(
            "its name is empty or contains `=` or NUL",
            "correct the name",
        );
    }
    if name.len() > MAX_NAME_BYTES {
        let why = format!("its name is longer than {MAX_NAME_BYTES} bytes");
        return refuse(&why, "correct the name");
    }
    if grants.iter().any(|grant| grant.name == name) {
        return refuse("it is granted twice", "remove one of the two");
    }
    let Some(value) = value.or_else(|| environment.variables.get(&name).cloned()) else {
        return Ok(());
    };
    if value.len() > MAX_VALUE_BYTES || value.contains('\0') {
        let why = format!("its value is longer than {MAX_VALUE_BYTES} bytes or contains NUL");
        return refuse(&why, "put larger data in a file");
    }
    if grants.len() == MAX_VARIABLES {
        let why = format!("there are more than {MAX_VARIABLES}");
        return refuse(&why, "grant only what the tool reads");
    }
    grants.push(EnvGrant { name, value });
    Ok(())
}
