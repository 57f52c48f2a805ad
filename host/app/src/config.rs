//! The configuration: from `agent.toml`, the environment and the command line to one checked value, [`Config`].
//!
//! Two steps: the text becomes a [`RawConfig`], whose form is checked with line and column; that becomes a [`Config`], in
//! which paths are absolute, everything is filled in and what contradicts itself is refused. Nothing here opens a journal,
//! loads a component or asks a model, and the process's environment is read in one place, [`Environment::from_process`].

mod approval;
mod budgets;
mod context;
mod dir_grants;
mod env_grants;
mod environment;
mod external;
mod http_grants;
mod instructions;
mod mcp;
mod model;
mod parse;
mod paths;
mod provider;
mod raw;
mod resolve;
mod resolved;
mod secrets;
mod session;
mod source;
#[cfg(test)]
mod tests;
mod untrusted;

pub use approval::{Confirmation, RawApproval};
pub use dir_grants::DEFAULT_MASK;
pub use environment::Environment;
pub use external::ExternalTool;
pub(crate) use http_grants::argument_of;
pub use mcp::McpConfig;
pub use model::{ModelConfig, ModelsConfig};
pub use parse::{MAX_CONFIG_BYTES, parse};
pub use paths::canonical;
pub use provider::ProviderConfig;
pub use raw::{
    RawBudgets, RawConfig, RawContext, RawDirGrant, RawEnvGrant, RawExternalTool, RawGrants,
    RawHttpGrant, RawKeep, RawLimits, RawMcp, RawPooling, RawPrice, RawPrompts, RawProvider,
    RawSandbox, RawSecret, RawSession, RawTiming, RawTool,
};
pub use resolved::{ComponentSource, Config, Overrides, ToolConfig};
pub use session::SessionConfig;
pub use untrusted::{Review, Untrusted};

/// Why a configuration cannot be used. The text says what, why and what to do, in one paragraph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConfigError {
    text: String,
    /// Where in the configuration's text it is, in bytes, until the text has been put into the words.
    byte: Option<usize>,
}

impl ConfigError {
    /// An error without a place.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            byte: None,
        }
    }
}
