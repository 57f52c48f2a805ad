//! From [`RawConfig`] to [`Config`]: what is absent is filled in, what is relative is placed, what cannot be is refused.

use super::{
    ComponentSource, Config, ConfigError, Confirmation, Environment, ModelsConfig, Overrides,
    RawConfig, RawGrants, RawLimits, RawPooling, RawPrompts, RawSandbox, RawTiming, RawTool,
    ToolConfig, budgets, context, dir_grants, env_grants, external, http_grants,
    instructions::{self, Instructions},
    mcp,
    paths::{canonical, place},
    secrets::{self, SecretConfig},
    session,
};
use agent_host_engine::{
    policy::{DirGrant, DirMode, Grants},
    turn::{Prompts, Timing},
};
use agent_host_sandbox::{CompileLimits, Pooling, SandboxConfig};
use agent_host_types::{limits::Limits, tool::is_tool_name};
use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use toml::Spanned;

/// The components that are used when none are configured.
const DEFAULT_TOOLS: [&str; 3] = ["files", "fetch", "image"];

impl Config {
    /// Resolves a configuration. `file` is where it came from; its relative paths begin there.
    ///
    /// # Errors
    /// The first thing that cannot be used.
    pub fn resolve(
        raw: RawConfig,
        file: Option<PathBuf>,
        overrides: Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let cwd = &environment.cwd;
        let file = file.map(|file| canonical(&cwd.join(file)));
        let base = file
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(cwd)
            .to_owned();
        let state_dir = state_dir(&raw, overrides.state_dir.as_deref(), &base, environment)?;
        let cache_dir = match &raw.cache_dir {
            Some(text) => place(text, &base, environment)?,
            // Without a home folder, what is compiled is kept beside the sessions.
            None => environment
                .program_folder("XDG_CACHE_HOME", ".cache")
                .unwrap_or_else(|| state_dir.join("cache")),
        };
        let (models, names) = ModelsConfig::resolve(&raw, &overrides, &base, environment)?;
        let budgets = budgets::resolve(&raw, &overrides, &names)?;
        budgets::check_prices(&raw)?;
        let context = context::resolve(raw.context.as_ref(), &names)?;
        let Instructions {
            system,
            files: instruction_files,
        } = instructions::resolve(raw.system, &raw.instructions, &base, environment)?;
        let limits = limits(raw.limits, &Limits::default(), "[limits]")?;
        let secrets = secrets::from_raw(raw.secret, &base, environment)?;
        let implies_folder =
            raw.grants.is_none() && dir_grants::of_current_folder(environment).is_ok();
        let (grants, ungranted) = grants(raw.grants, &overrides, &secrets, &base, environment)?;
        let mut config = Self {
            file,
            folder: canonical(cwd),
            state_dir: canonical(&state_dir),
            session: session::resolve(raw.session)?,
            cache_dir: canonical(&cache_dir),
            models,
            system,
            instruction_files,
            context,
            budgets,
            prompts: match raw.permission_prompts.unwrap_or(RawPrompts::Ask) {
                RawPrompts::Ask => Prompts::Ask,
                RawPrompts::None => Prompts::Deny,
            },
            timing: match raw.approval_timing.unwrap_or(RawTiming::Batch) {
                RawTiming::Batch => Timing::Batch,
                RawTiming::InOrder => Timing::InOrder,
            },
            approval_expiry_ms: approval_expiry_ms(raw.approval_expires_seconds)?,
            tools: Vec::new(),
            external_tools: external::from_raw(raw.external_tool, &base, environment)?,
            servers: Vec::new(),
            supervisor: None,
            // With what the user trusts in it, whatever other directory has the sessions.
            hidden_files: environment.state_home().into_iter().collect(),
            grants: Arc::new(grants),
            ungranted,
            implies_folder,
            limits,
            sandbox: sandbox(raw.sandbox.unwrap_or_default()),
            secrets,
        };
        config.add_tools(raw.tool, &base, environment)?;
        config.servers = mcp::from_raw(raw.mcp, &config, &base, environment)?;
        for argument in overrides.tools {
            let tool = config.tool_from_argument(&argument)?;
            config.tools.push(tool);
        }
        Ok(config)
    }

    fn add_tools(
        &mut self,
        raw: Option<Vec<RawTool>>,
        base: &Path,
        environment: &Environment,
    ) -> Result<(), ConfigError> {
        let Some(raw) = raw else {
            self.tools = DEFAULT_TOOLS.map(|name| self.default_tool(name)).into();
            return Ok(());
        };
        let mut names = HashSet::new();
        for tool in raw {
            if !is_tool_name(&tool.name) {
                return Err(ConfigError::new(format!(
                    "the tool name `{}` cannot be used: names have 1 to 64 letters of A to Z, digits, `_` and `-`; change \
                     `name` under [[tool]]",
                    tool.name.escape_debug()
                )));
            }
            if !names.insert(tool.name.clone()) {
                return Err(ConfigError::new(format!(
                    "two tools have the name `{}`, and `agent.lock` could not tell them apart; change `name` of one",
                    tool.name
                )));
            }
            let tool = self.tool(tool, base, environment)?;
            self.tools.push(tool);
        }
        Ok(())
    }

    fn default_tool(&self, name: &str) -> ToolConfig {
        ToolConfig {
            name: name.to_owned(),
            source: ComponentSource::Builtin(name.to_owned()),
            confirmation: Confirmation::default(),
            own_confirmations: BTreeMap::new(),
            accept_idempotent: false,
            concurrent_calls: None,
            grants: Arc::clone(&self.grants),
            limits: self.limits.clone(),
        }
    }

    fn tool(
        &self,
        raw: RawTool,
        base: &Path,
        environment: &Environment,
    ) -> Result<ToolConfig, ConfigError> {
        let RawTool {
            name,
            component,
            approval,
            approvals,
            accept_idempotent,
            concurrent_calls,
            limits: own_limits,
            dir,
            http,
            env,
            secrets,
        } = raw;
        let source = match ComponentSource::builtin(&component) {
            Some(builtin) => builtin,
            None => ComponentSource::File(place(&component, base, environment)?),
        };
        let limits = limits(
            own_limits,
            &self.limits,
            &format!("[tool.limits] of `{name}`"),
        )?;
        let shared = dir.is_none() && http.is_none() && env.is_none() && secrets.is_none();
        let grants = if shared {
            Arc::clone(&self.grants)
        } else {
            let own = |raw| each(raw, |raw| dir_grants::from_raw(raw, base, environment));
            let dirs = dir.map_or_else(|| Ok(self.grants.dirs.clone()), own)?;
            dir_grants::check_apart(&dirs)?;
            let own = |raw| each(raw, http_grants::from_raw);
            let http = http.map_or_else(|| Ok(self.grants.http.clone()), own)?;
            let own = |raw| env_grants::from_raw(raw, environment);
            let env = env.map_or_else(|| Ok(self.grants.env.clone()), own)?;
            let own = |names: Vec<_>| {
                secrets::granted(&self.secrets, &names, &format!("`secrets` of `{name}`"))
            };
            let secrets = secrets.map_or_else(|| Ok(self.grants.secrets.clone()), own)?;
            Arc::new(Grants {
                dirs,
                http,
                env,
                secrets,
            })
        };
        let confirmation = approval.resolve(&name)?;
        let own_confirmations = approvals
            .into_iter()
            .map(|(tool, approval)| Ok((tool.clone(), approval.resolve(&tool)?)))
            .collect::<Result<_, ConfigError>>()?;
        Ok(ToolConfig {
            name,
            source,
            confirmation,
            own_confirmations,
            accept_idempotent,
            concurrent_calls,
            grants,
            limits,
        })
    }
}

fn state_dir(
    raw: &RawConfig,
    argument: Option<&Path>,
    base: &Path,
    environment: &Environment,
) -> Result<PathBuf, ConfigError> {
    if let Some(path) = argument {
        return Ok(environment.cwd.join(path));
    }
    if let Some(text) = &raw.state_dir {
        return place(text, base, environment);
    }
    environment.state_home().ok_or_else(|| {
        ConfigError::new(
            "it is not known where sessions are to be kept: there is no HOME and no XDG_STATE_HOME; set `state-dir` in \
             agent.toml, or pass `--state-dir DIR`",
        )
    })
}

fn approval_expiry_ms(seconds: Option<u64>) -> Result<Option<u64>, ConfigError> {
    match seconds {
        Some(0) => Err(ConfigError::new(
            "`approval-expires-seconds` is 0, with which nobody could decide in time; set it to at least 1, or leave it out",
        )),
        seconds => Ok(seconds.map(|seconds| seconds.saturating_mul(1000))),
    }
}

/// Fills limits in and refuses those with which no call could end well.
fn limits(raw: Option<RawLimits>, base: &Limits, place: &str) -> Result<Limits, ConfigError> {
    let limits = raw.unwrap_or_default().over(base);
    let needed = [
        ("deadline-ms", limits.deadline_ms),
        ("memory-bytes", limits.memory_bytes),
        ("instances", limits.instances),
        ("max-transfer-bytes", limits.max_transfer_bytes),
        ("output-bytes", limits.output_bytes),
    ];
    match needed.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(ConfigError::new(format!(
            "`{name}` in {place} is 0, with which no call could run; set it to what a call needs, or leave it out"
        ))),
        None => Ok(limits),
    }
}

/// The general grants, and why the current folder is not among them although nobody said anything about folders.
fn grants(
    raw: Option<RawGrants>,
    overrides: &Overrides,
    secrets: &[SecretConfig],
    base: &Path,
    environment: &Environment,
) -> Result<(Grants, Option<ConfigError>), ConfigError> {
    let silent = raw.is_none();
    let RawGrants {
        dir,
        http,
        env,
        secrets: names,
    } = raw.unwrap_or_default();
    let mut grants = Grants {
        dirs: each(dir, |raw| dir_grants::from_raw(raw, base, environment))?,
        http: each(http, http_grants::from_raw)?,
        env: env_grants::from_raw(env, environment)?,
        secrets: secrets::granted(secrets, &names, "[grants]")?,
    };
    let configured = grants.dirs.len();
    for argument in &overrides.grants {
        match argument.split_once(':') {
            Some(("dir", folder)) => {
                let grant = dir_grants::from_argument(folder, &environment.cwd, &grants.dirs)?;
                grants.dirs.push(grant);
            }
            Some(("http", host)) => grants.http.push(http_grants::from_argument(host)?),
            Some(("env", variable)) => {
                env_grants::add_argument(&mut grants.env, variable, environment)?;
            }
            Some(("secret", name)) => {
                secrets::add(&mut grants.secrets, secrets, name, "`--grant`")?;
            }
            Some(_) | None => {
                return Err(ConfigError::new(format!(
                    "the grant `{}` is of no kind that there is; write `dir:PATH`, `dir:PATH:rw`, \
                     `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, `env:NAME[=VALUE]` or `secret:NAME`",
                    argument.escape_debug()
                )));
            }
        }
    }
    let mut ungranted = None;
    if silent && grants.dirs.len() == configured {
        match dir_grants::of_current_folder(environment) {
            Ok(grant) => grants.dirs.push(grant),
            Err(error) => ungranted = Some(error),
        }
    }
    if overrides.write && ungranted.is_none() {
        make_writable(&mut grants.dirs, &environment.cwd)?;
    }
    dir_grants::check_apart(&grants.dirs)?;
    Ok((grants, ungranted))
}

/// Resolves each grant of a list; the first that cannot be used is named with its place.
pub(super) fn each<R, G>(
    raw: Vec<Spanned<R>>,
    resolve: impl Fn(R) -> Result<G, ConfigError>,
) -> Result<Vec<G>, ConfigError> {
    raw.into_iter()
        .map(|raw| {
            let span = raw.span();
            resolve(raw.into_inner()).map_err(|error| error.at(&span))
        })
        .collect()
}

fn make_writable(dirs: &mut [DirGrant], cwd: &Path) -> Result<(), ConfigError> {
    let cwd = canonical(cwd);
    match dirs.iter_mut().find(|grant| grant.host == cwd) {
        Some(grant) => {
            grant.mode = DirMode::ReadWrite;
            Ok(())
        }
        None => Err(ConfigError::new(format!(
            "`--write` makes the grant of the current folder writable, and {} is not granted; pass `--grant dir:PATH:rw` for \
             the folder that tools may write to",
            cwd.display()
        ))),
    }
}

fn sandbox(raw: RawSandbox) -> SandboxConfig {
    let default = SandboxConfig::default();
    SandboxConfig {
        concurrent_calls: raw.concurrent_calls.unwrap_or(default.concurrent_calls),
        queued_calls: raw.queued_calls.unwrap_or(default.queued_calls),
        concurrent_calls_per_tool: raw.concurrent_calls_per_tool,
        queued_calls_per_tool: raw.queued_calls_per_tool,
        guest_threads: raw.guest_threads.unwrap_or(default.guest_threads),
        pooling: match raw.pooling {
            Some(RawPooling::Probe) => Pooling::Probe,
            Some(RawPooling::Off) => Pooling::Off,
            None => default.pooling,
        },
        compile_limits: CompileLimits {
            memory_bytes: raw
                .compile_memory_bytes
                .unwrap_or(default.compile_limits.memory_bytes),
            cpu_seconds: raw
                .compile_cpu_seconds
                .unwrap_or(default.compile_limits.cpu_seconds),
            deadline_ms: raw
                .compile_deadline_ms
                .unwrap_or(default.compile_limits.deadline_ms),
        },
        ..default
    }
}
