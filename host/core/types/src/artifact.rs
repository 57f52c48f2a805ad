//! Names of artifacts.

use crate::{
    id::{CallId, Digest},
    reason::Reason,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The longest name, in bytes: a quarter of the longest path on Linux, which also holds the
/// directory.
const MAX_NAME_BYTES: usize = 1024;
/// The longest path component, in bytes: the limit of file systems.
const MAX_COMPONENT_BYTES: usize = 255;

/// The directory of results in the names of artifacts, which no file of a tool can be in.
pub const RESULTS: &str = "results/";

/// The directory of the user's files in the names of artifacts.
pub const FILES: &str = "files/";

/// The name of an artifact: a relative path that stays below its base directory on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct ArtifactName(String);

impl FromStr for ArtifactName {
    type Err = Reason;

    fn from_str(name: &str) -> Result<Self, Reason> {
        match refusal(name) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(invalid(name, why)),
        }
    }
}

impl TryFrom<String> for ArtifactName {
    type Error = Reason;

    fn try_from(name: String) -> Result<Self, Reason> {
        name.parse()
    }
}

/// Returns the error of a name, which it quotes in part.
fn invalid(name: &str, why: &str) -> Reason {
    let shown: String = name.chars().take(MAX_COMPONENT_BYTES).collect();
    Reason::from(format!(
        "invalid artifact name `{}`: {why}; name it like `report.md` or `plots/one.png`",
        shown.escape_debug()
    ))
}

/// Returns why a name is refused.
fn refusal(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_NAME_BYTES {
        return Some("it has more than 1,024 bytes");
    }
    if name.starts_with('/') {
        return Some("it is absolute");
    }
    if name.chars().any(char::is_control) {
        return Some("it has control characters");
    }
    // They separate components and drives on other systems.
    if name.contains(['\\', ':']) {
        return Some("it has a backslash or a colon");
    }
    name.split('/').find_map(|component| match component {
        "" => Some("a part of it is empty"),
        "." | ".." => Some("it contains `.` or `..`"),
        _ if component.len() > MAX_COMPONENT_BYTES => Some("a part of it has more than 255 bytes"),
        _ => None,
    })
}

impl ArtifactName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the artifact with the whole result of a call.
    #[must_use]
    pub fn of_result(call: &CallId) -> Self {
        let name = format!("{RESULTS}{}", call.0);
        // A provider chose the id.
        match name.parse() {
            Ok(name) if !call.0.contains('/') => name,
            _ => Self(format!("{RESULTS}{}", Digest::of(call.0.as_bytes()).hex())),
        }
    }

    /// Returns the name of the artifact with a file of the user that has this digest and no name.
    #[must_use]
    pub fn of_file(digest: Digest) -> Self {
        Self(format!("{FILES}{}.txt", digest.hex()))
    }

    /// Returns the name, unless it is in the reserved directory of results.
    ///
    /// # Errors
    /// If it is.
    pub fn outside_results(self) -> Result<Self, Reason> {
        match self.0.starts_with(RESULTS) {
            true => Err(invalid(
                &self.0,
                "it is in the reserved directory of results",
            )),
            false => Ok(self),
        }
    }
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
