//! The configuration, the settings of the loop and the view of a run, from its arguments.

use super::{files::read_bounded, reply};
use crate::{
    args::{PermissionPrompts, RunArgs},
    exit::Failure,
    terminal::{LiveView, Terminal},
};
use agent_host_app::{Host, Overrides};
use agent_host_engine::{
    schema::AnswerSchema,
    turn::{Agent, Prompts, Settings, UntilEnd, UntilTool},
};
use agent_host_types::turn::Durability;
use std::{path::Path, sync::Arc};

/// The maximum size of an `--output-schema` file, in bytes.
const MAX_SCHEMA_BYTES: u64 = 1024 * 1024;

/// Returns what the arguments change of the configuration, besides those of every command.
pub(super) fn overrides(args: &RunArgs) -> Overrides {
    Overrides {
        model: args.model.clone(),
        effort: args.effort,
        record: args.record.clone(),
        system: args.system.clone(),
        tools: args.tools.clone(),
        max_turns: args.max_turns,
        max_total_tokens: args.max_total_tokens,
        max_usd: args.max_usd,
        max_tool_calls: args.max_tool_calls,
        allow: args.rules.allowed(),
        deny: args.rules.deny.clone(),
        ..Overrides::default()
    }
}

/// Returns whether calls that need approval are asked about or denied.
pub(in crate::commands) fn prompts(args: &RunArgs, terminal: &Terminal) -> Prompts {
    match args.permission_prompts {
        Some(PermissionPrompts::None) => Prompts::Deny,
        Some(PermissionPrompts::Later) => Prompts::Ask,
        Some(PermissionPrompts::Ask) | None if terminal.can_ask() => Prompts::Ask,
        // A caller that answers from another process can do so again.
        None if reply::answers_session(args) => Prompts::Ask,
        Some(PermissionPrompts::Ask) | None => Prompts::Deny,
    }
}

/// Applies the arguments to the settings of the loop.
///
/// # Errors
/// The output schema cannot be used.
pub(super) fn apply(args: &RunArgs, settings: &mut Settings) -> Result<(), Failure> {
    settings.accepts_changed_workflow = args.accept_changed;
    settings.takes_some_decisions = true;
    if args.durable {
        settings.durability = Durability::Strict;
    }
    settings.until_tool = until_tool(args).or(settings.until_tool.take());
    let schema = args.output_schema.as_deref().map(output_schema);
    settings.output_schema = schema.transpose()?;
    Ok(())
}

/// Returns the view of a run. It knows the tools of the agent, and those that only other agents of
/// the configuration have.
pub(super) fn view(args: &RunArgs, host: &Host, agent: &Agent, terminal: &Terminal) -> LiveView {
    let tools = host.agents().registry().tool_set().clone();
    let view = LiveView::new(*terminal, args.output_format, args.quiet);
    let mut view = view.with_tools(tools.behind(agent.tools.entries().cloned()));
    if !args.plain {
        view = view.with_markdown();
    }
    if args.verbose {
        view = view.with_reasoning();
    }
    if agent.workflow.is_some() {
        view = view.with_nodes();
    }
    view
}

fn until_tool(args: &RunArgs) -> Option<UntilTool> {
    (!args.until_tool.is_empty()).then(|| UntilTool {
        tools: args.until_tool.clone(),
        end: if args.until_any_call {
            UntilEnd::AnyCall
        } else {
            UntilEnd::FirstSuccess
        },
    })
}

fn output_schema(file: &Path) -> Result<Arc<AnswerSchema>, Failure> {
    let fault = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot use the output schema {}: {why}; pass a file with one JSON Schema",
            file.display()
        ))
    };
    let text = read_bounded(file, MAX_SCHEMA_BYTES).map_err(|error| fault(&error))?;
    let schema: serde_json::Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
    let schema = AnswerSchema::compile(&schema).map_err(|error| fault(&error))?;
    Ok(Arc::new(schema))
}
