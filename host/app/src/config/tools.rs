//! Components and their use: `[[tool]]`, `[limits]` and `--tool`.

use super::{
    ConfigError, Confirmations, GrantsSection, LimitsSection, McpConfig,
    approval::{self, RawApproval},
    dir_grants::{self, RawDirGrant},
    env_grants::{self, RawEnvGrant},
    grants::{self, RawArtifacts},
    http_grants::{self, RawHttpGrant},
    lists::{check_name, check_unique},
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    sandbox::concurrent_calls_per_tool,
    secrets::{self, SecretConfig},
    section::{Section as _, section},
};
use agent_host_engine::policy::Grants;
use agent_host_registry::Remote;
use agent_host_types::limits::Limits;
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

section! {
    /// `[[tool]]`.
    pub(super) struct RawTool {
        /// The name of the component in `agent.lock` and in messages.
        name: String => together;
        /// `builtin:NAME`, `oci://HOST/NAME:TAG` or a file.
        component [Component]: String => together;
        /// When a call needs approval, or which decisions are offered.
        #[serde(default)]
        approval: RawApproval => together;
        /// Approvals of single tools of the component, by their names.
        #[serde(default)]
        approvals: BTreeMap<String, RawApproval> => together;
        /// True to trust the component's claim that repeating a call is harmless.
        #[serde(default)]
        accept_idempotent: bool => asks(Unchecked,
            "repeats interrupted calls of {who} where the component says that this is harmless (accept-idempotent)");
        /// The tools of the component to offer, by their names; absent for all. The tools of a
        /// plain component are its exported functions, as `inspect` lists them. To include a
        /// function that is left out because toolchains export it for themselves, list its exact
        /// name.
        exports: Option<Vec<String>> => pinned;
        /// The maximum number of concurrent calls, instead of the general one.
        concurrent_calls: Option<NonZeroUsize> => at_most(concurrent_calls_per_tool());
        /// Limits instead of the general ones.
        #[serde(default)]
        limits: LimitsSection => by(demand_limits);
        /// Directories instead of the general ones.
        dir: Option<Vec<RawDirGrant>> => each(dir_grants::demand);
        /// Hosts instead of the general ones.
        http: Option<Vec<RawHttpGrant>> => each(http_grants::demand);
        /// Environment variables instead of the general ones.
        env: Option<Vec<RawEnvGrant>> => each(env_grants::demand);
        /// Names of secrets instead of the general ones.
        secrets: Option<Vec<String>> => each(secrets::demand_use);
        /// The access to artifacts instead of the general one.
        artifacts: Option<RawArtifacts> => by(grants::demand_artifacts);
    }
}

/// Demands what a component asks for.
pub(super) fn demand(raw: &RawTool, _: &str, review: &mut Review<'_>) {
    let (who, component) = (quoted(&raw.name), &raw.component);
    if !component.starts_with(BUILTIN) {
        if !Remote::is_meant(component) {
            review.reach(component);
        }
        let component = quoted(component);
        review.demand(
            Danger::Component,
            format!("runs the component {component} as {who}"),
        );
    }
    approval::demand(&raw.approval, &raw.approvals, &who, review);
    raw.demand_keys(&who, review);
}

/// Demands the limits of a component or a hook.
pub(super) fn demand_limits(raw: &LimitsSection, who: &str, review: &mut Review<'_>) {
    raw.demand(&format!(" for {who}"), review);
}

/// A component and its use.
#[derive(Clone, Debug)]
pub struct ToolConfig {
    /// The name of the component in `agent.lock` and in messages.
    pub name: String,
    /// Where the component is.
    pub source: ComponentSource,
    /// When calls need approval, and which decisions are offered.
    pub confirmations: Confirmations,
    /// True to trust the component's claim that repeating a call is harmless.
    pub accept_idempotent: bool,
    /// The tools to offer, by their names; absent for all of the component.
    pub exports: Option<Vec<String>>,
    /// The maximum of concurrent calls; absent for the sandbox's default.
    pub concurrent_calls: Option<NonZeroUsize>,
    /// The grants of its calls.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl ToolConfig {
    /// Creates a component with the general grants and limits.
    fn new(name: String, source: ComponentSource, general: &General<'_>) -> Self {
        Self {
            name,
            source,
            confirmations: Confirmations::default(),
            accept_idempotent: false,
            exports: None,
            concurrent_calls: None,
            grants: Arc::clone(general.grants),
            limits: general.limits.clone(),
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
    /// In a registry or at an address, or in the cache of pulled components.
    Remote(Box<Remote>),
}

impl fmt::Display for ComponentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => write!(f, "{BUILTIN}{name}"),
            Self::File(path) => path.display().fmt(f),
            Self::Remote(remote) => remote.fmt(f),
        }
    }
}

impl ComponentSource {
    /// Returns the file, which can change between two runs; none for other components.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Builtin(_) | Self::Remote(_) => None,
        }
    }

    /// True for a built-in component, which the operator accepted with the program; others are
    /// pinned in `agent.lock`.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        matches!(self, Self::Builtin(_))
    }

    /// Parses `component` where it is not a built-in one: a remote one or a file.
    pub(super) fn outside(text: &str, scope: Scope<'_>) -> Result<Self, ConfigError> {
        Self::remote("component", text)
            .unwrap_or_else(|| scope.resolve_path("component", text).map(Self::File))
    }

    /// Parses a component in a registry or at an address; absent for other texts.
    fn remote(key: &str, text: &str) -> Option<Result<Self, ConfigError>> {
        Remote::is_meant(text).then(|| {
            text.parse().map(Box::new).map(Self::Remote).map_err(|error| {
                let shown = text.escape_debug();
                config_error!(
                    key,
                    "`{shown}` {error}",
                    "write `oci://HOST/NAME:TAG`, followed by the digest `@sha256:HEX` if you know it, or \
                     `https://HOST/PATH#sha256=HEX`"
                )
                .with_value(text)
            })
        })
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
    let mut names = HashSet::new();
    let mut tools: Vec<ToolConfig> = match raw {
        None => DEFAULT_TOOLS
            .map(|name| {
                let source = ComponentSource::Builtin(name.to_owned());
                ToolConfig::new(name.to_owned(), source, general)
            })
            .into(),
        Some(raw) => resolve_all("tool", raw, |raw| {
            check_name(&raw.name, "the tool name `", "`", "[[tool]]")?;
            check_unique(&mut names, &raw.name, "tools", "`agent.lock`")?;
            if general.servers.iter().any(|server| server.name == raw.name) {
                return Err(super::mcp::name_is_taken(&raw.name));
            }
            resolve_one(raw, general, scope)
        })?,
    };
    for argument in arguments {
        let tool = from_argument(argument, &scope.environment.cwd, &tools, general)?;
        tools.push(tool);
    }
    Ok(tools)
}

fn resolve_one(
    raw: RawTool,
    general: &General<'_>,
    scope: Scope<'_>,
) -> Result<ToolConfig, ConfigError> {
    let name = raw.name;
    let lists = GrantsSection {
        dir: raw.dir,
        http: raw.http,
        env: raw.env,
        secrets: raw.secrets,
        artifacts: raw.artifacts,
    };
    let place = format!("`secrets` of `{name}`");
    resolve_steps! {
        source = match ComponentSource::builtin(&raw.component) {
            Some(builtin) => Ok(builtin),
            None => ComponentSource::outside(&raw.component, scope),
        };
        limits = limits(raw.limits, general.limits, &format!("[tool.limits] of `{name}`"));
        confirmations = Confirmations::resolve(raw.approval, raw.approvals, &name);
        grants = grants::of_lists(lists, general.grants, general.secrets, &place, scope);
    }
    dir_grants::check_apart("dir", &grants.dirs)?;
    Ok(ToolConfig {
        name,
        source,
        confirmations,
        accept_idempotent: raw.accept_idempotent,
        exports: raw.exports,
        concurrent_calls: raw.concurrent_calls,
        grants: Arc::new(grants),
        limits,
    })
}

/// Fills limits in, and refuses those with which no call could succeed. `place` names their table
/// in messages.
pub(super) fn limits(
    raw: LimitsSection,
    base: &Limits,
    place: &str,
) -> Result<Limits, ConfigError> {
    let limits = raw.over(base);
    let needed = [
        ("deadline-ms", limits.deadline_ms),
        ("memory-bytes", limits.memory_bytes),
        ("instances", limits.instances),
        ("max-transfer-bytes", limits.max_transfer_bytes),
        ("output-bytes", limits.output_bytes),
    ];
    match needed.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(config_error!(
            name,
            "`{name}` in {place} is 0, so no call could run",
            "set it to what a call needs, or leave it out"
        )
        .with_value(0)
        .within("limits")),
        None => Ok(limits),
    }
}

/// Resolves a component of the command line.
pub(super) fn from_argument(
    argument: &str,
    cwd: &Path,
    tools: &[ToolConfig],
    general: &General<'_>,
) -> Result<ToolConfig, ConfigError> {
    let path = cwd.join(argument);
    let (source, stem) = match ComponentSource::builtin(argument) {
        Some(builtin) => (builtin, argument.trim_start_matches(BUILTIN).to_owned()),
        None if Remote::is_meant(argument) => named_by_digest(argument)?,
        None if path.is_file() => {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            let stem = stem.to_string_lossy().into_owned();
            (ComponentSource::File(path), stem)
        }
        None => {
            let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let name = argument.escape_debug();
            return Err(config_error!(
                "--tool",
                "there is no component file `{name}` and no configured tool with this name (the tools are: {known})",
                "name a file, a configured tool, or a built-in one like `builtin:files`"
            )
            .with_value(argument));
        }
    };
    let is_taken = |name: &String| {
        tools.iter().any(|tool| tool.name == *name)
            || general.servers.iter().any(|server| server.name == *name)
    };
    let numbered = (2_u64..).map(|n| format!("{stem}-{n}"));
    let mut names = std::iter::once(stem.clone()).chain(numbered);
    let name = names.find(|name| !is_taken(name)).unwrap_or(stem);
    Ok(ToolConfig::new(name, source, general))
}

/// Returns a remote component that the command line names, with a name for it. To name it by
/// its digest is to accept it; a tag says nothing of what it is.
fn named_by_digest(argument: &str) -> Result<(ComponentSource, String), ConfigError> {
    let source = match ComponentSource::remote("--tool", argument) {
        Some(source) => source?,
        None => ComponentSource::File(argument.into()),
    };
    match &source {
        ComponentSource::Remote(remote) if remote.is_by_digest() => {
            let stem = remote.short_name();
            Ok((source, stem))
        }
        _ => {
            let shown = argument.escape_debug();
            Err(config_error!(
                "--tool",
                "`{shown}` has no digest, so a moved tag would run something else",
                "add it to the configuration with `agent-host add`, or name the digest: `oci://HOST/NAME@sha256:HEX`"
            )
            .with_value(argument))
        }
    }
}
