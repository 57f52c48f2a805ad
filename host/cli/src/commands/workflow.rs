//! `agent-host workflow`: lists, checks and draws the workflows of the configuration. Runs none.

use super::configure;
use crate::{
    args::{GraphFormat, WorkflowArgs, WorkflowCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, GREEN, RED, Terminal, escape, one_line},
};
use agent_host_app::{CheckedWorkflow, Config, Host, Overrides};
use agent_host_journal::Retention;
use agent_host_workflow::graph::{self, States};
use serde_json::json;

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
        WorkflowCommand::Check { name: None } if config.workflows.is_empty() => {
            terminal.note(NONE);
            Ok(Exit::Done)
        }
        WorkflowCommand::Check { name } => {
            let host = open(config).await?;
            let workflows = match name {
                Some(name) => vec![host.checked_workflow(&name)?],
                None => host.workflows(),
            };
            report(&workflows, terminal)
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
async fn open(mut config: Config) -> Result<Host, Failure> {
    config.session.keep = Retention::default();
    Ok(Host::open_tools(config).await?)
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
            let nodes = count(nodes, "node");
            let line = format!("{BOLD}{name:<20}{BOLD:#} {nodes:>12}");
            match description.as_str() {
                "" => line,
                description => format!("{line}  {DIM}{description}{DIM:#}"),
            }
        };
        terminal.println_as(as_json, as_value, as_line);
    }
}

/// Prints a line for each workflow, and its faults below.
fn report(workflows: &[CheckedWorkflow], terminal: &Terminal) -> Result<Exit, Failure> {
    let mut faulty = 0;
    for CheckedWorkflow {
        definition,
        checked,
    } in workflows
    {
        let name = &definition.name;
        let Err(faults) = checked else {
            terminal.println(&format!("{BOLD}{name}{BOLD:#}: {GREEN}ok{GREEN:#}"));
            continue;
        };
        faulty += 1;
        let found = count(faults.len(), "fault");
        terminal.println(&format!("{BOLD}{name}{BOLD:#}: {RED}{found}{RED:#}"));
        for fault in faults {
            let fault = one_line(&fault.to_string(), MAX_FAULT);
            terminal.println(&format!("  {fault}"));
        }
    }
    match faulty {
        0 => Ok(Exit::Done),
        faulty => Err(Failure::usage(format!(
            "{} of {} cannot be run; correct agent.toml",
            faulty,
            count(workflows.len(), "workflow")
        ))),
    }
}

/// Returns a number of things in words.
fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}
