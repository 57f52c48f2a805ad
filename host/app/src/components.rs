//! The components of a running host: their bytes, grants and limits.

use crate::{
    builtin::{BUILTINS, builtin, builtin_request},
    compile_report::CompileReport,
    config::{ComponentSource, Confirmations, ToolConfig},
    error::HostError,
    packages::Packages,
};
use agent_host_engine::policy::Grants;
use agent_host_sandbox::{ComponentBytes, NamedRequest, Sandbox, ToolComponent};
use agent_host_types::{
    limits::Limits,
    lock::{LockedComponent, LockedOrigin},
    reason::Reason,
    tool::{Effect, SummaryTemplate},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, sync::Arc};

/// A component in the registry.
#[derive(Debug)]
pub struct ComponentEntry {
    /// Its name in the configuration.
    pub name: String,
    /// Its source.
    pub source: ComponentSource,
    /// Where its bytes were loaded from.
    pub(crate) bytes: ComponentBytes,
    /// Its pin as a component of a registry; absent for others.
    pub origin: Option<LockedOrigin>,
    /// The loaded component.
    pub component: ToolComponent,
    /// The grants of its calls.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl ComponentEntry {
    /// Reads the bytes that it was loaded from again, for inspection.
    ///
    /// # Errors
    /// They cannot be read, or changed.
    pub fn bytes(&self) -> Result<impl AsRef<[u8]> + Send + use<>, HostError> {
        let bytes = self.bytes.clone();
        let read = bytes.read(self.component.digest());
        read.map_err(HostError::Reread)
    }

    /// Returns the template of the summary of a call of one of its tools: the host's for those of a
    /// built-in component.
    pub(crate) fn summary(&self, tool: &str) -> Option<SummaryTemplate> {
        match &self.source {
            ComponentSource::Builtin(name) => builtin(name)?.summary(tool),
            _ => self.component.summary(tool).cloned(),
        }
    }

    /// Returns the request that a call of one of its tools is about; `None` unless the component is
    /// built in, since the arguments of others may mean anything.
    pub(crate) fn named_request<'a>(
        &self,
        tool: &str,
        input: &'a Map<String, Value>,
    ) -> Option<NamedRequest<'a>> {
        match &self.source {
            ComponentSource::Builtin(_) => builtin_request(tool, input),
            _ => None,
        }
    }

    /// Returns its pin for `agent.lock`.
    #[must_use]
    pub fn locked(&self) -> LockedComponent {
        LockedComponent::new(
            self.component.digest(),
            self.component.imports(),
            self.component.definitions(),
        )
        .pulled_from(self.origin.clone())
    }
}

/// Loads a configured component.
///
/// # Errors
/// It cannot be read or loaded.
pub(crate) async fn load_one(
    sandbox: &Sandbox,
    tool: &ToolConfig,
    packages: Packages<'_>,
) -> Result<ComponentEntry, HostError> {
    let loaded = load_source(
        sandbox,
        &tool.name,
        &tool.source,
        ComponentKind::Calls,
        packages,
    )
    .await?;
    let component = loaded.component;
    // A plain component has functions that are no tools; a tool that is declared should be usable.
    if component.declares_effects() {
        for note in component.notes() {
            tracing::warn!("the component `{}`: {note}", tool.name);
        }
    }
    let component = match tool.concurrent_calls {
        Some(calls) => component.with_concurrent_calls(calls),
        None => component,
    };
    Ok(ComponentEntry {
        name: tool.name.clone(),
        source: tool.source.clone(),
        bytes: loaded.bytes,
        origin: loaded.origin,
        component,
        grants: Arc::clone(&tool.grants),
        limits: tool.limits.clone(),
    })
}

/// A component and where it was loaded from.
#[derive(Debug)]
pub(crate) struct LoadedSource {
    pub(crate) bytes: ComponentBytes,
    pub(crate) origin: Option<LockedOrigin>,
    pub(crate) component: ToolComponent,
}

/// The use of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    /// Its tools or its hooks are called.
    Calls,
    /// Its main function runs.
    Program,
}

/// Loads the component with this name in the configuration.
///
/// # Errors
/// It cannot be pulled, read or loaded.
pub(crate) async fn load_source(
    sandbox: &Sandbox,
    name: &str,
    source: &ComponentSource,
    kind: ComponentKind,
    packages: Packages<'_>,
) -> Result<LoadedSource, HostError> {
    let (bytes, pulled) = match source {
        ComponentSource::File(path) => (path.clone().into(), None),
        ComponentSource::Builtin(name) => (builtin_bytes(name)?, None),
        ComponentSource::Remote(remote) => {
            let pulled = packages.fetch(name, remote).await?;
            (pulled.file.clone().into(), Some(pulled))
        }
    };
    let compiling = CompileReport::new(name, packages.tell());
    let on_compile = |size| compiling.begin(size);
    let component = match kind {
        ComponentKind::Calls => sandbox.load_with(bytes.clone(), &on_compile).await,
        ComponentKind::Program => sandbox.load_program(bytes.clone(), &on_compile).await,
    };
    compiling.end(component.is_ok());
    let component = component.map_err(|error| HostError::Load {
        component: source.clone(),
        source: error,
    })?;
    if pulled
        .as_ref()
        .is_some_and(|pulled| pulled.digest != component.digest())
    {
        let why =
            format!("the component `{name}` changed in the cache while being loaded; try again");
        return Err(HostError::Passing(why.into()));
    }
    Ok(LoadedSource {
        bytes,
        origin: pulled.and_then(|pulled| pulled.origin),
        component,
    })
}

fn builtin_bytes(name: &str) -> Result<ComponentBytes, HostError> {
    let found = builtin(name).ok_or_else(|| {
        let known = BUILTINS.map(|known| format!("builtin:{}", known.name));
        let known = known.join(", ");
        Reason::from(format!(
            "unknown component `builtin:{name}`; the built-in ones are {known}"
        ))
    })?;
    Ok(Cow::Borrowed(found.bytes).into())
}

/// Refuses a rule for a tool that its component or server does not have, most likely a misspelled
/// one. `section` is the table of the rule, such as `[tool.approvals]`, and
/// `owner_kind` the kind of the owner, with its article.
pub(crate) fn check_confirmations(
    confirmations: &Confirmations,
    known: &[&str],
    section: &'static str,
    owner_kind: &'static str,
    owner: &str,
) -> Result<(), HostError> {
    let mut configured = confirmations.own.keys();
    match configured.find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(tool) => {
            let (tool, known) = (tool.escape_debug(), known.join(", "));
            Err(Reason::from(format!(
                "{section} of `{owner}` names `{tool}`, but {owner_kind} has no such tool in use; its tools are: \
                 {known}. Correct the name in agent.toml"
            ))
            .into())
        }
    }
}

/// Refuses a list of tools to offer with one that the component does not have.
pub(crate) fn check_exports(config: &ToolConfig, known: &[&str]) -> Result<(), HostError> {
    let mut listed = config.exports.iter().flatten();
    match listed.find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(tool) => {
            let (owner, tool, known) = (&config.name, tool.escape_debug(), known.join(", "));
            Err(Reason::from(format!(
                "`exports` of [[tool]] `{owner}` names the tool `{tool}`, which the component does not have; its \
                 tools are: {known}"
            ))
            .into())
        }
    }
}

/// Returns the effect to enforce. A third party's `idempotent` counts only if the operator accepted
/// it. The tools of a component that declares no effects are read-only if its grants cannot change
/// anything; the sandbox then holds them to it.
pub(crate) fn enforced_effect(
    declared: Effect,
    component: &ToolComponent,
    config: &ToolConfig,
) -> Effect {
    if !component.declares_effects() && !config.grants.may_change() {
        return Effect::ReadOnly;
    }
    let is_accepted = config.accept_idempotent || config.source.is_builtin();
    if declared == Effect::Idempotent && !is_accepted {
        Effect::Effectful
    } else {
        declared
    }
}
