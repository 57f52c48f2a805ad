//! Hooks: `[[hook]]`.

use super::{
    ComponentSource, ConfigError, GrantsSection, LimitsSection,
    dir_grants::{self, RawDirGrant},
    env_grants::{self, RawEnvGrant},
    grants,
    http_grants::{self, RawHttpGrant},
    lists::{check_count, check_name, check_unique},
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    secrets::{self, SecretConfig},
    section::{Section as _, section, values},
    tools,
};
use agent_host_engine::policy::{Grants, NameGlob};
use agent_host_registry::Remote;
use agent_host_types::{hook::HookPoint, limits::Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

/// The maximum of hooks, and of tools of one hook.
const MAX_HOOKS: usize = 100;

section! {
    /// `[[hook]]`.
    pub(super) struct RawHook {
        /// The name in `agent.lock`, in records and in messages.
        name: String => together;
        /// A file.
        component [Component]: String => together;
        /// The points at which it runs.
        points: Vec<HookPoint> => together;
        /// Globs of the tools before and after which it runs; absent for all.
        tools: Option<Vec<String>> => pinned;
        /// The action if the hook gives no verdict.
        #[serde(default)]
        on_error: OnHookError => together;
        /// Limits instead of the general ones.
        #[serde(default)]
        limits: LimitsSection => by(tools::demand_limits);
        /// Directories; absent for none.
        dir: Option<Vec<RawDirGrant>> => each(dir_grants::demand);
        /// Hosts; absent for none.
        http: Option<Vec<RawHttpGrant>> => each(http_grants::demand);
        /// Environment variables; absent for none.
        env: Option<Vec<RawEnvGrant>> => each(env_grants::demand);
        /// Names of secrets; absent for none.
        secrets: Option<Vec<String>> => each(secrets::demand_use);
    }
}

values!(HookPoint, OnHookError);

/// Demands a hook: it sees the conversation, and decides what is run and shown.
pub(super) fn demand(raw: &RawHook, _: &str, review: &mut Review<'_>) {
    let (who, component) = (quoted(&raw.name), quoted(&raw.component));
    if !Remote::is_meant(&raw.component) {
        review.reach(&raw.component);
    }
    let points: Vec<&str> = raw.points.iter().map(|point| point.as_str()).collect();
    let points = points.join(", ");
    review.demand(
        Danger::Component,
        format!("runs the component {component} as the hook {who} ({points})"),
    );
    if raw.on_error == OnHookError::Pass {
        let text = format!("continues where the hook {who} gives no verdict (on-error = \"pass\")");
        review.demand(Danger::Unchecked, text);
    }
    raw.demand_keys(&who, review);
}

/// The treatment of a hook that gives no verdict: it traps, takes too long, or returns something
/// that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnHookError {
    /// A request and a call are blocked, a result is withheld, and a reply ends the turn.
    #[default]
    Block,
    /// As if the hook had passed, with a warning in the log.
    Pass,
}

/// A hook and its use.
#[derive(Clone, Debug)]
pub struct HookConfig {
    /// The name in `agent.lock`, in records and in messages.
    pub name: String,
    /// Where the component is.
    pub source: ComponentSource,
    /// Where it runs; not empty.
    pub points: BTreeSet<HookPoint>,
    /// The tools before and after which it runs; empty for all.
    pub tools: Vec<NameGlob>,
    /// The action if the hook gives no verdict.
    pub on_error: OnHookError,
    /// The grants of its calls.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

/// Resolves the hooks, in the order of the file. `taken` are the names of components and servers.
///
/// # Errors
/// The hooks that cannot be used as they are configured.
pub(super) fn resolve(
    raw: Vec<RawHook>,
    taken: &[&str],
    limits: &Limits,
    secrets: &[SecretConfig],
    scope: Scope<'_>,
) -> Result<Vec<HookConfig>, ConfigError> {
    check_count(
        "hook",
        "hooks",
        raw.len(),
        MAX_HOOKS,
        "combine some of them in one component",
    )?;
    let mut names: HashSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    resolve_all("hook", raw, |raw| {
        check_name(&raw.name, "the hook name `", "`", "[[hook]]")?;
        let owners = "hooks, components or servers";
        check_unique(&mut names, &raw.name, owners, "`agent.lock`")?;
        resolve_one(raw, limits, secrets, scope)
    })
}

fn resolve_one(
    raw: RawHook,
    general: &Limits,
    secrets: &[SecretConfig],
    scope: Scope<'_>,
) -> Result<HookConfig, ConfigError> {
    let name = raw.name;
    let lists = GrantsSection {
        dir: raw.dir,
        http: raw.http,
        env: raw.env,
        secrets: raw.secrets,
        // A hook runs outside of a session.
        artifacts: None,
    };
    let place = format!("`secrets` of `{name}`");
    resolve_steps! {
        source = ComponentSource::outside(&raw.component, scope);
        points = points(&name, &raw.points);
        tools = globs(&name, raw.tools.as_deref().unwrap_or_default());
        limits = tools::limits(raw.limits, general, &format!("[hook.limits] of `{name}`"));
        grants = grants::of_lists(lists, &Grants::default(), secrets, &place, scope);
    }
    dir_grants::check_apart("dir", &grants.dirs)?;
    Ok(HookConfig {
        name,
        source,
        points,
        tools,
        on_error: raw.on_error,
        grants: Arc::new(grants),
        limits,
    })
}

fn points(name: &str, points: &[HookPoint]) -> Result<BTreeSet<HookPoint>, ConfigError> {
    if points.is_empty() {
        let all = HookPoint::ALL.map(|point| format!("\"{}\"", point.as_str()));
        let all = all.join(", ");
        return Err(config_error!(
            "points",
            "the hook `{name}` has no points and would never run",
            "list some of {all}"
        ));
    }
    Ok(points.iter().copied().collect())
}

fn globs(name: &str, globs: &[String]) -> Result<Vec<NameGlob>, ConfigError> {
    let count = globs.len();
    if count > MAX_HOOKS {
        return Err(config_error!(
            "tools",
            "the hook `{name}` lists {count} tools, and the maximum is {MAX_HOOKS}",
            "use globs, such as \"write_*\""
        ));
    }
    let parsed = globs.iter().map(|glob| {
        NameGlob::new(glob).map_err(|error| {
            config_error!(
                "tools",
                "invalid `tools` of the hook `{name}`: {error}",
                "list tools, or globs such as \"write_*\""
            )
            .with_value(glob.as_str())
        })
    });
    parsed.collect()
}
