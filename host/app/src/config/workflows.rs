//! `[[workflow]]`: graphs of agents and tools. Names and sizes are checked here, and the nodes by
//! [`ConfiguredAgents`](crate::ConfiguredAgents::workflow), which know the tools: a workflow that is
//! not run stops nothing else.

use super::{
    ConfigError, lists,
    problem::{Problems, config_error, key_path, resolve_all},
    review::{Review, quoted},
    rules::has_date,
    section::values,
};
use agent_host_workflow::{
    check::MAX_NODES,
    definition::{DEFAULT_AT_ONCE, ForeachDefinition, NodeDefinition, WorkflowDefinition},
};
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};

/// The maximum number of workflows.
const MAX_WORKFLOWS: usize = 100;

values!(WorkflowDefinition);

/// Demands what a workflow asks for besides the file. It runs when the user names it, within the
/// budgets of a run. Its agents and tools are those of the file, and their calls are decided on
/// like others.
pub(super) fn demand(raw: &WorkflowDefinition, _: &str, review: &mut Review<'_>) {
    let WorkflowDefinition {
        name,
        // Read by the user.
        description: _,
        reduce: _,
        node,
    } = raw;
    for node in node {
        let NodeDefinition {
            id,
            agent: _,
            tool: _,
            handler: _,
            next: _,
            mode: _,
            message: _,
            inputs: _,
            input: _,
            foreach,
            on_error: _,
            needs: _,
            // A bound where there was none.
            timeout_ms: _,
            // Of read-only and idempotent nodes alone; each attempt is spent of the budgets.
            retry: _,
        } = node;
        if let Some(ForeachDefinition {
            over: _,
            mode: _,
            at_once,
        }) = foreach
        {
            let of = format!(
                " of the node {} of the workflow {}",
                quoted(id),
                quoted(name)
            );
            review.at_most("at_once", &of, *at_once, DEFAULT_AT_ONCE);
        }
    }
}

/// Resolves the workflows. Their names differ.
pub(super) fn resolve(
    raw: Vec<WorkflowDefinition>,
) -> Result<Vec<Arc<WorkflowDefinition>>, ConfigError> {
    let fix = "remove some of them";
    lists::check_count("workflow", "workflows", raw.len(), MAX_WORKFLOWS, fix)?;
    let mut names = HashSet::new();
    resolve_all("workflow", raw, |workflow| {
        let mut problems = Problems::default();
        problems.take(check_name(&workflow.name, &mut names));
        problems.take(check_count(&workflow));
        for (index, node) in workflow.node.iter().enumerate() {
            let key = format!("node[{index}]");
            problems.take(check_input(node).map_err(|error| error.within(&key)));
        }
        problems.or(Arc::new(workflow))
    })
}

/// Checks the name of a workflow, and adds it to those before it.
fn check_name(name: &str, names: &mut HashSet<String>) -> Result<(), ConfigError> {
    lists::check_name(name, "the workflow name `", "`", "[[workflow]]")?;
    match names.insert(name.to_owned()) {
        true => Ok(()),
        false => Err(config_error!(
            "name",
            "two workflows are named `{name}`",
            "rename one of them"
        )
        .with_value(name)),
    }
}

fn check_count(workflow: &WorkflowDefinition) -> Result<(), ConfigError> {
    let count = workflow.node.len();
    match count > MAX_NODES {
        false => Ok(()),
        true => Err(config_error!(
            "node",
            "the workflow has {count} nodes, and the maximum is {MAX_NODES}",
            "split it into several workflows"
        )),
    }
}

/// Refuses values of TOML that JSON does not have.
fn check_input(node: &NodeDefinition) -> Result<(), ConfigError> {
    let mut problems = Problems::default();
    for (name, value) in node.input.iter().flatten() {
        let key = format!("input.{}", key_path(name));
        if has_date(value) {
            problems.take::<()>(Err(config_error!(
                &key,
                "`input` contains a date, but JSON has no dates",
                "write it as a literal in both kinds of quotes, like \"'2026-01-31'\""
            )));
        }
        if has_null(value) {
            problems.take::<()>(Err(config_error!(
                &key,
                "`input` contains `inf` or `nan`, but JSON has no such numbers",
                "write another value"
            )));
        }
    }
    problems.or(())
}

/// Whether a value has a null, which TOML does not have: it was a number that is not finite.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
