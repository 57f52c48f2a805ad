//! The tools, agents and workflows of the configuration.

use crate::Service;
use agent_host_engine::turn::Prompts;
use agent_host_types::tool::{SummaryTemplate, ToolDefinition};
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

/// The tools that the agent of the file's top level is offered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tools {
    /// The tools, in the order for the model.
    tools: Vec<ToolRow>,
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolRow {
    /// The definition for the model.
    #[serde(flatten)]
    definition: ToolDefinition,
    /// The template of the line that tells a call to the user, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<SummaryTemplate>,
}

/// The agents of the configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Agents {
    /// The agents.
    agents: Vec<AgentRow>,
    /// The models that a session of the default agent may choose; without a choice it has the first.
    models: Vec<String>,
}

/// An agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentRow {
    /// The name.
    name: String,
    /// The description.
    description: String,
    /// The models that its sessions may choose; without a choice they have the first.
    models: Vec<String>,
}

/// The workflows of the configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Workflows {
    /// The workflows.
    workflows: Vec<WorkflowRow>,
}

/// A workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkflowRow {
    /// The name.
    name: String,
    /// The description.
    description: String,
    /// The faults of its definition; it runs if there is none.
    faults: Vec<String>,
}

/// Lists the tools.
pub(crate) async fn tools(State(service): State<Service>) -> Json<Tools> {
    let agent = service.host.agents().agent(Prompts::Ask);
    let tools = agent.tools.tools();
    Json(Tools {
        tools: tools
            .map(|tool| ToolRow {
                definition: tool.definition.as_ref().clone(),
                summary: tool.summary.clone(),
            })
            .collect(),
    })
}

/// Lists the agents.
pub(crate) async fn agents(State(service): State<Service>) -> Json<Agents> {
    let config = service.host.config();
    let agents = config.agent_definitions.iter();
    Json(Agents {
        models: config.models.offered(),
        agents: agents
            .map(|agent| AgentRow {
                name: agent.name.clone(),
                description: agent.description.as_ref().to_owned(),
                models: agent.models.as_ref().unwrap_or(&config.models).offered(),
            })
            .collect(),
    })
}

/// Lists the workflows.
pub(crate) async fn workflows(State(service): State<Service>) -> Json<Workflows> {
    let row = |workflow: agent_host_app::CheckedWorkflow| WorkflowRow {
        name: workflow.definition.name.clone(),
        description: workflow.definition.description.clone(),
        faults: match workflow.checked {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        },
    };
    let workflows = service.host.agents().workflows();
    Json(Workflows {
        workflows: workflows.into_iter().map(row).collect(),
    })
}
