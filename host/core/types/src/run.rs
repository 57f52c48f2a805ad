//! The arguments of a run that a later run of the same session takes over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum size of recorded arguments, in bytes of JSON.
pub const MAX_RUN_ARGUMENTS_BYTES: usize = 64 * 1024;

/// The arguments of a run that its session depends on. Values of variables are not recorded.
///
/// Authority (a configuration file, tools, grants, trust, allowed calls) comes from the user of
/// that run alone. A copy of a session has none: see
/// [`Event::SessionForked`](crate::event::Event::SessionForked).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RunArguments {
    /// The working directory, in which relative paths begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The configuration file, absolute; absent for the one that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The model, as `PROVIDER:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The level of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The components besides the configured ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The grants; one of a variable with a value ends with its `=`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// Whether the working directory may be written.
    #[serde(skip_serializing_if = "is_false")]
    pub write: bool,
    /// Whether the configuration that was found is trusted.
    #[serde(skip_serializing_if = "is_false")]
    pub trust: bool,
    /// The calls that run without approval, as `TOOL(PATTERN)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The calls that do not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Whether the caller of the loop runs the tools.
    #[serde(skip_serializing_if = "is_false")]
    pub runs_tools_outside: bool,
}

impl RunArguments {
    /// Returns whether the arguments besides the directory are those of a run without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { directory, .. } = self;
        *self
            == Self {
                directory: directory.clone(),
                ..Self::default()
            }
    }

    /// Returns whether they name what a tool may be, read, reach or do without approval.
    #[must_use]
    pub fn has_authority(&self) -> bool {
        self.config.is_some() || !self.tools.is_empty() || self.widens()
    }

    /// Returns whether they give more than the configuration does.
    #[must_use]
    pub fn widens(&self) -> bool {
        self.write || self.trust || !self.grants.is_empty() || !self.allow.is_empty()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}
