//! The workflows of a configuration, checked against its agents and tools, and the loop that runs
//! one of them.

mod drawing;
#[cfg(test)]
mod tests;

/// The maximum length of a workflow's fault in a message, in bytes: a name in it may have any
/// length.
const MAX_FAULT_BYTES: usize = 1_000;

pub use drawing::{WorkflowDrawing, workflow_drawings};

use crate::{agents::ConfiguredAgents, error::HostError};
use agent_host_engine::{
    agents::Agents,
    ask_user::ask_user,
    text::{escape_line, sanitize},
    turn::{Agent, Prompts, Settings, StandardMode},
    workflow::{Graph, Handlers},
};
use agent_host_types::reason::Reason;
use agent_host_workflow::{check::Fault, definition::WorkflowDefinition, workflow::Workflow};
use std::{collections::BTreeSet, slice, sync::Arc};

/// The least depth of agents with which the nodes of a workflow can be agents.
const NODE_DEPTH: u8 = 2;

/// A workflow of the configuration, and the result of its check.
#[derive(Debug)]
pub struct CheckedWorkflow {
    /// Its definition.
    pub definition: Arc<WorkflowDefinition>,
    /// The workflow as it is run, or all faults of the definition, in its order.
    pub checked: Result<Arc<Workflow>, Vec<Fault>>,
}

impl ConfiguredAgents {
    /// Creates the loop that runs a workflow, as `run --workflow` does. Approvals are asked for
    /// only where both the caller and the configuration allow it.
    ///
    /// # Errors
    /// There is no workflow with this name, or all faults of its definition.
    pub fn workflow_agent(
        self: &Arc<Self>,
        name: &str,
        prompts: Prompts,
    ) -> Result<Agent, HostError> {
        let definition = self.workflow_definition(name)?;
        let mut agent = self.nodes_of(slice::from_ref(definition), prompts);
        let graph = Graph::check(definition, &agent, Handlers::new());
        let graph = graph.map_err(|faults| faulty(name, &faults))?;
        agent.workflow = Some(Arc::new(graph));
        Ok(agent)
    }

    /// Returns one of the configured workflows, checked against the agents and tools of the configuration.
    ///
    /// # Errors
    /// There is no workflow with this name, or all faults of its definition.
    pub fn workflow(self: &Arc<Self>, name: &str) -> Result<Arc<Workflow>, HostError> {
        let checked = self.checked_workflow(name)?.checked;
        checked.map_err(|faults| faulty(name, &faults))
    }

    /// Returns one of the configured workflows, with or without faults.
    ///
    /// # Errors
    /// There is no workflow with this name.
    pub fn checked_workflow(self: &Arc<Self>, name: &str) -> Result<CheckedWorkflow, HostError> {
        let definition = self.workflow_definition(name)?;
        let agent = self.nodes_of(slice::from_ref(definition), Prompts::Deny);
        Ok(checked(definition, &agent))
    }

    /// Returns all configured workflows, with or without faults, in the order of the configuration.
    #[must_use]
    pub fn workflows(self: &Arc<Self>) -> Vec<CheckedWorkflow> {
        let workflows = &self.config().workflows;
        let agent = self.nodes_of(workflows, Prompts::Deny);
        let workflows = workflows.iter();
        workflows
            .map(|definition| checked(definition, &agent))
            .collect()
    }

    fn workflow_definition(&self, name: &str) -> Result<&Arc<WorkflowDefinition>, HostError> {
        let workflows = &self.config().workflows;
        let found = workflows.iter().find(|workflow| workflow.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = workflows.iter().map(|known| &*known.name).collect();
            let hint = match known.as_slice() {
                [] => "define one as `[[workflow]]` in agent.toml".to_owned(),
                known => format!("the workflows are {}", known.join(", ")),
            };
            Reason::from(format!(
                "unknown workflow `{}`; {hint}",
                name.escape_debug()
            ))
            .into()
        })
    }

    /// Returns a loop with what the nodes of these workflows may name: the agents of the
    /// configuration, its tools, and the one that asks the user.
    fn nodes_of(
        self: &Arc<Self>,
        workflows: &[Arc<WorkflowDefinition>],
        prompts: Prompts,
    ) -> Agent {
        let nodes = workflows.iter().flat_map(|workflow| &workflow.node);
        let named: BTreeSet<&String> = nodes.filter_map(|node| node.agent.as_ref()).collect();
        let named: Vec<String> = named.into_iter().cloned().collect();
        let depth = self.config().agent_depth.max(NODE_DEPTH);
        let from = self.starter(prompts);
        let agents = self.agents_below(&named, &from, depth);
        // A call that waits for the user has a session as agents do.
        let agents = agents.unwrap_or_else(|| Arc::new(Agents::new(Vec::new(), self.journals())));
        let tools = self.registry().tool_set().clone().behind(ask_user());
        Agent {
            model: from.model,
            tools: Arc::new(tools.behind(agents.tools())),
            agents: Some(agents),
            hooks: Vec::new(),
            mode: Arc::new(StandardMode),
            workflow: None,
            program: None,
            key: self.key.clone(),
            settings: Settings {
                max_agent_depth: depth,
                context: None,
                ..self.settings(from.prompts)
            },
        }
    }
}

fn checked(definition: &Arc<WorkflowDefinition>, agent: &Agent) -> CheckedWorkflow {
    let graph = Graph::check(definition, agent, Handlers::new());
    CheckedWorkflow {
        definition: Arc::clone(definition),
        checked: graph.map(|graph| Arc::clone(graph.workflow())),
    }
}

/// Returns the error of a workflow with faults, a line for each.
fn faulty(name: &str, faults: &[Fault]) -> HostError {
    let lines = faults
        .iter()
        .map(|fault| sanitize(&escape_line(&fault.to_string()), MAX_FAULT_BYTES));
    let lines: String = lines.map(|line| format!("\n  {line}")).collect();
    Reason::from(format!(
        "cannot use the workflow `{name}`; correct it in agent.toml:{lines}"
    ))
    .into()
}
