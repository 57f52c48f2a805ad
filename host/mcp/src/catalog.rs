//! The tools that are served now: listed to clients, called through agents, replaced on reload.

use crate::{elicitation::Elicitation, listing::Listing};
use agent_host_app::{Host, Registry};
use agent_host_engine::{
    tool::ToolRunner as _,
    turn::{Agent, Prompts},
};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::watch;

/// The current [`ToolCatalog`].
#[derive(Debug)]
pub(crate) struct CurrentCatalog(watch::Sender<Arc<ToolCatalog>>);

impl CurrentCatalog {
    /// Serves the registry that the host has loaded.
    pub(crate) fn new(host: &Host) -> Self {
        let catalog = ToolCatalog::new(host, Arc::clone(host.registry()));
        Self(watch::Sender::new(Arc::new(catalog)))
    }

    /// Returns the tools to list and to call now.
    pub(crate) fn get(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.0.borrow())
    }

    /// Replaces the tools. Calls that run end with the registry that they started with.
    pub(crate) fn replace(&self, host: &Host, registry: Arc<Registry>) {
        let catalog = ToolCatalog::new(host, registry);
        self.0.send_replace(Arc::new(catalog));
    }

    /// Returns a receiver that is notified when the tools are replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<ToolCatalog>> {
        self.0.subscribe()
    }
}

/// The tools of one registry.
pub(crate) struct ToolCatalog {
    pub(crate) registry: Arc<Registry>,
    pub(crate) listing: Listing,
    /// For clients that support elicitation.
    asking: Agent,
    /// For other clients: denies calls that need approval.
    denying: Agent,
}

impl std::fmt::Debug for ToolCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolCatalog")
            .field("listing", &self.listing)
            .finish_non_exhaustive()
    }
}

impl ToolCatalog {
    fn new(host: &Host, registry: Arc<Registry>) -> Self {
        let has_network: HashMap<&str, bool> = registry
            .components()
            .flat_map(|entry| {
                let has_network = !entry.grants.http.is_empty();
                let definitions = entry.component.definitions().iter();
                definitions.map(move |definition| (definition.name.as_str(), has_network))
            })
            .collect();
        // A tool of no component is one of another server.
        let is_open = |name: &str| has_network.get(name).copied().unwrap_or(true);
        let listing = Listing::new(registry.tools(), is_open);
        let agent = |prompts| Agent {
            tools: Arc::clone(&registry) as Arc<_>,
            hooks: registry.engine_hooks(),
            ..host.agent(prompts)
        };
        Self {
            listing,
            asking: agent(Prompts::Ask),
            denying: agent(Prompts::Deny),
            registry,
        }
    }

    /// Returns the agent that runs the calls of a client.
    pub(crate) fn agent(&self, elicitation: Elicitation) -> &Agent {
        match elicitation {
            Elicitation::Unsupported => &self.denying,
            Elicitation::Push | Elicitation::Poll => &self.asking,
        }
    }
}
