//! The form of `agent.toml`, and nothing more: what is absent stays absent here, and no value is judged.

use super::approval::RawApproval;
use agent_host_engine::policy::{DirMode, DirQuota};
use agent_host_models::Provider;
use agent_host_types::{limits::Limits, tool::Effect};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
};
use toml::Spanned;

/// `agent.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawConfig {
    /// `PROVIDER:NAME`.
    pub model: Option<String>,
    /// The models that are asked where that one does not answer, in order.
    pub fallback: Vec<String>,
    /// The standing instructions for the model.
    pub system: Option<String>,
    /// Files with more of them.
    pub instructions: Vec<Spanned<String>>,
    /// Where sessions are kept.
    pub state_dir: Option<String>,
    /// Where compiled components are kept.
    pub cache_dir: Option<String>,
    /// The most model calls that one message may lead to.
    pub max_turns: Option<u64>,
    /// What happens to calls that a person should confirm.
    pub permission_prompts: Option<RawPrompts>,
    /// When they are asked.
    pub approval_timing: Option<RawTiming>,
    /// How long they may take to decide.
    pub approval_expires_seconds: Option<u64>,
    /// What one message may cost, besides `max-turns`.
    pub budgets: Option<Spanned<RawBudgets>>,
    /// What models cost, by `PROVIDER:NAME`, or by the beginning of that and a `*`.
    pub prices: BTreeMap<String, Spanned<RawPrice>>,
    /// How the conversation is kept within the model's window.
    pub context: Option<Spanned<RawContext>>,
    /// How sessions are stored.
    pub session: Option<Spanned<RawSession>>,
    /// The server behind `anthropic:NAME`.
    pub anthropic: Option<RawProvider>,
    /// The server behind `openai:NAME`.
    pub openai: Option<RawProvider>,
    /// The server behind `openai-compat:NAME`.
    pub openai_compat: Option<RawProvider>,
    /// The server behind `gemini:NAME`.
    pub gemini: Option<RawProvider>,
    /// The server behind `ollama:NAME`.
    pub ollama: Option<RawProvider>,
    /// The components; absent for the built-in ones.
    pub tool: Option<Vec<RawTool>>,
    /// The tools that run outside, besides the components.
    pub external_tool: Vec<Spanned<RawExternalTool>>,
    /// The MCP servers whose tools are used.
    pub mcp: Vec<Spanned<RawMcp>>,
    /// What every component may reach, unless it has a list of its own; absent for the current folder, read-only.
    pub grants: Option<RawGrants>,
    /// The secrets that tools may be granted.
    pub secret: Vec<RawSecret>,
    /// The limits of a call.
    pub limits: Option<RawLimits>,
    /// The sandbox as a whole.
    pub sandbox: Option<RawSandbox>,
}

/// `permission-prompts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawPrompts {
    /// A person is asked where there is one.
    Ask,
    /// What would be asked is denied.
    None,
}

/// `approval-timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawTiming {
    /// About all calls of a reply, before any of them runs.
    Batch,
    /// About each call when those before it have run.
    InOrder,
}

/// `[budgets]`. All of them count from a message of the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawBudgets {
    /// The tokens that the model reads and writes.
    pub tokens: Option<u64>,
    /// What the model costs, in US dollars.
    pub usd: Option<f64>,
    /// The time of all turns; waiting for a person is none of it.
    pub wall_clock_seconds: Option<u64>,
    /// The tool calls that run.
    pub tool_calls: Option<u64>,
    /// How often one tool runs with the same arguments.
    pub identical_repeats: Option<u64>,
}

/// One of `[prices]`, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawPrice {
    /// Tokens read.
    pub input: f64,
    /// Tokens read from the provider's cache; absent for the price of `input`.
    pub cached_input: Option<f64>,
    /// Tokens written.
    pub output: f64,
}

/// `[context]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawContext {
    /// The model's window.
    pub window_tokens: Option<u64>,
    /// From which part of the window on the conversation is made shorter, in percent.
    pub compact_at: Option<u64>,
    /// Down to which part, in percent.
    pub compact_to: Option<u64>,
    /// How many of the newest messages with results are left as they are.
    pub keep_results: Option<usize>,
}

/// `[session]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawSession {
    /// Which sessions are kept; the others are removed.
    pub keep: Option<RawKeep>,
    /// How long to wait for another program that holds the database, in milliseconds.
    pub lock_timeout_ms: Option<u64>,
}

/// `keep` in `[session]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawKeep {
    /// The sessions written to within this number of days; 0 for all.
    pub days: Option<u64>,
    /// The size of the database, in bytes, beyond which the oldest are removed; 0 for no bound.
    pub bytes: Option<u64>,
}

impl RawConfig {
    /// The section of a provider.
    #[must_use]
    pub fn provider(&self, provider: Provider) -> Option<&RawProvider> {
        match provider {
            Provider::Anthropic => self.anthropic.as_ref(),
            Provider::OpenAi => self.openai.as_ref(),
            Provider::OpenAiCompat => self.openai_compat.as_ref(),
            Provider::Gemini => self.gemini.as_ref(),
            Provider::Ollama => self.ollama.as_ref(),
        }
    }
}

/// `[anthropic]`, `[openai]`, `[openai-compat]`, `[gemini]` and `[ollama]`. What is absent is as the provider has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawProvider {
    /// The address of the server, as the provider's own SDK takes it.
    pub base_url: Option<String>,
    /// Where the key is: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub api_key: Option<String>,
    /// Whether the model is shown images.
    pub vision: Option<bool>,
    /// Whether the model is shown PDF documents.
    pub documents: Option<bool>,
    /// Whether files may stand in the results of tools.
    pub files_in_results: Option<bool>,
    /// Whether the model may call several tools in one reply.
    pub parallel_calls: Option<bool>,
    /// Whether a denied call is marked as an error, where the wire has such a mark.
    pub denied_is_error: Option<bool>,
    /// The most tokens that one reply may have.
    pub max_output_tokens: Option<NonZeroU32>,
    /// How long a connection may take.
    pub connect_timeout_seconds: Option<NonZeroU64>,
    /// How long the answer may take to begin.
    pub first_chunk_timeout_seconds: Option<NonZeroU64>,
    /// How long the answer may pause.
    pub idle_chunk_timeout_seconds: Option<NonZeroU64>,
    /// How long one reply may take in all.
    pub total_timeout_seconds: Option<NonZeroU64>,
    /// How often a request is repeated that failed for a reason that may pass.
    pub retries: Option<u32>,
}

/// `[[tool]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawTool {
    /// The name by which `agent.lock` and messages know the component.
    pub name: String,
    /// `builtin:NAME` or a file.
    pub component: String,
    /// When a person is asked before a call, or what they may decide.
    #[serde(default)]
    pub approval: RawApproval,
    /// The same for single tools of the component, by their names.
    #[serde(default)]
    pub approvals: BTreeMap<String, RawApproval>,
    /// Whether the operator believes the component where it says that a repetition is harmless.
    #[serde(default)]
    pub accept_idempotent: bool,
    /// Its calls that run at once, instead of the general number.
    pub concurrent_calls: Option<NonZeroUsize>,
    /// Limits that differ from the general ones.
    pub limits: Option<RawLimits>,
    /// Folders instead of the general ones.
    pub dir: Option<Vec<Spanned<RawDirGrant>>>,
    /// Hosts instead of the general ones.
    pub http: Option<Vec<Spanned<RawHttpGrant>>>,
    /// Environment variables instead of the general ones.
    pub env: Option<Vec<RawEnvGrant>>,
    /// Names of secrets instead of the general ones.
    pub secrets: Option<Vec<String>>,
}

/// `[[external-tool]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawExternalTool {
    /// The name that the model calls.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does; the model reads it.
    pub description: String,
    /// The JSON Schema of its arguments: a table, or the file that it is in.
    pub input_schema: serde_json::Value,
    /// What a call may change; absent for everything.
    pub effect: Option<Effect>,
    /// When a person is asked before a call is handed out, or what they may decide.
    #[serde(default)]
    pub approval: RawApproval,
}

/// `[[mcp]]`. Its tools are named as the server names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawMcp {
    /// The name by which `agent.lock` and messages know the server, and with which the names of its tools begin.
    pub name: String,
    /// The program that is started, and its arguments.
    pub command: Option<Vec<String>>,
    /// The address of a server that runs already.
    pub url: Option<String>,
    /// Where the token for that address is: `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub token: Option<String>,
    /// The only tools that are used; absent for all.
    pub tools: Option<BTreeSet<String>>,
    /// The tools that change nothing.
    #[serde(default)]
    pub read_only: BTreeSet<String>,
    /// When a person is asked before a call, or what they may decide.
    #[serde(default)]
    pub approval: RawApproval,
    /// The same for single tools.
    #[serde(default)]
    pub approvals: BTreeMap<String, RawApproval>,
    /// The calls that run at once.
    pub concurrent_calls: Option<NonZeroUsize>,
    /// How long a call may take.
    pub deadline_ms: Option<NonZeroU64>,
    /// How long the server may take until its tools are known.
    pub connect_timeout_seconds: Option<NonZeroU64>,
    /// Whether nothing runs without it; absent for yes.
    pub required: Option<bool>,
    /// All environment variables of the program besides `PATH`.
    #[serde(default)]
    pub env: Vec<RawEnvGrant>,
}

/// `[grants]`. Each grant knows its place in the text, so that a value that cannot be used is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawGrants {
    /// Folders.
    pub dir: Vec<Spanned<RawDirGrant>>,
    /// Hosts.
    pub http: Vec<Spanned<RawHttpGrant>>,
    /// Environment variables.
    pub env: Vec<RawEnvGrant>,
    /// Names of secrets.
    pub secrets: Vec<String>,
}

/// `[[grants.dir]]` and `[[tool.dir]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawDirGrant {
    /// The folder on the host.
    pub host: String,
    /// Where guests find it; absent for `/workspace`.
    pub guest: Option<String>,
    /// What may be done in it; absent for read-only.
    pub mode: Option<DirMode>,
    /// Globs of what may be opened; none for everything.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Globs of what is refused.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Globs of what guests do not see; absent for [`super::DEFAULT_MASK`].
    pub mask: Option<Vec<String>>,
    /// Globs of what may be written although the user's programs run it later, such as `.github/workflows`.
    #[serde(default)]
    pub allow_run_later: Vec<String>,
    /// How much one call may put into it; absent for no more than the call's limits.
    #[serde(default)]
    pub quota: DirQuota,
}

/// `[[grants.http]]` and `[[tool.http]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawHttpGrant {
    /// A name, `*.` and a name, `*`, or an address.
    pub host: String,
    /// `http` or `https`; absent for both.
    pub scheme: Option<String>,
    /// The port; absent for the scheme's own.
    pub port: Option<u16>,
    /// The methods; absent for every method.
    pub methods: Option<Vec<String>>,
    /// The path, with everything below it; absent for every path.
    pub path: Option<String>,
}

/// `[[grants.env]]` and `[[tool.env]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawEnvGrant {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<String>,
    /// Whether the value is that of the host's variable of this name.
    #[serde(default)]
    pub from_host: bool,
}

/// `[[secret]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawSecret {
    /// The name in `secret://NAME`.
    pub name: String,
    /// `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub from: String,
    /// `SCHEME://HOST[:PORT]`, the only server that it is sent to.
    pub audience: String,
    /// Whether it may stand in a query, too.
    #[serde(default)]
    pub in_query: bool,
}

/// `[sandbox]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawSandbox {
    /// The calls that run at once.
    pub concurrent_calls: Option<usize>,
    /// The calls that may wait.
    pub queued_calls: Option<usize>,
    /// Those of one tool that run at once.
    pub concurrent_calls_per_tool: Option<usize>,
    /// Those of one tool that may wait.
    pub queued_calls_per_tool: Option<usize>,
    /// The threads on which guests run.
    pub guest_threads: Option<usize>,
    /// Whether instances come from a pool.
    pub pooling: Option<RawPooling>,
    /// The address space of the process that compiles a component.
    pub compile_memory_bytes: Option<usize>,
    /// Its processor time.
    pub compile_cpu_seconds: Option<usize>,
    /// Its time on the clock.
    pub compile_deadline_ms: Option<usize>,
}

/// `pooling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawPooling {
    /// Where the machine has the address space for it.
    Probe,
    /// Never.
    Off,
}

/// Makes [`RawLimits`] from the names of core's [`Limits`]; a name that is missing here or there does not compile.
macro_rules! raw_limits {
    ($($name:ident)*) => {
        /// `[limits]` and `[tool.limits]`: each field is the one of [`Limits`] with that name, or absent.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct RawLimits {
            $(
                #[doc = concat!("[`Limits::", stringify!($name), "`].")]
                pub $name: Option<u64>,
            )*
        }

        impl RawLimits {
            /// These limits, and where they say nothing, those of `base`.
            pub(super) fn over(self, base: &Limits) -> Limits {
                Limits { $($name: self.$name.unwrap_or(base.$name),)* }
            }

            /// Each limit that it sets or not, by its name, with its default.
            pub(super) fn beside_defaults(
                self,
            ) -> impl Iterator<Item = (&'static str, Option<u64>, u64)> {
                let default = Limits::default();
                [$((stringify!($name), self.$name, default.$name),)*].into_iter()
            }
        }
    };
}

raw_limits! {
    deadline_ms memory_bytes table_elements instances memories tables max_transfer_bytes open_resources output_bytes
    stdio_bytes random_bytes http_header_bytes http_request_bytes http_response_bytes http_requests
    http_connections http_timeout_ms file_write_bytes file_creates
}
