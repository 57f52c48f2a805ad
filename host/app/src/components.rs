//! The components of a running host: where their bytes come from, and what is set up for each.

use crate::{
    builtin::{BUILTINS, builtin},
    config::{ComponentSource, ToolConfig},
    error::OpenError,
};
use agent_host_core::{limits::Limits, lock::LockedComponent, policy::Grants, tool::Effect};
use agent_host_sandbox::{ComponentBytes, LoadFault, Sandbox, ToolComponent};
use std::{borrow::Cow, sync::Arc};

/// A component in the registry.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the configuration.
    pub name: String,
    /// Where it came from.
    pub source: ComponentSource,
    /// The loaded component.
    pub component: ToolComponent,
    /// What its calls may reach.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl Entry {
    /// Reads the bytes that it was loaded from, to look at them.
    ///
    /// # Errors
    /// When they cannot be read again, or there are others by now.
    pub fn bytes(&self) -> Result<impl AsRef<[u8]> + Send + use<>, OpenError> {
        bytes_of(&self.source)?
            .read(self.component.digest())
            .map_err(|error| OpenError::Failed(error.to_string()))
    }

    /// What `agent.lock` pins of it.
    #[must_use]
    pub fn locked(&self) -> LockedComponent {
        LockedComponent::new(
            self.component.digest(),
            self.component.imports(),
            self.component.definitions(),
        )
    }
}

/// Loads a component as it is configured.
///
/// # Errors
/// When it cannot be read or loaded.
pub(crate) async fn load_one(sandbox: &Sandbox, tool: &ToolConfig) -> Result<Entry, OpenError> {
    let bytes = bytes_of(&tool.source)?;
    let component = sandbox.load(bytes).await.map_err(|error| {
        let text = format!("cannot load the component {}: {error}", tool.source);
        match error.fault() {
            LoadFault::HostFailed => OpenError::Failed(text),
            _ => OpenError::usage(text),
        }
    })?;
    let component = match tool.concurrent_calls {
        Some(calls) => component.with_concurrent_calls(calls),
        None => component,
    };
    Ok(Entry {
        name: tool.name.clone(),
        source: tool.source.clone(),
        component,
        grants: Arc::clone(&tool.grants),
        limits: tool.limits.clone(),
    })
}

fn bytes_of(source: &ComponentSource) -> Result<ComponentBytes, OpenError> {
    match source {
        ComponentSource::Builtin(name) => match builtin(name) {
            Some(found) => Ok(Cow::Borrowed(found.bytes).into()),
            None => {
                let names: Vec<String> = BUILTINS
                    .iter()
                    .map(|known| format!("builtin:{}", known.name))
                    .collect();
                Err(OpenError::usage(format!(
                    "there is no `builtin:{name}`; there are {}",
                    names.join(", ")
                )))
            }
        },
        ComponentSource::File(path) => Ok(path.clone().into()),
    }
}

/// A rule for a tool that is not there would be a rule for nothing, most likely for another name than it has.
pub(crate) fn check_confirmations(entry: &Entry, config: &ToolConfig) -> Result<(), OpenError> {
    let names = || {
        let definitions = entry.component.definitions().iter();
        definitions.map(|definition| definition.name.as_str())
    };
    let mut configured = config.own_confirmations.keys();
    match configured.find(|name| !names().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => Err(OpenError::usage(format!(
            "[tool.approvals] of `{}` names `{}`, and the component has no such tool; it has {}. Correct the name in agent.toml",
            config.name,
            name.escape_debug(),
            names().collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// A third party's word that a repetition is harmless counts only when the operator accepted it.
pub(crate) fn enforced_effect(declared: Effect, config: &ToolConfig) -> Effect {
    match declared {
        Effect::Idempotent if config.source.is_file() && !config.accept_idempotent => {
            Effect::Effectful
        }
        Effect::ReadOnly | Effect::Idempotent | Effect::Effectful => declared,
    }
}
