//! The resolved configuration.

use super::{
    AgentConfig, ConfigError, ExternalTool, HookConfig, HostsConfig, LeftOut, McpConfig,
    MemoryConfig, ModelConfig, ModelsConfig, ProviderConfig, RegistriesConfig, RuleFlag,
    ScheduleConfig, SessionConfig, StoreConfig, TelemetryConfig, ToolConfig, WebhookConfig,
    dir_grants::WORKSPACE,
    environment::USER_FILE,
    paths::canonical,
    prices::Prices,
    secrets::{self, SecretConfig},
    tools,
};
use crate::skill::Skill;
use agent_host_engine::{
    flow::FlowPolicy,
    policy::{CallRule, Grants},
    turn::{Prompts, Timing},
};
use agent_host_mcp_client::{Elicitor, Supervisor};
use agent_host_sandbox::{SandboxConfig, Secrets};
use agent_host_types::{
    budget::{Budgets, Price},
    context::ContextLimits,
    limits::Limits,
};
use agent_host_workflow::definition::WorkflowDefinition;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The file with instructions that several programs read (<https://agents.md>).
const AGENTS_FILE: &str = "AGENTS.md";

/// A checked configuration. Paths are absolute.
///
/// ```
/// use agent_host_app::{Config, Environment, Overrides};
///
/// # fn main() -> Result<(), agent_host_app::ConfigError> {
/// let environment = Environment {
///     cwd: std::env::temp_dir(),
///     variables: [("HOME".to_owned(), "/home/ann".to_owned())].into(),
/// };
/// let overrides = Overrides {
///     max_turns: Some(3),
///     grants: vec!["http:GET=https://api.example.com/v1/".to_owned()],
///     ..Overrides::default()
/// };
/// let config = Config::load(None, &overrides, &environment)?;
/// assert_eq!(config.budgets.turns, 3);
/// assert_eq!(config.grants.http[0].host, "api.example.com");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// The file; absent where the defaults hold.
    pub file: Option<PathBuf>,
    /// The `agent.toml` of the working directory that is not trusted and was left out; absent where
    /// there is none.
    pub left_out: Option<LeftOut>,
    /// The directory of the project: that of the file, or the working directory without one. It has
    /// no links, and the name of the file may be one.
    pub project_dir: PathBuf,
    /// The working directory, without links.
    pub working_dir: PathBuf,
    /// Whether only what `agent.lock` has may run, and the file stays as it is.
    pub locked: bool,
    /// The directory where sessions are stored. It may not exist yet.
    pub state_dir: PathBuf,
    /// How sessions are stored, and which of them are kept.
    pub session: SessionConfig,
    /// Where sessions are kept.
    pub store: StoreConfig,
    /// The place of this host among several that share the store.
    pub hosts: HostsConfig,
    /// The directory of compiled components. It may not exist yet.
    pub cache_dir: PathBuf,
    /// Where traces of sessions go; absent where they go nowhere.
    pub telemetry: Option<TelemetryConfig>,
    /// The models.
    pub models: ModelsConfig,
    /// The configured system prompt, instruction files included.
    pub system: Option<String>,
    /// True if no `system` is configured, so that the default prompt goes before that text.
    pub default_system: bool,
    /// The instruction files, without links.
    pub(super) instruction_files: Vec<PathBuf>,
    /// The skills. Their names differ, also from those of components and servers.
    pub skills: Vec<Arc<Skill>>,
    /// The limits of a conversation; absent for a model without a window.
    pub context: Option<ContextLimits>,
    /// The budgets of one user message.
    pub budgets: Budgets,
    /// Whether to ask about calls that need approval, or deny them.
    pub prompts: Prompts,
    /// When to ask for approvals.
    pub timing: Timing,
    /// The time after which an approval expires, in milliseconds; absent for never, and for
    /// [`UNATTENDED_EXPIRY_MS`](crate::runs::UNATTENDED_EXPIRY_MS) in a run that a schedule or a
    /// webhook started.
    pub approval_expiry_ms: Option<u64>,
    /// The number of tools from which on the model is offered a search instead; 0 for never.
    pub search_tools_from: usize,
    /// Whether users of `serve` may make read-only links to their sessions.
    pub session_links: bool,
    /// Whether the model keeps a list of tasks.
    pub todo_list: bool,
    /// Whether the model of the file's top level writes programs that call the tools.
    pub code: bool,
    /// The maximum number of calls of one program.
    pub code_calls: usize,
    /// The components. Their names differ.
    pub tools: Vec<ToolConfig>,
    /// The tools that run outside of the host. Their names differ.
    pub external_tools: Vec<ExternalTool>,
    /// The MCP servers. Their names differ, also from those of the components.
    pub servers: Vec<McpConfig>,
    /// The agents. Their names differ.
    pub agent_definitions: Vec<Arc<AgentConfig>>,
    /// The agents that the agent of the file's top level can start, by their names.
    pub agents: Vec<String>,
    /// The maximum depth of agents that start agents.
    pub agent_depth: u8,
    /// The workflows. Their names differ, and
    /// [`ConfiguredAgents`](crate::ConfiguredAgents::workflow) check their nodes.
    pub workflows: Vec<Arc<WorkflowDefinition>>,
    /// The hooks, in the order in which they run. Their names differ, also from those of components
    /// and servers.
    pub hooks: Vec<HookConfig>,
    /// The schedules, for a program that serves. Their names differ.
    pub schedules: Vec<ScheduleConfig>,
    /// The webhooks, for a program that serves. Their names differ.
    pub webhooks: Vec<WebhookConfig>,
    /// The rules about calls. Their names differ.
    pub rules: Arc<[CallRule]>,
    /// The policy about text from untrusted sources.
    pub flow: Arc<FlowPolicy>,
    /// The memory of agents beyond a session; absent if they have none.
    pub memory: Option<MemoryConfig>,
    /// How components from registries are pulled, and which of them are accepted.
    pub(crate) registries: RegistriesConfig,
    /// The rules about calls of the command line.
    pub rule_flags: Vec<RuleFlag>,
    /// The program that starts MCP servers, and ends them with this process; absent to start them
    /// directly.
    pub supervisor: Option<Supervisor>,
    /// Asks the user the questions of MCP servers; without it they are refused. Set by the program.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Receives a line about work that takes long, such as compiling a large component, for the
    /// waiting user; without it the line goes to the log. Set by the program.
    pub tell: Option<fn(&str)>,
    /// Further files that no guest may reach, such as one with a token of this process.
    pub hidden_files: Vec<PathBuf>,
    /// The grants of components without lists of their own.
    pub grants: Arc<Grants>,
    /// Why the working directory is not granted by default: it is the home directory or larger.
    /// Running a tool fails with this error; listing sessions does not need to.
    pub default_dir_refusal: Option<ConfigError>,
    /// True if `agent.toml` has no grants, and the working directory is granted by default.
    pub(super) grants_default_dir: bool,
    /// The limits of calls of components without limits of their own.
    pub limits: Limits,
    /// The sandbox, without the paths of [`Self::cache_dir`] and [`Self::protected_paths`].
    pub sandbox: SandboxConfig,
    /// The secrets that tools may be granted. Their names differ.
    pub(super) secrets: Vec<SecretConfig>,
    /// The prices and windows of models.
    pub(super) prices: Prices,
    /// The paths of the configuration of the machine and the user. Not all of them exist.
    pub(super) layer_paths: Vec<PathBuf>,
}

impl Config {
    /// Returns the files that it was read from, the highest layer first; empty if the defaults
    /// hold.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let below = self.layer_paths.iter().map(|path| match path.is_dir() {
            true => path.join(USER_FILE),
            false => path.clone(),
        });
        let below = below.filter(|path| path.is_file());
        self.file.clone().into_iter().chain(below).collect()
    }

    /// Returns the window in tokens and the price of a model of a provider, if they are known.
    #[must_use]
    pub fn known_model(
        &self,
        provider: &ProviderConfig,
        name: &str,
    ) -> (Option<u64>, Option<Price>) {
        let model = ModelConfig::Served {
            name: name.to_owned(),
            provider: Box::new(provider.clone()),
            settings: Box::default(),
            price: None,
        };
        let chosen = model.to_string();
        let price = self.prices.of(&chosen, Some(&model));
        (self.prices.window(&model), price)
    }

    /// Returns the size after which the session of an external client is followed by the next one,
    /// in bytes of events.
    #[must_use]
    pub fn client_session_bytes(&self) -> u64 {
        self.session.client_session_bytes()
    }

    /// Returns the paths that no guest may reach, whatever is granted: state, compiled components,
    /// and the files that decide what is granted and run. Links are resolved; not all paths exist.
    #[must_use]
    pub fn protected_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.state_dir.clone(), self.cache_dir.clone()];
        // Those of the working directory, too: a guest could create them there for the next start.
        let file_dir = self.file.as_deref().and_then(Path::parent);
        for directory in file_dir.into_iter().chain([self.working_dir.as_path()]) {
            paths.extend([directory.join("agent.toml"), directory.join("agent.lock")]);
        }
        paths.extend(self.file.clone());
        paths.extend(self.layer_paths.iter().cloned());
        paths.extend(self.hidden_files.iter().cloned());
        paths.extend(self.models.files().map(Path::to_owned));
        let files = self.secrets.iter().filter_map(SecretConfig::file);
        paths.extend(files.map(Path::to_owned));
        paths.extend(self.servers.iter().flat_map(McpConfig::files));
        let schemas = self.external_tools.iter();
        paths.extend(schemas.filter_map(|tool| tool.schema_file.clone()));
        paths.extend(self.instruction_files.iter().cloned());
        for agent in &self.agent_definitions {
            paths.extend(agent.instruction_files.iter().cloned());
            let models = agent.models.iter().flat_map(ModelsConfig::files);
            paths.extend(models.map(Path::to_owned));
        }
        paths.extend(
            self.skills
                .iter()
                .filter_map(|skill| skill.directory.clone()),
        );
        paths.extend(self.store.files().map(Path::to_owned));
        paths.extend(self.trigger_files().map(Path::to_owned));
        paths.extend(self.registries.files());
        let components = self.tools.iter().filter_map(|tool| tool.source.file());
        let hooks = self.hooks.iter().filter_map(|hook| hook.source.file());
        paths.extend(components.chain(hooks).map(Path::to_owned));
        let mut paths: Vec<PathBuf> = paths.iter().map(|path| canonical(path)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Reads the secrets of these names, each from its source, which may open files and run
    /// commands. Dropping the future ends a command.
    ///
    /// # Errors
    /// One of them is not where it should be, or cannot be sent or redacted.
    pub async fn read_secrets(&self, names: &BTreeSet<&str>) -> Result<Secrets, ConfigError> {
        secrets::read(&self.secrets, names).await
    }

    /// Resolves a component of the command line, with the general grants and limits:
    /// `builtin:NAME`, a file, or a remote one by its digest.
    ///
    /// # Errors
    /// There is no such file, and it is not the name of a built-in component; or a reference has no
    /// digest.
    pub fn tool_from_argument(&self, argument: &str) -> Result<ToolConfig, ConfigError> {
        let general = tools::General {
            grants: &self.grants,
            limits: &self.limits,
            secrets: &self.secrets,
            servers: &self.servers,
        };
        tools::from_argument(argument, &self.working_dir, &self.tools, &general)
    }

    /// Returns the files with keys of schedules and webhooks.
    fn trigger_files(&self) -> impl Iterator<Item = &Path> {
        let runs = self.schedules.iter().map(|schedule| &schedule.run);
        let runs = runs.chain(self.webhooks.iter().map(|webhook| &webhook.run));
        let receivers = runs.filter_map(|run| run.notify.as_ref()?.file());
        receivers.chain(self.webhooks.iter().filter_map(WebhookConfig::file))
    }

    /// Returns the `AGENTS.md` beside the configuration or in the working directory that the model
    /// is not told, because `instructions` does not name it.
    #[must_use]
    pub fn untold_agents_file(&self) -> Option<PathBuf> {
        let file_dir = self.file.as_deref().and_then(Path::parent);
        let directory = file_dir.unwrap_or(self.working_dir.as_path());
        let file = canonical(&directory.join(AGENTS_FILE));
        let is_told = self.instruction_files.contains(&file);
        (!is_told && file.is_file()).then_some(file)
    }

    /// Returns the lines of `agent.toml` that write the default grant down; absent where there is
    /// none.
    #[must_use]
    pub fn implied_grant(&self) -> Option<String> {
        if !self.grants_default_dir {
            return None;
        }
        let here = self.working_dir.as_path();
        let base = self.file.as_deref().map_or(Some(here), Path::parent);
        let host = match base == Some(here) {
            true => ".".into(),
            false => here.to_string_lossy(),
        };
        Some(format!(
            "# Granted by default, but only while there are no grants here.\n[[grants.dir]]\nhost = {}\nguest = \"{WORKSPACE}\"",
            toml::Value::from(host.into_owned())
        ))
    }
}
