//! The components of a running host: their bytes, grants and limits.

use crate::{
    builtin::{BUILTINS, builtin},
    config::{ComponentSource, ToolConfig},
    error::HostError,
};
use agent_host_engine::policy::Grants;
use agent_host_sandbox::{ComponentBytes, Sandbox, ToolComponent};
use agent_host_types::{limits::Limits, lock::LockedComponent, tool::Effect};
use std::{borrow::Cow, sync::Arc};

/// A component in the registry.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the configuration.
    pub name: String,
    /// Its source.
    pub source: ComponentSource,
    /// The loaded component.
    pub component: ToolComponent,
    /// The grants of its calls.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl Entry {
    /// Reads the bytes that it was loaded from again, for inspection.
    ///
    /// # Errors
    /// They cannot be read, or changed.
    pub fn bytes(&self) -> Result<impl AsRef<[u8]> + Send + use<>, HostError> {
        bytes_of(&self.source)?
            .read(self.component.digest())
            .map_err(HostError::Reread)
    }

    /// Returns its pin for `agent.lock`.
    #[must_use]
    pub fn locked(&self) -> LockedComponent {
        LockedComponent::new(
            self.component.digest(),
            self.component.imports(),
            self.component.definitions(),
        )
    }
}

/// Loads a configured component.
///
/// # Errors
/// It cannot be read or loaded.
pub(crate) async fn load_one(sandbox: &Sandbox, tool: &ToolConfig) -> Result<Entry, HostError> {
    let bytes = bytes_of(&tool.source)?;
    let component = sandbox
        .load(bytes)
        .await
        .map_err(|source| HostError::Load {
            component: tool.source.clone(),
            source,
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

fn bytes_of(source: &ComponentSource) -> Result<ComponentBytes, HostError> {
    match source {
        ComponentSource::Builtin(name) => match builtin(name) {
            Some(found) => Ok(Cow::Borrowed(found.bytes).into()),
            None => {
                let known = BUILTINS
                    .iter()
                    .map(|known| format!("builtin:{}", known.name));
                Err(HostError::UnknownBuiltin {
                    name: name.clone(),
                    known: known.collect(),
                })
            }
        },
        ComponentSource::File(path) => Ok(path.clone().into()),
    }
}

/// Refuses a rule for a tool that the component does not have, most likely a misspelled one.
pub(crate) fn check_confirmations(entry: &Entry, config: &ToolConfig) -> Result<(), HostError> {
    let names = || {
        let definitions = entry.component.definitions().iter();
        definitions.map(|definition| definition.name.as_str())
    };
    let mut configured = config.own_confirmations.keys();
    match configured.find(|name| !names().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => Err(HostError::UnknownApproval {
            section: "[tool.approvals]",
            owner: config.name.clone(),
            owner_kind: "the component",
            tool: name.clone(),
            known: names().map(str::to_owned).collect(),
        }),
    }
}

/// Returns the effect to enforce. A third party's `idempotent` counts only if the operator accepted
/// it.
pub(crate) fn enforced_effect(declared: Effect, config: &ToolConfig) -> Effect {
    match declared {
        Effect::Idempotent if config.source.is_file() && !config.accept_idempotent => {
            Effect::Effectful
        }
        Effect::ReadOnly | Effect::Idempotent | Effect::Effectful => declared,
    }
}
