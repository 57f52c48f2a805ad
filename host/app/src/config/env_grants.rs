//! Environment variables for guests: from `[[grants.env]]`, `[[tool.env]]` and `--grant env:NAME[=VALUE]`. A guest sees these
//! and no others.

use super::{ConfigError, Environment, RawEnvGrant};
use agent_host_engine::policy::EnvGrant;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The longest value, in bytes.
const MAX_VALUE_BYTES: usize = 32 * 1024;
/// The most variables of one tool. All of them are copied into the guest at once.
const MAX_VARIABLES: usize = 64;

/// The grants of the configuration.
pub(super) fn from_raw(
    raw: Vec<RawEnvGrant>,
    environment: &Environment,
) -> Result<Vec<EnvGrant>, ConfigError> {
    let mut grants = Vec::new();
    for raw in raw {
        let RawEnvGrant {
            name,
            value,
            from_host,
        } = raw;
        let value = match (value, from_host) {
            (Some(value), false) => Some(value),
            (None, true) => None,
            (Some(_), true) | (None, false) => {
                return Err(ConfigError::new(format!(
                    "the variable `{}` that is granted to tools needs either `value` or `from-host = true`; write one of them",
                    name.escape_debug()
                )));
            }
        };
        add(&mut grants, name, value, environment)?;
    }
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
    // The command line has the last word.
    grants.retain(|grant| grant.name != name);
    add(grants, name.to_owned(), value, environment)
}

/// Adds a variable with a value, or with the host's. One that the host does not have is not there for guests either.
fn add(
    grants: &mut Vec<EnvGrant>,
    name: String,
    value: Option<String>,
    environment: &Environment,
) -> Result<(), ConfigError> {
    let refuse = |why: &str| {
        Err(ConfigError::new(format!(
            "the variable `{}` cannot be granted to tools: {why}",
            name.escape_debug()
        )))
    };
    if name.is_empty() || name.contains(['=', '\0']) {
        return refuse("its name is empty or has `=` or NUL in it; correct the name");
    }
    if name.len() > MAX_NAME_BYTES {
        return refuse(&format!(
            "its name is longer than {MAX_NAME_BYTES} bytes; correct the name"
        ));
    }
    if grants.iter().any(|grant| grant.name == name) {
        return refuse("it is granted twice; remove one of the two");
    }
    let Some(value) = value.or_else(|| environment.variables.get(&name).cloned()) else {
        return Ok(());
    };
    if value.len() > MAX_VALUE_BYTES || value.contains('\0') {
        return refuse(&format!(
            "its value is longer than {MAX_VALUE_BYTES} bytes or has NUL in it; give larger data in a file"
        ));
    }
    if grants.len() == MAX_VARIABLES {
        return refuse(&format!(
            "there are more than {MAX_VARIABLES}; grant only what the tool reads"
        ));
    }
    grants.push(EnvGrant { name, value });
    Ok(())
}
