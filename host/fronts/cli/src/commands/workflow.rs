//! `agent-host workflow`: lists, checks and draws the workflows of the configuration. Runs none.

use super::configure;
use crate::{
    args::{GraphFormat, WorkflowArgs, WorkflowCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, GREEN, RED, Terminal, counted, escape, one_line},
};
use agent_host_app::{CheckedWorkflow, Config, ConfiguredAgents, Host, Overrides, config::LeftOut};
use agent_host_journal::Retention;
use agent_host_workflow::graph::{self, States};
use serde_json::json;
use std::sync::Arc;

/// The maximum length of a description in a list, in characters.
const MAX_DESCRIPTION: usize = 80;

/// The maximum length of a fault, in characters: a name in it may have any length.
const MAX_FAULT: usize = 1_000;

/// The note where nothing can be listed or checked.
const NONE: &str = "The configuration has no [[workflow]].";

pub(super) async fn workflow(args: WorkflowArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    match args.command {
        WorkflowCommand::List { json } => {
            if config.workflows.is_empty() && !json {
                terminal.note(NONE);
            }
            list(&config, json, terminal);
            Ok(Exit::Done)
        }
        // A check that passes what it could not read would be believed.
        WorkflowCommand::Check { .. } if matches!(config.left_out, Some(LeftOut::Unusable(_))) => {
            Err(Failure::usage(
                "cannot check the workflows, because agent.toml is invalid; correct it first",
            ))
        }
        WorkflowCommand::Check { name: None, json } if config.workflows.is_empty() => {
            if !json {
                terminal.note(NONE);
            }
            Ok(Exit::Done)
        }
        WorkflowCommand::Check { name, json } => {
            let agents = open(config).await?;
            let workflows = match name {
                Some(name) => vec![agents.checked_workflow(&name)?],
                None => agents.workflows(),
            };
            report(&workflows, json, terminal)
        }
        WorkflowCommand::Graph { name, format } => {
            let workflow = open(config).await?.workflow(&name)?;
            let draw = match format {
                GraphFormat::Text => graph::text,
                GraphFormat::Mermaid => graph::mermaid,
                GraphFormat::Dot => graph::dot,
            };
            terminal.print(&escape(&draw(&workflow, &States::none())));
            Ok(Exit::Done)
        }
    }
}

/// Opens the tools, without pruning sessions in the background.
async fn open(mut config: Config) -> Result<Arc<ConfiguredAgents>, Failure> {
    config.session.keep = Retention::default();
    let host = Host::open_tools(config).await?;
    Ok(Arc::clone(host.agents()))
}

fn list(config: &Config, as_json: bool, terminal: &Terminal) {
    for workflow in &config.workflows {
        let nodes = workflow.node.len();
        let as_value = || {
            json!({
                "name": workflow.name,
                "nodes": nodes,
                "description": workflow.description,
            })
        };
        let as_line = || {
            let name = &workflow.name;
            let description = one_line(&workflow.description, MAX_DESCRIPTION);
            let nodes = counted(nodes as u64, "node");
            let line = format!("{BOLD}{name:<20}{BOLD:#} {nodes:>12}");
            match description.as_str() {
                "" => line,
                description => format!("{line}  {DIM}{description}{DIM:#}"),
            }
        };
        terminal.println_as(as_json, as_value, as_line);
    }
}

/// Prints a line for each workflow, and its faults below or in it.
fn report(
    workflows: &[CheckedWorkflow],
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let mut faulty = 0;
    for CheckedWorkflow {
        definition,
        checked,
    } in workflows
    {
        let name = &definition.name;
        let faults = checked.as_ref().err().map_or(&[][..], Vec::as_slice);
        faulty += usize::from(!faults.is_empty());
        let as_value = || {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            json!({ "name": name, "faults": faults })
        };
        let as_lines = || {
            let head = match faults.len() {
                0 => format!("{GREEN}ok{GREEN:#}"),
                found => format!("{RED}{}{RED:#}", counted(found as u64, "fault")),
            };
            let mut lines = format!("{BOLD}{name}{BOLD:#}: {head}");
            for fault in faults {
                lines.push_str("\n  ");
                lines.push_str(&one_line(&fault.to_string(), MAX_FAULT));
            }
            lines
        };
        terminal.println_as(as_json, as_value, as_lines);
    }
    match faulty {
        0 => Ok(Exit::Done),
        faulty => Err(Failure::usage(format!(
            "{} of {} cannot run; correct agent.toml",
            faulty,
            counted(workflows.len() as u64, "workflow")
        ))),
    }
}
