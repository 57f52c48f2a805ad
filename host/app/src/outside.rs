//! Runs whose tools run outside of the host.

use crate::{Host, registry::Registry};
use agent_host_engine::{
    agents::{Agents, SubAgent},
    outside::run_outside,
    turn::Agent,
};
use std::sync::Arc;

impl Host {
    /// Has the caller of a loop run the tools of components and MCP servers, those of its agents,
    /// too: their calls pass policy and approval, are handed out, and wait for results. What the
    /// program itself offers the model runs on here: questions, artifacts, skills, the search for
    /// tools, and agents.
    #[must_use]
    pub fn run_outside(&self, agent: Agent) -> Agent {
        outside(self.registry(), agent)
    }
}

fn outside(registry: &Arc<Registry>, agent: Agent) -> Agent {
    let agents = agent.agents.map(|agents| {
        let (agents, journals) = agents.parts();
        let agents = agents.into_iter().map(|sub| {
            let registry = Arc::clone(registry);
            SubAgent {
                agent: sub.agent.map(move |agent| outside(&registry, agent)),
                ..sub
            }
        });
        Arc::new(Agents::new(agents.collect(), journals))
    });
    let is_outside = |tool: &str| registry.has(tool);
    Agent {
        tools: run_outside(agent.tools, is_outside),
        agents,
        ..agent
    }
}
