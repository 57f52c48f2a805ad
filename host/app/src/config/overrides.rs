//! The changes of the command line to a configuration.

use agent_host_models::Effort;
use std::path::PathBuf;

/// The changes of the command line to a configuration. Relative paths begin at the working
/// directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The model, instead of the configured one.
    pub model: Option<String>,
    /// The effort of the model, instead of the configured effort and thinking.
    pub effort: Option<Effort>,
    /// The file to record the exchanges with model servers in; it must not exist.
    pub record: Option<PathBuf>,
    /// Components besides the configured ones: files, or `builtin:NAME`.
    pub tools: Vec<String>,
    /// Grants besides the configured ones: `dir:PATH[:read-write]`,
    /// `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, `env:NAME[=VALUE]` and `secret:NAME`. A
    /// directory here replaces the default grant of the working directory.
    pub grants: Vec<String>,
    /// Makes the grant of the working directory writable.
    pub write: bool,
    /// The calls that run without approval: `TOOL`, `TOOL(GLOB)` or `TOOL(/POINTER=GLOB)`.
    pub allow: Vec<String>,
    /// The calls that are denied, above every rule of the configuration.
    pub deny: Vec<String>,
    /// The maximum of model calls, instead of the configured one.
    pub max_turns: Option<u64>,
    /// The maximum of tokens, instead of the configured one.
    pub max_total_tokens: Option<u64>,
    /// The maximum of US dollars, instead of the configured one.
    pub max_usd: Option<f64>,
    /// The maximum of tool calls, instead of the configured one.
    pub max_tool_calls: Option<u64>,
    /// Refuses what `agent.lock` does not have, instead of adding it there.
    pub locked: bool,
    /// The state directory, instead of the configured one.
    pub state_dir: Option<PathBuf>,
    /// The system prompt, instead of the configured one; an empty one for none.
    pub system: Option<String>,
    /// The treatment of an `agent.toml` of the working directory that is not trusted.
    pub on_untrusted: OnUntrusted,
}

/// The treatment of an `agent.toml` of the working directory that asks for more than an untrusted one
/// gets, and that the user does not trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUntrusted {
    /// It is an error.
    #[default]
    Refuse,
    /// The whole file is left out, as if it did not exist, for a command that only looks:
    /// [`Config::left_out`](super::Config::left_out) has its review.
    LeaveOut,
    /// It is used, whatever it asks for.
    Use,
}
