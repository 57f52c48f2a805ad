//! Resolves the layers of a configuration (file, environment, command line) to a [`Config`].

use super::{
    AgentConfig, Config, ConfigError, Environment, GrantsSection, LimitsSection, ModelConfig,
    ModelsConfig, Overrides, RegistriesConfig, SecretSection, agents, budgets, context, external,
    flow, grants, hooks, hosts, instructions, mcp, memory,
    network::{self, NetworkConfig},
    paths::{Scope, canonical},
    prices,
    problem::{config_error, resolve_steps},
    publishers,
    raw::{RawConfig, RawPrompts, RawTiming},
    rule_flags, rules, sandbox, schedules, secrets, session, settings, skills, store, telemetry,
    tools, webhooks, workflows,
};
use agent_host_engine::turn::{Prompts, Timing};
use agent_host_registry::CredentialSource;
use agent_host_types::limits::Limits;
use secrecy::SecretString;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

impl Config {
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
        let unconfigured = Scope {
            base: file.as_deref().and_then(Path::parent).unwrap_or(cwd),
            environment,
            network: &NetworkConfig::Environment,
        };
        let network = network::resolve(std::mem::take(&mut raw.network), unconfigured);
        let proxy = network.clone().unwrap_or_default();
        let scope = Scope {
            network: &proxy,
            ..unconfigured
        };
        raw.check_lists()?;
        // Large, and copied below otherwise.
        let workflow = std::mem::take(&mut raw.workflow);
        // The models of agents are resolved as the file's own.
        let whole = raw.clone();
        resolve_steps! {
            directories = directories(&raw, overrides.state_dir.as_deref(), scope);
            models = settings::resolve_models(&raw.settings, raw.model_sections(), overrides, scope);
            instructions = {
                let system = overrides.system.clone().or(raw.system);
                instructions::resolve(system, &raw.instructions, scope)
            };
            session = session::resolve(raw.session);
            limits = tools::limits(raw.limits, &Limits::default(), "[limits]");
            secrets = secrets::resolve(raw.secret, scope);
            external_tools = external::resolve(raw.external_tool, scope);
            _bounds = whole.bounds();
            rules = rules::resolve(raw.rule);
            flow = flow::resolve(raw.flow);
            publishers = publishers::resolve(raw.publisher, scope);
            rule_flags = rule_flags::resolve(&overrides.allow, &overrides.deny);
            workflows = workflows::resolve(workflow);
            prices = prices::resolve(raw.prices);
            network = network;
            store = store::resolve(raw.store, scope);
            hosts = hosts::resolve(raw.hosts, scope);
            telemetry = telemetry::resolve(&raw.telemetry, scope);
            budgets [prices] = {
                // Without models, none lacks a price.
                let chosen = chosen(&models);
                budgets::resolve(whole.max_turns(), raw.budgets, prices, overrides, &chosen)
            };
            context [models, prices] = context::resolve(raw.context, &models.0.chosen(&models.1), prices);
            agents [models, prices, instructions, context, secrets] = {
                let _ = context;
                let general = agents::General {
                    agents: &whole.agent,
                    top_agents: &whole.agents,
                    code: whole.code(),
                    flow: whole.flow.mode(),
                    context: whole.context,
                    settings: &whole.settings,
                    sections: whole.model_sections(),
                    overrides,
                    prices,
                    models: &models.0.chosen(&models.1),
                    secrets,
                    scope,
                };
                agents::resolve(instructions.system.as_deref(), general)
            };
            schedules [agents] = schedules::resolve(raw.schedule, &agent_names(agents), scope);
            webhooks [agents] = webhooks::resolve(raw.webhook, &agent_names(agents), scope);
            grants [secrets] = grants::resolve(raw.grants, overrides, secrets, scope);
            servers [grants, limits, secrets] = {
                let general = mcp::General { grants: &grants.grants, limits, secrets };
                mcp::resolve(raw.mcp, &general, scope)
            };
            tools [grants, limits, secrets, servers] = {
                let grants = &grants.grants;
                let general = tools::General { grants, limits, secrets, servers };
                tools::resolve(raw.tool, &overrides.tools, &general, scope)
            };
            agent_grants [agents, grants, tools] = agents::check_grants(agents, &grants.grants, tools);
            hooks [tools, limits, secrets, servers] = {
                let taken = tools.iter().map(|tool| tool.name.as_str());
                let taken = taken.chain(servers.iter().map(|server| server.name.as_str()));
                let taken: Vec<&str> = taken.collect();
                hooks::resolve(raw.hook, &taken, limits, secrets, scope)
            };
            skills [tools, servers, hooks] = {
                let tools = tools.iter().map(|tool| tool.name.as_str());
                let others = tools.chain(servers.iter().map(|server| server.name.as_str()));
                let others = others.chain(hooks.iter().map(|hook| hook.name.as_str()));
                skills::resolve(&raw.skills, &others.collect(), scope)
            };
        }
        let () = agent_grants;
        let (state_dir, cache_dir) = directories;
        let (mut models, names) = models;
        models.set_prices(&names, &prices);
        let config = Self {
            project_dir: canonical(project_dir),
            working_dir: canonical(cwd),
            locked: overrides.locked,
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
            timing: match whole.approval_timing() {
                RawTiming::Batch => Timing::Batch,
                RawTiming::InOrder => Timing::InOrder,
            },
            approval_expiry_ms: whole
                .approval_expires_seconds
                .map(|seconds| seconds.saturating_mul(1000)),
            search_tools_from: whole.search_tools_from(),
            session_links: whole.session_links,
            todo_list: whole.todo_list(),
            code: whole.code(),
            code_calls: whole.code_calls(),
            tools,
            external_tools,
            servers,
            agent_definitions: agents,
            agents: raw.agents,
            agent_depth: whole.agent_depth(),
            workflows,
            hooks,
            schedules,
            webhooks,
            rules,
            flow,
            memory: memory::resolve(raw.memory),
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
        };
        flow::check_paths(&config)?;
        Ok(config)
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
                "no directory for sessions: neither HOME nor XDG_STATE_HOME is set",
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

/// Returns the models that may be asked; none where they could not be resolved.
fn chosen(models: &Option<(ModelsConfig, Vec<String>)>) -> Vec<(&str, Option<&ModelConfig>)> {
    let chosen = models.as_ref().map(|(models, names)| models.chosen(names));
    chosen.unwrap_or_default()
}

/// Returns the names of agents.
fn agent_names(agents: &[Arc<AgentConfig>]) -> Vec<&str> {
    agents.iter().map(|agent| agent.name.as_str()).collect()
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
