//! The home directory of a server that is started: `mcp-home/NAME` in the state directory, which no
//! guest may reach. Launchers such as `npx` and `uvx` keep caches there. Without a `HOME` they would
//! take the user's own from the database of users, or fail where that has no entry.

use crate::config::{ConfigError, problem::config_error};
use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The variable with the home directory.
pub(super) const VARIABLE: &str = "HOME";

/// Returns the home directory of the server `name`, whose characters are those of a file name.
pub(super) fn path(state_dir: &Path, name: &str) -> PathBuf {
    state_dir.join("mcp-home").join(name)
}

/// Creates the home directory of the server `name`, which only its owner may read, and returns it
/// as the value of [`VARIABLE`].
pub(super) fn create(state_dir: &Path, name: &str) -> Result<String, ConfigError> {
    let path = path(state_dir, name);
    let refuse = |why: &dyn std::fmt::Display| {
        let shown = path.display();
        config_error!(
            "",
            "cannot create {shown}, the home directory of the MCP server `{name}`: {why}",
            "fix that, or set `HOME` with [[mcp.env]]"
        )
    };
    let Some(text) = path.to_str() else {
        return Err(refuse(&"its path is not UTF-8"));
    };
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(&path);
    created.map_err(|error| refuse(&error))?;
    Ok(text.to_owned())
}
