//! The configuration: `agent.toml`, the environment and the command line, resolved to one checked
//! value, [`Config`].
//!
//! The text is parsed to private types that mirror its form, where an unknown key is an error.
//! Those are resolved to a [`Config`] in which paths are absolute, defaults are filled in and
//! contradictions are refused. Nothing here opens a journal, loads a component or asks a model, and
//! the process environment is read in one place, [`Environment::from_process`].

mod agents;
mod approval;
mod budgets;
mod context;
mod dir_grants;
mod effective;
mod env_grants;
mod environment;
mod external;
mod flow;
mod grants;
mod headers;
mod hints;
mod hooks;
mod hosts;
mod http_grants;
mod instructions;
mod layers;
mod limits;
mod lists;
mod load;
mod mcp;
mod memory;
mod model;
mod network;
mod origin;
mod overrides;
mod parse;
mod paths;
mod patterns;
mod prices;
mod problem;
mod provider;
mod publishers;
mod raw;
mod resolve;
mod resolved;
mod review;
mod rule_flags;
mod rules;
mod sandbox;
mod schedules;
mod schema;
mod secrets;
mod section;
mod session;
mod settings;
mod skills;
mod source;
mod starter;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod tools;
mod triggers;
mod units;
mod untrusted;
mod webhooks;
mod words;
mod workflows;

pub use agents::{AgentConfig, GENERAL_PURPOSE};
pub use approval::{Confirmation, Confirmations};
pub use dir_grants::DEFAULT_MASK;
pub use effective::{Effective, EffectiveValue, HIDDEN};
pub use environment::Environment;
pub use external::ExternalTool;
pub use grants::GrantsSection;
pub(crate) use hints::advice;
pub use hints::nearest;
pub use hooks::{HookConfig, OnHookError};
pub use hosts::HostsConfig;
pub use limits::LimitsSection;
pub use mcp::{ComponentServer, McpConfig};
pub use memory::MemoryConfig;
pub use model::{ModelConfig, ModelsConfig};
pub use overrides::{OnUntrusted, Overrides};
pub(crate) use parse::argument_of;
pub use parse::{MAX_CONFIG_BYTES, parse};
pub use paths::canonical;
pub(crate) use problem::shortened;
pub use problem::{ConfigError, ConfigProblem, ConfigSpan, Excerpt};
pub use provider::ProviderConfig;
pub(crate) use publishers::{Accepts, RegistriesConfig};
pub use resolved::Config;
pub use review::Review;
pub use rule_flags::{RuleFlag, allowing_flag};
pub use schedules::{Overlap, ScheduleConfig};
pub use schema::config_schema;
pub use secrets::SecretSection;
pub use session::SessionConfig;
pub(crate) use source::may_be_secret;
pub use starter::{STARTER, Setup};
pub use store::{DatabaseAddress, StoreConfig, read_store_key};
pub use telemetry::TelemetryConfig;
pub use tools::{ComponentSource, ToolConfig};
pub use triggers::{
    NotifyConfig, NotifyTarget, SignatureScheme, TriggerKind, TriggerRun, TriggerSession,
    WebhookSecret,
};
pub use units::{parse_bytes, parse_days, parse_seconds};
pub use untrusted::{LeftOut, Untrusted, UnusableFile};
pub use webhooks::WebhookConfig;
