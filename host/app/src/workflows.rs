//! The workflows of a configuration, checked against its agents and tools. Runs none.

#[cfg(test)]
mod tests;

use crate::{Registry, config::AgentConfig, error::HostError, host::Host};
use agent_host_engine::{text::escape_line, tool::ToolRunner as _};
use agent_host_types::{
    failure::ToolFailure,
    tool::{Effect, RegisteredTool},
};
use agent_host_workflow::{
    check::{Catalog, Fault, check},
    definition::WorkflowDefinition,
    workflow::Workflow,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// A workflow of the configuration, and the result of its check.
#[derive(Debug)]
pub struct CheckedWorkflow {
    /// Its definition.
    pub definition: Arc<WorkflowDefinition>,
    /// The workflow as it is run, or all faults of the definition, in its order.
    pub checked: Result<Arc<Workflow>, Vec<Fault>>,
}

/// The agents and tools that the workflows of a configuration may name. They have no handlers, which
/// are closures of an embedder.
struct HostCatalog<'a> {
    registry: &'a Registry,
    /// The effects of the agents that some node names.
    agents: HashMap<&'a str, Effect>,
    tools: HashMap<&'a str, Effect>,
}

impl Catalog for HostCatalog<'_> {
    fn agent(&self, name: &str) -> Option<Effect> {
        self.agents.get(name).copied()
    }

    fn tool(&self, name: &str) -> Option<Effect> {
        self.tools.get(name).copied()
    }

    fn handler(&self, _: &str) -> Option<Effect> {
        None
    }

    fn check_tool_input(&self, name: &str, input: &Map<String, Value>) -> Result<(), String> {
        let checked = self.registry.validate(name, input);
        checked.map_err(|failure| input_reason(&failure))
    }
}

/// Returns why an input does not fit, on one line and without the words about the call, which a
/// model reads.
fn input_reason(failure: &ToolFailure) -> String {
    let message = failure.message();
    let reason = message.split_once(" did not run. ");
    escape_line(reason.map_or(message, |(_, reason)| reason))
}

impl Host {
    /// Returns one of the configured workflows, checked against the agents and tools of this host.
    ///
    /// # Errors
    /// There is no workflow with this name, or all faults of its definition.
    pub fn workflow(&self, name: &str) -> Result<Arc<Workflow>, HostError> {
        let CheckedWorkflow {
            definition,
            checked,
        } = self.checked_workflow(name)?;
        checked.map_err(|faults| HostError::FaultyWorkflow {
            name: definition.name.clone(),
            faults,
        })
    }

    /// Returns one of the configured workflows, with or without faults.
    ///
    /// # Errors
    /// There is no workflow with this name.
    pub fn checked_workflow(&self, name: &str) -> Result<CheckedWorkflow, HostError> {
        let workflows = &self.config().workflows;
        let found = workflows.iter().find(|workflow| workflow.name == name);
        let Some(definition) = found else {
            let known = workflows.iter().map(|workflow| workflow.name.clone());
            return Err(HostError::NoWorkflow {
                name: name.to_owned(),
                known: known.collect(),
            });
        };
        Ok(checked(
            definition,
            &self.catalog(std::slice::from_ref(definition)),
        ))
    }

    /// Returns all configured workflows, with or without faults, in the order of the configuration.
    #[must_use]
    pub fn workflows(&self) -> Vec<CheckedWorkflow> {
        let workflows = &self.config().workflows;
        let catalog = self.catalog(workflows);
        let workflows = workflows.iter();
        workflows
            .map(|definition| checked(definition, &catalog))
            .collect()
    }

    /// Returns what these workflows may name.
    fn catalog<'a>(&'a self, workflows: &'a [Arc<WorkflowDefinition>]) -> HostCatalog<'a> {
        let nodes = workflows.iter().flat_map(|workflow| &workflow.node);
        let named: BTreeSet<&str> = nodes.filter_map(|node| node.agent.as_deref()).collect();
        let agents = named.into_iter();
        let registry = self.registry();
        let tools = registry.tools().iter();
        HostCatalog {
            registry,
            agents: agents
                .filter_map(|name| Some((name, self.agent_effect(name)?)))
                .collect(),
            tools: tools
                .map(|tool| (tool.definition.name.as_str(), tool.effect))
                .collect(),
        }
    }

    /// Returns the strongest effect among the tools of an agent and of those that it can start, which
    /// is that of its loop; none if there is no such agent. No loop is created, since loops within
    /// loops take time by the power of `agent-depth`.
    fn agent_effect(&self, name: &str) -> Option<Effect> {
        // The tools of the program are read-only.
        let mut strongest = Effect::ReadOnly;
        let mut level = vec![self.definition(name)?];
        let mut seen = BTreeSet::from([name]);
        for _ in 0..self.config().agent_depth.max(1) {
            let effects = level.iter().filter_map(|agent| self.own_effect(agent));
            strongest = effects.fold(strongest, Effect::max);
            let started = level.iter().flat_map(|agent| &agent.agents);
            let new = started.filter(|name| seen.insert(name.as_str()));
            level = new.filter_map(|name| self.definition(name)).collect();
        }
        Some(strongest)
    }

    /// Returns the strongest effect among the tools that an agent has of the registry.
    fn own_effect(&self, agent: &AgentConfig) -> Option<Effect> {
        let has = |tool: &&RegisteredTool| {
            let name = &tool.definition.name;
            let globs = agent.tools.as_ref();
            globs.is_none_or(|globs| globs.iter().any(|glob| glob.matches(name)))
        };
        let tools = self.registry().tools().iter().filter(has);
        tools.map(|tool| tool.effect).max()
    }
}

fn checked(definition: &Arc<WorkflowDefinition>, catalog: &HostCatalog<'_>) -> CheckedWorkflow {
    CheckedWorkflow {
        definition: Arc::clone(definition),
        checked: check(definition, catalog).map(Arc::new),
    }
}
