//! The form of `agent.toml`: absent keys stay absent, and values are not checked.
//! `CONFIGURATION.md` describes every key.
//!
//! The serialized form is what trust in an untrusted file is bound to: a field is in it unless it
//! is marked as harmless by `skip_serializing`.

mod grants;
mod limits;

pub use grants::{GrantsSection, SecretSection};
pub(super) use grants::{RawArtifacts, RawDirGrant, RawEnvGrant, RawHttpGrant};
pub use limits::LimitsSection;

use super::{
    agents::RawAgent, approval::RawApproval, hooks::RawHook, hosts::RawHosts, mcp::RawCommand,
    model::is_file, network::RawNetwork, publishers::RawPublisher, rules::RawRule,
    schedules::RawSchedule, settings::RawSettings, store::RawStore, telemetry::RawTelemetry, units,
    webhooks::RawWebhook,
};
use agent_host_models::{Provider, SendSettings};
use agent_host_types::{tool::Effect, turn::Durability};
use agent_host_workflow::definition::WorkflowDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU16, NonZeroU32, NonZeroU64, NonZeroUsize},
};

/// `agent.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawConfig {
    /// `PROVIDER:NAME`.
    #[serde(serialize_with = "files_only::<Option<_>, _>")]
    pub(super) model: Option<String>,
    /// The models that are asked in this order where the one before fails.
    #[serde(serialize_with = "files_only::<Vec<_>, _>")]
    pub(super) fallback: Vec<String>,
    /// The system prompt.
    #[serde(skip_serializing)]
    pub(super) system: Option<String>,
    /// Files with more of the system prompt.
    #[serde(skip_serializing)]
    pub(super) instructions: Vec<String>,
    /// Directories with skills.
    #[serde(skip_serializing)]
    pub(super) skills: Vec<String>,
    /// The directory of sessions.
    pub(super) state_dir: Option<String>,
    /// The directory of compiled components.
    pub(super) cache_dir: Option<String>,
    /// The bound on the directory of compiled components.
    #[serde(deserialize_with = "units::bytes")]
    pub(super) cache_bytes: Option<u64>,
    /// The maximum of model calls of one user message.
    pub(super) max_turns: Option<u64>,
    /// Whether calls that need approval are asked about or denied.
    #[serde(skip_serializing)]
    pub(super) permission_prompts: RawPrompts,
    /// The keys that edit a message of a conversation.
    #[serde(skip_serializing)]
    pub(super) keys: EditingKeys,
    /// When approvals are asked for.
    pub(super) approval_timing: RawTiming,
    /// The time after which an approval expires; absent for never, and for 3 days in a run that a
    /// schedule or a webhook started.
    #[serde(skip_serializing)]
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) approval_expires_seconds: Option<u64>,
    /// The number of tools from which on the model searches them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) search_tools_from: Option<usize>,
    /// Whether the model keeps a list of tasks.
    #[serde(skip_serializing)]
    pub(super) todo_list: bool,
    /// Whether the model writes programs that call the tools.
    #[serde(skip_serializing)]
    pub(super) code: bool,
    /// The most calls of one program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code_calls: Option<usize>,
    /// The budgets of one user message, besides `max-turns`.
    #[serde(skip_serializing)]
    pub(super) budgets: RawBudgets,
    /// The prices of models, by `PROVIDER:NAME`, or by the beginning of that and a `*`.
    pub(super) prices: BTreeMap<String, RawPrice>,
    /// The settings of models' replies.
    pub(super) settings: RawSettings,
    /// The proxy of requests to models and MCP servers.
    pub(super) network: RawNetwork,
    /// Where sessions are kept.
    pub(super) store: RawStore,
    /// The place of this host among several that share a store.
    pub(super) hosts: RawHosts,
    /// Where traces of sessions go.
    pub(super) telemetry: RawTelemetry,
    /// The limits of a conversation.
    pub(super) context: Option<RawContext>,
    /// The storage of sessions.
    pub(super) session: RawSession,
    /// The server behind `anthropic:NAME`.
    pub(super) anthropic: Option<RawProvider>,
    /// The server behind `openai:NAME`.
    pub(super) openai: Option<RawProvider>,
    /// The server behind `openai-compat:NAME`.
    pub(super) openai_compat: Option<RawProvider>,
    /// The server behind `gemini:NAME`.
    pub(super) gemini: Option<RawProvider>,
    /// The server behind `ollama:NAME`.
    pub(super) ollama: Option<RawProvider>,
    /// Further servers, each behind `NAME:MODEL`.
    pub(super) provider: Vec<RawProvider>,
    /// The components; absent for the built-in ones.
    pub(super) tool: Option<Vec<RawTool>>,
    /// The external tools.
    pub(super) external_tool: Vec<RawExternalTool>,
    /// The MCP servers.
    pub(super) mcp: Vec<RawMcp>,
    /// The agents that the agent of the file's top level can start.
    pub(super) agents: Vec<String>,
    /// The maximum depth of agents that start agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_depth: Option<u8>,
    /// The agents.
    pub(super) agent: Vec<RawAgent>,
    /// The workflows.
    pub(super) workflow: Vec<WorkflowDefinition>,
    /// The hooks.
    pub(super) hook: Vec<RawHook>,
    /// The rules about calls.
    pub(super) rule: Vec<RawRule>,
    /// The runs that start at times.
    pub(super) schedule: Vec<RawSchedule>,
    /// The runs that start with requests of other programs.
    pub(super) webhook: Vec<RawWebhook>,
    /// The publishers of components in registries.
    pub(super) publisher: Vec<RawPublisher>,
    /// The grants of components without lists of their own; absent for the working directory,
    /// read-only.
    pub(super) grants: Option<GrantsSection>,
    /// The secrets that tools may be granted.
    pub(super) secret: Vec<SecretSection>,
    /// The limits of a call.
    pub(super) limits: LimitsSection,
    /// The sandbox as a whole.
    pub(super) sandbox: RawSandbox,
}

/// `permission-prompts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPrompts {
    /// The user is asked, if there is one.
    #[default]
    Ask,
    /// They are denied.
    None,
}

/// `keys`: those that edit a message of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditingKeys {
    /// The keys of Emacs, as in bash.
    #[default]
    Emacs,
    /// The keys of vi.
    Vi,
}

/// `approval-timing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawTiming {
    /// For all calls of a reply, before any of them runs.
    #[default]
    Batch,
    /// For each call after those before it ran.
    InOrder,
}

/// `[budgets]`, each of one user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawBudgets {
    /// Tokens that the model reads and writes.
    pub(super) tokens: Option<u64>,
    /// US dollars.
    pub(super) usd: Option<f64>,
    /// The time of all turns, without the wait for approvals.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) wall_clock_seconds: Option<u64>,
    /// Tool calls that run.
    pub(super) tool_calls: Option<u64>,
    /// Calls of one tool with the same arguments.
    pub(super) identical_repeats: Option<u64>,
}

/// One of `[prices]`, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawPrice {
    /// Tokens read.
    pub(super) input: f64,
    /// Tokens read from the provider's cache; absent for the price of `input`.
    pub(super) cached_input: Option<f64>,
    /// Tokens written to the provider's cache; absent for 1.25 times the price of `input`.
    pub(super) cache_write: Option<f64>,
    /// Tokens written.
    pub(super) output: f64,
    /// The price of long requests.
    pub(super) long_context: Option<RawLongContext>,
}

/// `long-context` of one of `[prices]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawLongContext {
    /// The number of read tokens above which these prices hold.
    pub(super) above_tokens: u64,
    /// As of [`RawPrice`].
    pub(super) input: f64,
    /// As of [`RawPrice`].
    pub(super) cached_input: Option<f64>,
    /// As of [`RawPrice`].
    pub(super) cache_write: Option<f64>,
    /// As of [`RawPrice`].
    pub(super) output: f64,
}

impl RawLongContext {
    /// Returns these prices as those of all requests.
    pub(super) fn tokens(self) -> RawPrice {
        RawPrice {
            input: self.input,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            output: self.output,
            long_context: None,
        }
    }
}

/// `[context]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawContext {
    /// The model's window.
    pub(super) window_tokens: Option<u64>,
    /// The part of the window from which the conversation is compacted, in percent.
    pub(super) compact_at: Option<u64>,
    /// The part of the window after compaction, in percent.
    pub(super) compact_to: Option<u64>,
    /// The number of newest messages with results that are kept.
    pub(super) keep_results: Option<usize>,
}

/// `[session]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawSession {
    /// The sessions that are kept; the others are removed.
    pub(super) keep: Option<RawKeep>,
    /// The maximum wait for another process that holds the database, in milliseconds.
    #[serde(default, deserialize_with = "units::milliseconds")]
    pub(super) lock_timeout_ms: Option<u64>,
    /// The bytes of artifacts that the calls of one session may store.
    #[serde(default, deserialize_with = "units::bytes")]
    pub(super) artifact_bytes: Option<u64>,
    /// The bytes of changed files that one session keeps for `undo`; 0 to keep none.
    #[serde(default, deserialize_with = "units::bytes")]
    pub(super) undo_bytes: Option<u64>,
    /// How much of a turn a crash can lose.
    #[serde(skip_serializing)]
    pub(super) durability: Durability,
}

/// `keep` in `[session]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawKeep {
    /// The maximum age of the last write, in days; 0 for no bound.
    #[serde(deserialize_with = "units::days")]
    pub(super) days: Option<u64>,
    /// The maximum size of the database, in bytes; 0 for no bound.
    #[serde(deserialize_with = "units::bytes")]
    pub(super) bytes: Option<u64>,
}

/// Serializes the models that are scripts or recordings in files. The others are harmless.
fn files_only<T, S: Serializer>(models: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    for<'m> &'m T: IntoIterator<Item = &'m String>,
{
    serializer.collect_seq(models.into_iter().filter(|model| is_file(model)))
}

impl RawConfig {
    /// Returns the section of a provider.
    pub(super) fn provider_section(&self, provider: Provider) -> Option<&RawProvider> {
        match provider {
            Provider::Anthropic => self.anthropic.as_ref(),
            Provider::OpenAi => self.openai.as_ref(),
            Provider::OpenAiCompat => self.openai_compat.as_ref(),
            Provider::Gemini => self.gemini.as_ref(),
            Provider::Ollama => self.ollama.as_ref(),
        }
    }
}

/// `[anthropic]`, `[openai]`, `[openai-compat]`, `[gemini]` and `[ollama]`, which have no `name`
/// and no `kind`, and `[[provider]]`, which has both. Absent keys have the default of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawProvider {
    /// The name before the colon of `NAME:MODEL`.
    pub(super) name: Option<String>,
    /// The service or wire format that it starts from, by the name of its preset.
    #[schemars(schema_with = "super::schema::provider_kind")]
    pub(super) kind: Option<String>,
    /// The address of the server, as the provider's own SDK takes it.
    pub(super) base_url: Option<String>,
    /// The source of the key: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub(super) api_key: Option<String>,
    /// The header with the key, instead of that of the service.
    pub(super) key_header: Option<String>,
    /// Headers of every request: text, or the source of one as in `api-key`.
    pub(super) headers: BTreeMap<String, String>,
    /// Parameters of the query of every request.
    pub(super) query: BTreeMap<String, String>,
    /// True if the model reads images.
    #[serde(skip_serializing)]
    pub(super) vision: Option<bool>,
    /// True if the model reads PDF documents.
    #[serde(skip_serializing)]
    pub(super) documents: Option<bool>,
    /// True if the model hears recordings of sound.
    #[serde(skip_serializing)]
    pub(super) audio: Option<bool>,
    /// True if results of tools may contain files.
    #[serde(skip_serializing)]
    pub(super) files_in_results: Option<bool>,
    /// True if the model may call several tools in one reply.
    #[serde(skip_serializing)]
    pub(super) parallel_calls: Option<bool>,
    /// True if a denied call is marked as an error, where the wire has such a mark.
    #[serde(skip_serializing)]
    pub(super) denied_is_error: Option<bool>,
    /// Fields and rules of requests in which servers of one wire format differ.
    #[serde(skip_serializing)]
    pub(super) send: Option<SendSettings>,
    /// The maximum of tokens of one reply.
    pub(super) max_output_tokens: Option<NonZeroU32>,
    /// The time limit of a connection.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) connect_timeout_seconds: Option<NonZeroU64>,
    /// The time limit until the answer begins.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) first_chunk_timeout_seconds: Option<NonZeroU64>,
    /// The time limit of a pause in the answer.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) idle_chunk_timeout_seconds: Option<NonZeroU64>,
    /// The time limit of one reply.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) total_timeout_seconds: Option<NonZeroU64>,
    /// The maximum of retries after a transient failure.
    pub(super) retries: Option<u32>,
}

/// `[[tool]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawTool {
    /// The name of the component in `agent.lock` and in messages.
    pub(super) name: String,
    /// `builtin:NAME`, `oci://HOST/NAME:TAG` or a file.
    pub(super) component: String,
    /// When a call needs approval, or which decisions are offered.
    #[serde(default)]
    pub(super) approval: RawApproval,
    /// Approvals of single tools of the component, by their names.
    #[serde(default)]
    pub(super) approvals: BTreeMap<String, RawApproval>,
    /// True if the operator accepts the component's word that a repetition is harmless.
    #[serde(default)]
    pub(super) accept_idempotent: bool,
    /// The tools of the component to offer, by their names; absent for all. Those of a plain
    /// component are its exported functions, as `inspect` lists them. The exact name of a function
    /// that was left out because toolchains export it for themselves brings it back.
    pub(super) exports: Option<Vec<String>>,
    /// The maximum of concurrent calls, instead of the general one.
    pub(super) concurrent_calls: Option<NonZeroUsize>,
    /// Limits instead of the general ones.
    #[serde(default)]
    pub(super) limits: LimitsSection,
    /// Directories instead of the general ones.
    pub(super) dir: Option<Vec<RawDirGrant>>,
    /// Hosts instead of the general ones.
    pub(super) http: Option<Vec<RawHttpGrant>>,
    /// Environment variables instead of the general ones.
    pub(super) env: Option<Vec<RawEnvGrant>>,
    /// Names of secrets instead of the general ones.
    pub(super) secrets: Option<Vec<String>>,
    /// The access to artifacts instead of the general one.
    pub(super) artifacts: Option<RawArtifacts>,
}

/// `[[external-tool]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawExternalTool {
    /// The name that the model calls.
    pub(super) name: String,
    /// The name for the user.
    pub(super) title: Option<String>,
    /// The description for the model.
    pub(super) description: String,
    /// The JSON Schema of its arguments: a table, or the path of a file.
    pub(super) input_schema: serde_json::Value,
    /// The effect of a call; absent for `effectful`.
    pub(super) effect: Option<Effect>,
    /// When a call needs approval, or which decisions are offered.
    #[serde(default)]
    pub(super) approval: RawApproval,
}

/// `[[mcp]]`. Keys name tools as the server does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawMcp {
    /// The name of the server in `agent.lock` and in messages, and the prefix of its tools.
    pub(super) name: String,
    /// The program to start, or a list of it and its arguments.
    pub(super) command: Option<RawCommand>,
    /// Further arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// The directory that it runs in; absent for that of the file.
    pub(super) dir: Option<String>,
    /// The address of a running server.
    pub(super) url: Option<String>,
    /// The source of the token for that address: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub(super) token: Option<String>,
    /// More headers of requests to that address: a value, or its source as of the token.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// How to log in there, where no token is configured.
    #[serde(default)]
    pub(super) oauth: RawOAuth,
    /// The directories that the server is told to work in.
    #[serde(default)]
    pub(super) roots: Vec<String>,
    /// The allowed tools; absent for all.
    pub(super) tools: Option<BTreeSet<String>>,
    /// The tools that are read-only.
    #[serde(default)]
    pub(super) read_only: BTreeSet<String>,
    /// When a call needs approval, or which decisions are offered.
    #[serde(default)]
    pub(super) approval: RawApproval,
    /// Approvals of single tools.
    #[serde(default)]
    pub(super) approvals: BTreeMap<String, RawApproval>,
    /// The maximum of concurrent calls.
    pub(super) concurrent_calls: Option<NonZeroUsize>,
    /// The time limit of a call.
    #[serde(default, deserialize_with = "units::milliseconds")]
    pub(super) deadline_ms: Option<NonZeroU64>,
    /// The time limit until the tools of the server are known.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) connect_timeout_seconds: Option<NonZeroU64>,
    /// True if nothing runs without it; absent for true.
    pub(super) required: Option<bool>,
    /// The environment of the program besides `PATH`, and `HOME`, which is a directory of its own by
    /// default.
    #[serde(default)]
    pub(super) env: Vec<RawEnvGrant>,
}

/// `[mcp.oauth]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawOAuth {
    /// The id of a registered client.
    pub(super) client_id: Option<String>,
    /// The source of its secret: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub(super) client_secret: Option<String>,
    /// The address of a client ID metadata document.
    pub(super) client_metadata_url: Option<String>,
    /// The scopes to ask for; absent for those that the server names.
    pub(super) scopes: Vec<String>,
    /// The port of the redirection; absent for any that is free.
    pub(super) redirect_port: Option<NonZeroU16>,
    /// Whether to log in where the authorization server names no PKCE method.
    pub(super) assume_pkce: bool,
}

/// `[sandbox]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawSandbox {
    /// The maximum of concurrent calls.
    pub(super) concurrent_calls: Option<usize>,
    /// The maximum of waiting calls.
    pub(super) queued_calls: Option<usize>,
    /// The maximum of concurrent calls of one tool.
    pub(super) concurrent_calls_per_tool: Option<usize>,
    /// The maximum of waiting calls of one tool.
    pub(super) queued_calls_per_tool: Option<usize>,
    /// The memory of all results that are being converted at once, in bytes.
    #[serde(default, deserialize_with = "units::bytes")]
    pub(super) result_memory_bytes: Option<usize>,
    /// The number of guest threads.
    pub(super) guest_threads: Option<usize>,
    /// The use of the pooling allocator.
    pub(super) pooling: RawPooling,
    /// The address space of the compiling process, in bytes.
    #[serde(default, deserialize_with = "units::bytes")]
    pub(super) compile_memory_bytes: Option<usize>,
    /// Its processor time.
    #[serde(default, deserialize_with = "units::seconds")]
    pub(super) compile_cpu_seconds: Option<usize>,
    /// Its wall-clock time.
    #[serde(default, deserialize_with = "units::milliseconds")]
    pub(super) compile_deadline_ms: Option<usize>,
}

/// `pooling`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPooling {
    /// If the machine has the address space for it.
    #[default]
    Probe,
    /// Never.
    Off,
}
