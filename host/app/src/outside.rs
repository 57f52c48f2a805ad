//! Runs whose tools run outside of the host.

use crate::{agents::ConfiguredAgents, registry::Registry};
use agent_host_engine::{
    agents::{Agents, SubAgent},
    tool_set::ToolSet,
    turn::Agent,
};
use std::sync::Arc;

impl ConfiguredAgents {
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
    let mut tools = ToolSet::clone(&agent.tools);
    tools.run_outside(|tool| registry.has(tool));
    Agent {
        tools: Arc::new(tools),
        agents,
        ..agent
    }
}
