//! From `agent.toml` to a running host: the crate for embedders and the CLI. It wires the other
//! crates together and decides nothing that they could decide themselves.
//!
//! [`Config::load`] resolves a configuration, [`Host::open`] opens it: its [`Sessions`], and its
//! [`ConfiguredAgents`], which create the engine. `examples/embed.rs` is an embedder with a model and a native tool of its own.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod agents;
mod builtin;
mod call_kind;
mod check;
mod compile_report;
mod components;
pub mod config;
mod default_prompt;
mod distribution;
mod error;
mod executables;
mod explain;
mod file_change;
mod hooks;
mod host;
mod host_turn;
mod indexes;
mod lock_diff;
mod lock_file;
mod login_file;
mod mcp_entry;
mod memory;
mod models;
mod models_list;
#[cfg(test)]
#[path = "../../../tests/support/src/mutations.rs"]
mod mutations;
mod no_model;
mod outside;
mod own_tools;
mod packages;
mod placement;
mod programs;
mod reach;
mod receipts;
mod recording;
mod registry;
mod replay;
mod rules;
mod run_states;
pub mod runs;
mod sandboxed_server;
mod servers;
mod sessions;
mod signed_file;
mod skill;
mod stats;
mod store;
#[cfg(test)]
mod test_host;
mod text_search;
mod timetable;
mod tool_choice;
mod tool_entry;
mod trust;
pub mod trusted_file;
mod undo;
mod updates;
mod waiting;
mod workflows;

pub use agent_host_models::{Effort, Preset};
pub use agent_host_registry as oci;
pub use agent_host_telemetry::{Gauge as MetricGauge, Metrics};
pub use agent_host_workflow::graph::Layout as WorkflowLayout;
pub use agents::ConfiguredAgents;
pub use builtin::{BUILTINS, Builtin, builtin};
pub use call_kind::CallKind;
pub use check::{CheckedModel, ModelAnswer, Role, check_models};
pub use components::ComponentEntry;
pub use config::{
    ComponentServer, ComponentSource, Config, ConfigError, ConfigProblem, Environment, HookConfig,
    ModelConfig, OnHookError, OnUntrusted, Overrides, StoreConfig, allowing_flag, config_schema,
    nearest,
};
pub use distribution::{PulledComponent, PushedComponent, check_login, pull, push};
pub use error::HostError;
pub use explain::{ExplainedCall, Explanation, Suggestion, suggestions};
pub use file_change::{DiffRow, FileChange, WrittenText};
pub use hooks::HookEntry;
pub use host::Host;
pub use host_turn::{HostTurn, RanTurn};
pub use indexes::{IndexSource, add_to_index, read_index};
pub use lock_diff::{compare, difference};
pub use lock_file::LockFile;
pub use mcp_entry::{ReadServers, read_servers, with_servers};
pub use models::model;
pub use models_list::{ListedModel, ListedProvider, list_models};
pub use own_tools::OWN_TOOLS;
pub use placement::HostPlacement;
pub use reach::{ToolReach, grant_lines, host_path, reach, tool_reach};
pub use receipts::{
    FaultKind, ReceiptError, ReceiptFault, VerifiedReceipts, export_receipts, verify_receipts,
};
pub use registry::Registry;
pub use replay::read_recording;
pub use rules::{CommandRules, check_rules};
pub use run_states::{key_variable, run_states};
pub use servers::ServerEntry;
pub use sessions::Sessions;
pub use signed_file::{AuthorityEntry, Entries, SignedEntry, SignedFile, SignedFileError};
pub use skill::{READ_SKILL, SKILL_FILE, Skill, SkillError};
pub use stats::{Since, Stats, StatsRow};
#[cfg(feature = "postgres")]
pub use store::{Database, parse_key};
pub use store::{open_maintenance, open_store, project, session_project};
pub use text_search::{
    ExtractPart, MAX_SEARCH_CHARS, SearchPosition, TextMatch, TextMatches, search_texts,
};
pub use timetable::Timetable;
pub use tool_entry::{NewTool, with_component, with_tool, without_tool};
pub use trust::{TrustFile, Trusted};
pub use trusted_file::read_secret;
pub use undo::{Done, LeftPath, OutsideCall, RestoredPath, UndoRequest, UndoneAnswer, undo_answer};
pub use updates::{RegistryStatus, Version, outdated, registry_components, version_of};
pub use waiting::{WaitingRequest, WaitingSession, open_request, waiting_sessions};
pub use workflows::{CheckedWorkflow, WorkflowDrawing, workflow_drawings};

/// The target of the spans that tell of a message of the log which session and which call it
/// belongs to. They are below the level of every filter by default, and a log for programs wants
/// them.
pub const LOG_CONTEXT: &str = "agent_host::context";
