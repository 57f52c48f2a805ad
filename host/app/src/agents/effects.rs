//! The strongest effect of each agent, with those of the agents that it can start: what the call
//! that starts it may do, known without making its loop.

use crate::{config::AgentConfig, registry::Registry};
use agent_host_types::tool::{Effect, RegisteredTool};
use std::{collections::HashMap, sync::Arc};

/// The strongest effects of the agents of a configuration.
#[derive(Debug)]
pub(crate) struct AgentEffects {
    /// The positions of the agents by name.
    index: HashMap<String, usize>,
    /// The effects of all agents that can start others to no depth, to one, and so on. The last
    /// level stands for all below it.
    levels: Vec<Vec<Effect>>,
}

impl AgentEffects {
    /// Computes the effects for agents with these tools to choose from, to this depth.
    pub(super) fn new(agents: &[Arc<AgentConfig>], registry: &Registry, depth: u8) -> Self {
        let names = agents.iter().zip(0..);
        let index: HashMap<String, usize> =
            names.map(|(agent, at)| (agent.name.clone(), at)).collect();
        let own: Vec<Effect> = agents.iter().map(|agent| own(agent, registry)).collect();
        let starts = |agent: &Arc<AgentConfig>| -> Vec<usize> {
            let names = agent.agents.iter();
            names.filter_map(|name| index.get(name).copied()).collect()
        };
        let starts: Vec<Vec<usize>> = agents.iter().map(starts).collect();
        let mut levels = vec![own.clone()];
        for _ in 0..depth {
            let before = levels.last().map_or(&[][..], Vec::as_slice);
            let with_started = own.iter().zip(&starts).map(|(own, starts)| {
                let started = starts.iter().filter_map(|at| before.get(*at));
                started.copied().max().unwrap_or(*own).max(*own)
            });
            let next: Vec<Effect> = with_started.collect();
            if next == before {
                break;
            }
            levels.push(next);
        }
        Self { index, levels }
    }

    /// Returns the position of an agent.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Returns the effect of an agent that has this many levels of agents from itself down.
    pub(super) fn at(&self, index: usize, depth: u8) -> Effect {
        let level = usize::from(depth.saturating_sub(1));
        let effects = self.levels.get(level).or(self.levels.last());
        let effect = effects.and_then(|effects| effects.get(index));
        effect.copied().unwrap_or(Effect::Effectful)
    }
}

/// Returns the strongest effect among the tools of an agent itself. Those of the program are
/// read-only.
fn own(agent: &AgentConfig, registry: &Registry) -> Effect {
    let has = |tool: &&RegisteredTool| match &agent.tools {
        Some(globs) => {
            let name = &tool.definition.name;
            globs.iter().any(|glob| glob.matches(name))
        }
        None => true,
    };
    let effects = registry.tools().filter(has).map(|tool| tool.effect);
    effects.max().unwrap_or(Effect::ReadOnly)
}
