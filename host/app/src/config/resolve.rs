//! Resolves the layers of a configuration (file, environment, command line) to a [`Config`].

use super::{
    AgentConfig, Config, ConfigError, Environment, GrantsSection, LimitsSection, ModelConfig,
    ModelsConfig, OnUntrusted, RegistriesConfig, SecretSection, TelemetryConfig, agents, budgets,
    context, counts, external, grants, hooks, hosts, instructions,
    layers::{Layers, Merged},
    mcp, network,
    parse::ConfigFile,
    paths::{Scope, canonical},
    prices,
    problem::{Problems, config_error, resolve_steps},
    publishers,
    raw::{RawConfig, RawPrompts, RawTiming},
    rule_flags, rules, sandbox, schedules, secrets, session, settings, skills, store, telemetry,
    tools, untrusted, webhooks, workflows,
};
use agent_host_engine::turn::{Prompts, Timing};
use agent_host_models::Effort;
use agent_host_registry::CredentialSource;
use agent_host_types::limits::Limits;
use secrecy::SecretString;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

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
    /// The state directory, instead of the configured one.
    pub state_dir: Option<PathBuf>,
    /// The system prompt, instead of the configured one; an empty one for none.
    pub system: Option<String>,
    /// The treatment of an `agent.toml` of the working directory that is not trusted.
    pub on_untrusted: OnUntrusted,
}

impl Config {
    /// Loads the configuration of the machine and the user, with the named file above it, or
    /// `agent.toml` in the working directory if there is one, and variables above that. A file that
    /// was found and not named may say less unless it is trusted: see
    /// [`Untrusted`](super::Untrusted) and [`Overrides::on_untrusted`].
    ///
    /// # Errors
    /// The file cannot be read, or asks for more than an untrusted file gets and is refused
    /// then; or every problem of the configuration that does not follow from another one.
    pub fn load(
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        Self::load_merged(file, overrides, environment).map(|(config, _)| config)
    }

    /// Loads a configuration, and returns its merged layers, too.
    pub(super) fn load_merged(
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let below = Layers::below_project(environment)?;
        if file.is_none() && overrides.on_untrusted == OnUntrusted::LeaveOut {
            return Self::load_or_leave_out(below, overrides, environment);
        }
        let found = ConfigFile::find(file, &environment.cwd)?;
        if let (Some(found), None) = (&found, file) {
            untrusted::check(found, &below, overrides, environment)?;
        }
        Self::load_above(below, found.as_ref(), overrides, environment)
    }

    /// Loads a configuration of lower layers and the file of the project.
    pub(super) fn load_above(
        below: Layers,
        project: Option<&ConfigFile>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let merged = below.with_project(project, environment)?.merge()?;
        let file = project.map(|project| project.path.as_path());
        let config = Self::resolve(merged.raw.clone(), file, overrides, environment)
            .map_err(|error| merged.place(error))?;
        Ok((config, merged))
    }

    /// Resolves a configuration of no components but with these limits, grants and secrets, as the
    /// case files of `agent-host test` have them. Relative paths begin at the directory of `file`,
    /// or at the working directory.
    ///
    /// # Errors
    /// The problems of the sections, without a place.
    pub fn of_sections(
        limits: Option<LimitsSection>,
        grants: GrantsSection,
        secrets: Vec<SecretSection>,
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let raw = RawConfig {
            limits: limits.unwrap_or_default(),
            grants: Some(grants),
            secret: secrets,
            tool: Some(Vec::new()),
            ..RawConfig::default()
        };
        Self::resolve(raw, file, overrides, environment)
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one step for each section of the file, and one field for each value"
    )]
    pub(super) fn resolve(
        mut raw: RawConfig,
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let cwd = environment.cwd.as_path();
        let named = file.map(|file| cwd.join(file));
        let project_dir = named.as_deref().and_then(Path::parent).unwrap_or(cwd);
        let file = named.as_deref().map(canonical);
        let scope = Scope {
            base: file.as_deref().and_then(Path::parent).unwrap_or(cwd),
            environment,
        };
        counts::check(&raw)?;
        // Large, and copied below otherwise.
        let workflow = std::mem::take(&mut raw.workflow);
        // The models of agents are resolved as the file's own.
        let whole = raw.clone();
        resolve_steps! {
            directories = directories(&raw, overrides.state_dir.as_deref(), scope);
            models = settings::resolve_models(&raw, overrides, scope);
            instructions = {
                let system = overrides.system.clone().or(raw.system);
                instructions::resolve(system, &raw.instructions, scope)
            };
            session = session::resolve(raw.session);
            approval_expiry_ms = approval_expiry_ms(raw.approval_expires_seconds);
            limits = tools::limits(raw.limits, &Limits::default(), "[limits]");
            secrets = secrets::resolve(raw.secret, scope);
            external_tools = external::resolve(raw.external_tool, scope);
            agent_depth = agent_depth(whole.agent_depth());
            code_calls = code_calls(whole.code_calls());
            rules = rules::resolve(raw.rule);
            publishers = publishers::resolve(raw.publisher, scope);
            rule_flags = rule_flags::resolve(&overrides.allow, &overrides.deny);
            workflows = workflows::resolve(workflow);
            prices = prices::resolve(raw.prices);
            network = network::resolve(raw.network, scope);
            store = store::resolve(raw.store, scope);
            hosts = hosts::resolve(raw.hosts, scope);
            telemetry = telemetry::resolve(&raw.telemetry, environment);
            budgets = after(&prices, |prices| {
                // Without models, none lacks a price.
                let chosen = chosen(&models);
                budgets::resolve(whole.max_turns(), raw.budgets, prices, overrides, &chosen)
            });
            context = match (&models, &prices) {
                (Some(_), Some(prices)) => context::resolve(raw.context, &chosen(&models), prices),
                _ => Err(ConfigError::reported()),
            };
            agents = match (&models, &prices, &instructions, &context, &secrets) {
                (Some(_), Some(prices), Some(instructions), Some(_), Some(secrets)) => {
                    let models = &chosen(&models);
                    let raw = &whole;
                    let general = agents::General { raw, overrides, prices, models, secrets, scope };
                    agents::resolve(instructions.system.as_deref(), general)
                }
                _ => Err(ConfigError::reported()),
            };
            schedules = after(&agents, |agents| schedules::resolve(raw.schedule, &agent_names(agents), scope));
            webhooks = after(&agents, |agents| webhooks::resolve(raw.webhook, &agent_names(agents), scope));
            grants = after(&secrets, |secrets| grants::resolve(raw.grants, overrides, secrets, scope));
            servers = after(&limits, |limits| mcp::resolve(raw.mcp, limits, scope));
            tools = match (&grants, &limits, &secrets, &servers) {
                (Some(general), Some(limits), Some(secrets), Some(servers)) => {
                    let grants = &general.grants;
                    let general = tools::General { grants, limits, secrets, servers };
                    tools::resolve(raw.tool, &overrides.tools, &general, scope)
                }
                _ => Err(ConfigError::reported()),
            };
            agent_grants = match (&agents, &grants, &tools) {
                (Some(agents), Some(general), Some(tools)) => {
                    agents::check_grants(agents, &general.grants, tools)
                }
                _ => Err(ConfigError::reported()),
            };
            hooks = match (&tools, &limits, &secrets, &servers) {
                (Some(tools), Some(limits), Some(secrets), Some(servers)) => {
                    let taken = tools.iter().map(|tool| tool.name.as_str());
                    let taken = taken.chain(servers.iter().map(|server| server.name.as_str()));
                    let taken: Vec<&str> = taken.collect();
                    hooks::resolve(raw.hook, &taken, limits, secrets, scope)
                }
                _ => Err(ConfigError::reported()),
            };
            skills = match (&tools, &servers, &hooks) {
                (Some(tools), Some(servers), Some(hooks)) => {
                    let tools = tools.iter().map(|tool| tool.name.as_str());
                    let others = tools.chain(servers.iter().map(|server| server.name.as_str()));
                    let others = others.chain(hooks.iter().map(|hook| hook.name.as_str()));
                    skills::resolve(&raw.skills, &others.collect(), scope)
                }
                _ => Err(ConfigError::reported()),
            };
        }
        let () = agent_grants;
        let (state_dir, cache_dir) = directories;
        let (mut models, names) = models;
        models.set_prices(&names, &prices);
        models.set_network(&network);
        let agents = agents.into_iter().map(|mut agent| {
            let models = Arc::make_mut(&mut agent).models.iter_mut();
            models.for_each(|models| models.set_network(&network));
            agent
        });
        let agent_definitions = agents.collect();
        let mut servers = servers;
        for server in &mut servers {
            server.network = network.clone();
        }
        let (mut schedules, mut webhooks) = (schedules, webhooks);
        let runs = schedules.iter_mut().map(|schedule| &mut schedule.run);
        let runs = runs.chain(webhooks.iter_mut().map(|webhook| &mut webhook.run));
        for notify in runs.filter_map(|run| run.notify.as_mut()) {
            notify.network = network.clone();
        }
        let telemetry = telemetry.map(|telemetry| TelemetryConfig {
            network: network.clone(),
            ..telemetry
        });
        Ok(Self {
            project_dir: canonical(project_dir),
            working_dir: canonical(cwd),
            state_dir: canonical(&state_dir),
            session,
            store,
            hosts,
            cache_dir: canonical(&cache_dir),
            telemetry,
            models,
            system: instructions.system,
            default_system: instructions.is_default,
            instruction_files: instructions.files,
            skills,
            context,
            budgets,
            prompts: match whole.permission_prompts() {
                RawPrompts::Ask => Prompts::Ask,
                RawPrompts::None => Prompts::Deny,
            },
            keys: whole.keys(),
            timing: match whole.approval_timing() {
                RawTiming::Batch => Timing::Batch,
                RawTiming::InOrder => Timing::InOrder,
            },
            approval_expiry_ms,
            search_tools_from: whole.search_tools_from(),
            todo_list: whole.todo_list(),
            code: whole.code(),
            code_calls,
            tools,
            external_tools,
            servers,
            agent_definitions,
            agents: raw.agents,
            agent_depth,
            workflows,
            hooks,
            schedules,
            webhooks,
            rules,
            registries: RegistriesConfig {
                publishers,
                network,
                credentials: credentials(environment),
            },
            rule_flags,
            supervisor: None,
            elicitor: None,
            tell: None,
            // The user's trust is remembered there, wherever sessions are kept.
            hidden_files: environment.state_home().into_iter().collect(),
            grants: grants.grants,
            default_dir_refusal: grants.default_dir_refusal,
            grants_default_dir: grants.grants_default_dir,
            limits,
            sandbox: sandbox::resolve(raw.sandbox, whole.cache_bytes()),
            secrets,
            file,
            left_out: None,
            prices,
            layer_paths: environment.layer_paths(),
        })
    }
}

/// The greatest depth. With [`MAX_AGENTS`](super::agents::MAX_AGENTS) it bounds what agents that
/// start each other can cost: a loop is made for each that runs, and none for the others.
const MAX_AGENT_DEPTH: u8 = 16;

/// The greatest number of calls of one program: all of its results are in memory when it runs
/// again.
const MAX_CODE_CALLS: usize = 10_000;

fn code_calls(calls: usize) -> Result<usize, ConfigError> {
    match calls {
        calls if (1..=MAX_CODE_CALLS).contains(&calls) => Ok(calls),
        calls => Err(config_error!(
            "code-calls",
            "a program can make {calls} calls, and 1 to {MAX_CODE_CALLS} are possible",
            "set `code-calls` to one of these"
        )),
    }
}

fn agent_depth(depth: u8) -> Result<u8, ConfigError> {
    match depth {
        depth if depth <= MAX_AGENT_DEPTH => Ok(depth),
        depth => Err(config_error!(
            "agent-depth",
            "agents can start agents to a depth of {depth}, and at most {MAX_AGENT_DEPTH} is used",
            "lower it"
        )),
    }
}

/// The directories of state and of compiled components.
fn directories(
    raw: &RawConfig,
    argument: Option<&Path>,
    scope: Scope<'_>,
) -> Result<(PathBuf, PathBuf), ConfigError> {
    let environment = scope.environment;
    let state_dir = match (argument, &raw.state_dir) {
        (Some(path), _) => environment.cwd.join(path),
        (None, Some(text)) => scope.resolve_path("state-dir", text)?,
        (None, None) => environment.state_home().ok_or_else(|| {
            config_error!(
                "--state-dir",
                "it is not known where sessions are to be kept: there is no HOME and no XDG_STATE_HOME",
                "set `state-dir` in agent.toml, or pass `--state-dir DIR`"
            )
        })?,
    };
    let cache_dir = match &raw.cache_dir {
        Some(text) => scope.resolve_path("cache-dir", text)?,
        // Without a home directory, compiled components are kept beside the sessions.
        None => environment
            .program_dir("XDG_CACHE_HOME", ".cache")
            .unwrap_or_else(|| state_dir.join("cache")),
    };
    Ok((state_dir, cache_dir))
}

fn approval_expiry_ms(seconds: Option<u64>) -> Result<Option<u64>, ConfigError> {
    match seconds {
        Some(0) => Err(config_error!(
            "approval-expires-seconds",
            "`approval-expires-seconds` is 0, with which every approval would come too late",
            "set it to at least 1, or leave it out"
        )
        .with_value(0)),
        seconds => Ok(seconds.map(|seconds| seconds.saturating_mul(1000))),
    }
}

/// Returns the models that may be asked; none where they could not be resolved.
fn chosen(models: &Option<(ModelsConfig, Vec<String>)>) -> Vec<(&str, Option<&ModelConfig>)> {
    let chosen = models.as_ref().map(|(models, names)| models.chosen(names));
    chosen.unwrap_or_default()
}

/// Returns the names of agents.
fn agent_names(agents: &[Arc<AgentConfig>]) -> Vec<&str> {
    agents.iter().map(|agent| agent.name.as_str()).collect()
}

/// Runs a step that needs the value of an earlier one.
fn after<V, T>(
    earlier: &Option<V>,
    step: impl FnOnce(&V) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    earlier
        .as_ref()
        .map_or_else(|| Err(ConfigError::reported()), step)
}

/// Resolves each element of the list `key`, and collects the problems of all.
pub(super) fn resolve_all<R, T>(
    key: &str,
    raw: Vec<R>,
    mut resolve: impl FnMut(R) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let mut problems = Problems::default();
    let mut resolved = Vec::with_capacity(raw.len());
    for (index, raw) in raw.into_iter().enumerate() {
        let result = resolve(raw).map_err(|error| error.within(&format!("{key}[{index}]")));
        resolved.extend(problems.take(result));
    }
    problems.or(resolved)
}

/// Returns where credentials for registries are looked for.
fn credentials(environment: &Environment) -> CredentialSource {
    let variable = environment.variable("AGENT_HOST_REGISTRY_CREDENTIALS");
    let docker = match environment.variable("DOCKER_CONFIG") {
        Some(directory) => Some(PathBuf::from(directory)),
        None => environment.home().map(|home| home.join(".docker")),
    };
    CredentialSource {
        variable: variable.map(SecretString::from),
        docker_config: docker.map(|directory| directory.join("config.json")),
    }
}
