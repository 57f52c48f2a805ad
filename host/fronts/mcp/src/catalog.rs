//! The tools that are served now: listed to clients, called through agents, replaced on reload.

use crate::{elicitation::Elicitation, listing::ServedTools};
use agent_host_app::{ConfiguredAgents, HostError, Registry};
use agent_host_engine::{
    agents::Agents,
    turn::{Agent, Prompts},
};
use agent_host_types::tool::ToolRuntime;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::watch;

/// The current [`ToolCatalog`].
#[derive(Debug)]
pub(crate) struct CurrentCatalog {
    current: watch::Sender<Arc<ToolCatalog>>,
    served: ServedAgents,
}

/// The agents that clients can start, which keep the tools that the server began with.
#[derive(Debug)]
struct ServedAgents {
    asking: Option<Arc<Agents>>,
    denying: Option<Arc<Agents>>,
}

impl CurrentCatalog {
    /// Serves the loaded registry, and the configured agents with these names.
    ///
    /// # Errors
    /// There is no agent with one of the names.
    pub(crate) fn new(agents: &Arc<ConfiguredAgents>, names: &[String]) -> Result<Self, HostError> {
        let served = ServedAgents {
            asking: agents.served_agents(names, Prompts::Ask)?,
            denying: agents.served_agents(names, Prompts::Deny)?,
        };
        let catalog = ToolCatalog::new(agents, Arc::clone(agents.registry()), &served);
        Ok(Self {
            current: watch::Sender::new(Arc::new(catalog)),
            served,
        })
    }

    /// Returns the tools to list and to call now.
    pub(crate) fn get(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.current.borrow())
    }

    /// Replaces the tools. Calls that run end with the registry that they started with.
    pub(crate) fn replace(&self, agents: &Arc<ConfiguredAgents>, registry: Arc<Registry>) {
        let catalog = ToolCatalog::new(agents, registry, &self.served);
        self.current.send_replace(Arc::new(catalog));
    }

    /// Returns a receiver that is notified when the tools are replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<ToolCatalog>> {
        self.current.subscribe()
    }
}

/// The tools of one registry.
pub(crate) struct ToolCatalog {
    pub(crate) registry: Arc<Registry>,
    pub(crate) listing: ServedTools,
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
    fn new(agents: &Arc<ConfiguredAgents>, registry: Arc<Registry>, served: &ServedAgents) -> Self {
        let has_network: HashMap<&str, bool> = registry
            .components()
            .flat_map(|entry| {
                let has_network = !entry.grants.http.is_empty();
                let definitions = entry.component.definitions().iter();
                definitions.map(move |definition| (definition.name.as_str(), has_network))
            })
            .collect();
        // A tool of no component is one of another server, or an agent.
        let is_open = |name: &str| has_network.get(name).copied().unwrap_or(true);
        let agent = |prompts, served: &Option<Arc<Agents>>| {
            let tools = registry.tool_set().clone();
            let own = served.iter().flat_map(|agents| agents.tools());
            let mut agent = Agent {
                tools: Arc::new(tools.behind(own)),
                agents: served.clone(),
                hooks: registry.engine_hooks(),
                ..agents.agent(prompts)
            };
            agent.settings.flow = agent.settings.flow.for_client();
            agent
        };
        let asking = agent(Prompts::Ask, &served.asking);
        Self {
            listing: ServedTools::new(asking.tools.tools(), is_open),
            asking,
            denying: agent(Prompts::Deny, &served.denying),
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

    /// Whether calls of this tool start an agent.
    pub(crate) fn is_agent(&self, tool: &str) -> bool {
        let found = self.asking.tools.get(tool);
        found.is_some_and(|known| known.tool.runtime == ToolRuntime::Agent)
    }
}
