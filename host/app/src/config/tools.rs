//! Components and their use: `[[tool]]`, `[limits]` and `--tool`.

use super::{
    Config, ConfigError, Confirmation, LimitsSection, McpConfig, approval, dir_grants, env_grants,
    http_grants,
    paths::Scope,
    problem::resolve_steps,
    raw::RawTool,
    resolve::resolve_all,
    secrets::{self, SecretConfig},
};
use agent_host_engine::policy::Grants;
use agent_host_types::{limits::Limits, tool::is_tool_name};
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The prefix of a component that is part of the program.
const BUILTIN: &str = "builtin:";

/// The components of a configuration without `[[tool]]`.
const DEFAULT_TOOLS: [&str; 3] = ["files", "fetch", "image"];

/// The rule for names, for messages.
pub(super) const NAME_RULE: &str = "names have 1 to 64 letters of A to Z, digits, `_` and `-`";

/// A component and its use.
#[derive(Clone, Debug)]
pub struct ToolConfig {
    /// The name of the component in `agent.lock` and in messages.
    pub name: String,
    /// Where the component is.
    pub source: ComponentSource,
    /// When a call needs approval, and which decisions are offered.
    pub confirmation: Confirmation,
    /// Confirmations of single tools of the component, by their names.
    pub own_confirmations: BTreeMap<String, Confirmation>,
    /// True if the operator accepts the component's word that a repetition is harmless.
    pub accept_idempotent: bool,
    /// The maximum of concurrent calls; absent for the sandbox's default.
    pub concurrent_calls: Option<NonZeroUsize>,
    /// The grants of its calls.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl ToolConfig {
    /// Returns the confirmation of one tool of the component.
    #[must_use]
    pub fn confirmation_of(&self, tool: &str) -> &Confirmation {
        self.own_confirmations
            .get(tool)
            .unwrap_or(&self.confirmation)
    }

    /// Creates a component with the general grants and limits.
    fn new(name: String, source: ComponentSource, grants: &Arc<Grants>, limits: &Limits) -> Self {
        Self {
            name,
            source,
            confirmation: Confirmation::default(),
            own_confirmations: BTreeMap::new(),
            accept_idempotent: false,
            concurrent_calls: None,
            grants: Arc::clone(grants),
            limits: limits.clone(),
        }
    }
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// In the program, by the name after `builtin:`.
    Builtin(String),
    /// In a file. It may not exist.
    File(PathBuf),
}

impl fmt::Display for ComponentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => write!(f, "{BUILTIN}{name}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl ComponentSource {
    /// True for a file, which can change between two runs.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }

    fn builtin(text: &str) -> Option<Self> {
        text.strip_prefix(BUILTIN)
            .map(|name| Self::Builtin(name.to_owned()))
    }
}

/// The parts of a configuration that its components share.
pub(super) struct General<'a> {
    pub(super) grants: &'a Arc<Grants>,
    pub(super) limits: &'a Limits,
    pub(super) secrets: &'a [SecretConfig],
    pub(super) servers: &'a [McpConfig],
}

/// Resolves the components of the file and of the command line.
///
/// # Errors
/// The components that cannot be used as they are configured; those of the file first.
pub(super) fn resolve(
    raw: Option<Vec<RawTool>>,
    arguments: &[String],
    general: &General<'_>,
    scope: Scope<'_>,
) -> Result<Vec<ToolConfig>, ConfigError> {
    let General {
        grants,
        limits,
        servers,
        ..
    } = *general;
    let mut names = HashSet::new();
    let mut tools = match raw {
        None => DEFAULT_TOOLS
            .map(str::to_owned)
            .map(|name| {
                let source = ComponentSource::Builtin(name.clone());
                ToolConfig::new(name, source, grants, limits)
            })
            .into(),
        Some(raw) => resolve_all("tool", raw, |raw| {
            check_name(&raw.name, "the tool name `", "`", "[[tool]]")?;
            if !names.insert(raw.name.clone()) {
                return Err(ConfigError::new(
                    "name",
                    format!(
                        "two tools have the name `{}`, and `agent.lock` could not tell them apart",
                        raw.name
                    ),
                    "change `name` of one",
                )
                .with_value(&raw.name));
            }
            if servers.iter().any(|server| server.name == raw.name) {
                return Err(super::mcp::name_is_taken(&raw.name));
            }
            resolve_one(raw, general, scope)
        })?,
    };
    for argument in arguments {
        let cwd = &scope.environment.cwd;
        let tool = from_argument(argument, cwd, &tools, servers, grants, limits)?;
        tools.push(tool);
    }
    Ok(tools)
}

fn resolve_one(
    raw: RawTool,
    general: &General<'_>,
    scope: Scope<'_>,
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
        secrets: names,
    } = raw;
    let base = general.grants;
    let place = format!("[tool.limits] of `{name}`");
    let secrets_place = format!("`secrets` of `{name}`");
    let shares_grants = dir.is_none() && http.is_none() && env.is_none() && names.is_none();
    resolve_steps! {
        source = match ComponentSource::builtin(&component) {
            Some(builtin) => Ok(builtin),
            None => scope.resolve_path("component", &component).map(ComponentSource::File),
        };
        limits = limits(own_limits, general.limits, &place);
        confirmation = approval.resolve("approval", &name);
        own_confirmations = approval::resolve_each(approvals);
        dirs = dir.map_or_else(|| Ok(base.dirs.clone()), |raw| dir_grants::resolve("dir", raw, scope));
        http = http.map_or_else(|| Ok(base.http.clone()), |raw| resolve_all("http", raw, http_grants::from_raw));
        env = env.map_or_else(|| Ok(base.env.clone()), |raw| env_grants::resolve("env", raw, scope));
        secrets = names.map_or_else(
            || Ok(base.secrets.clone()),
            |names| secrets::granted(general.secrets, "secrets", &names, &secrets_place),
        );
    }
    let grants = if shares_grants {
        Arc::clone(base)
    } else {
        dir_grants::check_apart("dir", &dirs)?;
        Arc::new(Grants {
            dirs,
            http,
            env,
            secrets,
        })
    };
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

/// Checks the name of a tool, a secret or an external tool. The text around the name in a message
/// is `before` and `after`; `section` is its table.
pub(super) fn check_name(
    name: &str,
    before: &str,
    after: &str,
    section: &str,
) -> Result<(), ConfigError> {
    if is_tool_name(name) {
        return Ok(());
    }
    Err(ConfigError::new(
        "name",
        format!(
            "{before}{}{after} cannot be used: {NAME_RULE}",
            name.escape_debug()
        ),
        format!("change `name` under {section}"),
    )
    .with_value(name))
}

/// Fills limits in, and refuses those with which no call could succeed. `place` names their table
/// in messages.
pub(super) fn limits(
    raw: Option<LimitsSection>,
    base: &Limits,
    place: &str,
) -> Result<Limits, ConfigError> {
    let limits = raw.unwrap_or_default().over(base);
    let needed = [
        ("deadline-ms", limits.deadline_ms),
        ("memory-bytes", limits.memory_bytes),
        ("instances", limits.instances),
        ("max-transfer-bytes", limits.max_transfer_bytes),
        ("output-bytes", limits.output_bytes),
    ];
    match needed.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(ConfigError::new(
            name,
            format!("`{name}` in {place} is 0, with which no call could run"),
            "set it to what a call needs, or leave it out",
        )
        .with_value(0)
        .within("limits")),
        None => Ok(limits),
    }
}

impl Config {
    /// Resolves a component of the command line, with the general grants and limits: `builtin:NAME`
    /// or a file.
    ///
    /// # Errors
    /// There is no such file, and it is not the name of a built-in component.
    pub fn tool_from_argument(&self, argument: &str) -> Result<ToolConfig, ConfigError> {
        from_argument(
            argument,
            &self.working_dir,
            &self.tools,
            &self.servers,
            &self.grants,
            &self.limits,
        )
    }
}

fn from_argument(
    argument: &str,
    cwd: &Path,
    tools: &[ToolConfig],
    servers: &[McpConfig],
    grants: &Arc<Grants>,
    limits: &Limits,
) -> Result<ToolConfig, ConfigError> {
    let path = cwd.join(argument);
    let (source, stem) = match ComponentSource::builtin(argument) {
        Some(builtin) => {
            let stem = argument.trim_start_matches(BUILTIN).to_owned();
            (builtin, stem)
        }
        None if path.is_file() => {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            let stem = stem.to_string_lossy().into_owned();
            (ComponentSource::File(path), stem)
        }
        None => {
            let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            return Err(ConfigError::new(
                "--tool",
                format!(
                    "there is no component file `{}` and no configured tool of this name (there are: {})",
                    argument.escape_debug(),
                    if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    }
                ),
                "name a file, a configured tool, or a built-in one like `builtin:files`",
            )
            .with_value(argument));
        }
    };
    let is_taken = |name: &String| {
        tools.iter().any(|tool| tool.name == *name)
            || servers.iter().any(|server| server.name == *name)
    };
    let numbered = (2_u64..).map(|n| format!("{stem}-{n}"));
    let mut names = std::iter::once(stem.clone()).chain(numbered);
    let name = names.find(|name| !is_taken(name)).unwrap_or(stem);
    Ok(ToolConfig::new(name, source, grants, limits))
}
