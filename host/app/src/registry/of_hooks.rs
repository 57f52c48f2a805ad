//! The hooks of a registry.

use super::Registry;
use crate::{
    components::ComponentEntry,
    config::HookConfig,
    error::HostError,
    hooks::{self, HookEntry},
    packages::Packages,
};
use agent_host_engine::hook::Hook;
use agent_host_types::reason::Reason;
use futures_util::future::try_join_all;
use std::sync::Arc;

impl Registry {
    /// Adds the hooks, in their order, and refuses hooks among the tools.
    pub(super) async fn add_hooks(
        &mut self,
        configured: &[HookConfig],
        packages: Packages<'_>,
    ) -> Result<(), HostError> {
        let is_hook = |entry: &&Arc<ComponentEntry>| {
            entry.component.is_hook() && entry.component.definitions().is_empty()
        };
        if let Some(entry) = self.entries.iter().find(is_hook) {
            let name = &entry.name;
            return Err(Reason::from(format!(
                "the component `{name}` has hooks but no tools. Move it from [[tool]] to [[hook]] in agent.toml, and \
                 add its `points`"
            ))
            .into());
        }
        let loaded = configured
            .iter()
            .map(|hook| hooks::load(&self.sandbox, hook, packages));
        self.hooks = try_join_all(loaded).await?;
        Ok(())
    }

    /// Returns the components: those of tools, and those of hooks.
    pub fn components(&self) -> impl Iterator<Item = &Arc<ComponentEntry>> {
        let hooks = self.hooks.iter().map(|hook| &hook.component);
        self.entries.iter().chain(hooks)
    }

    /// Returns the hooks, in the order in which they run.
    #[must_use]
    pub fn hooks(&self) -> &[HookEntry] {
        &self.hooks
    }

    /// Returns the hooks as the engine asks them.
    #[must_use]
    pub fn engine_hooks(&self) -> Vec<Arc<dyn Hook>> {
        let hooks = self.hooks.iter();
        hooks.map(|hook| hook.with_secrets(&self.secrets)).collect()
    }
}
