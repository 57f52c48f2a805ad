//! The events of a workflow: its nodes, and how it ended.

use super::{SHOWN_CHARACTERS, calls::of_run, indent};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW, escape_line, one_line, tool_name};
use agent_host_types::{
    event::Event,
    workflow::{NodeFailure, WorkflowEnd, WorkflowSummary},
};
use serde_json::json;

/// Returns the text of an event of a workflow.
#[expect(
    clippy::too_many_lines,
    reason = "one short arm for each kind of event"
)]
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::WorkflowStarted { workflow, run, .. } => {
            let number = match run {
                1 => String::new(),
                run => format!(", run {run} of this session"),
            };
            format!("{BOLD}workflow{BOLD:#} {}{number}", escape_line(workflow))
        }
        Event::NodeIntended {
            node,
            iteration,
            attempt,
            tool,
            input,
            effect,
            rule,
            ..
        } => {
            let input = input.as_ref().map(|input| {
                let input = json!(input).to_string();
                format!(" {}", one_line(&input, SHOWN_CHARACTERS))
            });
            let by = rule
                .as_deref()
                .map(|rule| format!(", by {}", escape_line(rule)));
            let again = match attempt {
                1 => String::new(),
                attempt => format!(", attempt {attempt}"),
            };
            format!(
                "{BOLD}node{BOLD:#} {} {}{} {DIM}({}{}{again}){DIM:#}",
                name(node, *iteration),
                tool_name(tool),
                input.unwrap_or_default(),
                effect.as_str(),
                by.unwrap_or_default()
            )
        }
        Event::NodeSettled {
            node,
            iteration,
            output,
            accounting,
            audit,
            rule,
            ..
        } => {
            let name = name(node, *iteration);
            let head = match &output.error {
                None => format!("{GREEN}ended{GREEN:#} {name}"),
                Some(failure) => format!("{RED}failed{RED:#} {name} {}", cause(failure)),
            };
            let text = (!output.text.is_empty()).then(|| indent(&output.text));
            let lines = [head].into_iter().chain(text);
            let run = of_run(rule.as_deref(), accounting, audit);
            lines.chain(run).collect::<Vec<_>>().join("\n       ")
        }
        Event::NodeRetried {
            node,
            iteration,
            attempt,
            failure,
            ..
        } => format!(
            "{YELLOW}failed{YELLOW:#} {} in attempt {attempt}, retrying: {}",
            name(node, *iteration),
            cause(failure)
        ),
        Event::NodeSkipped { node } => format!("{DIM}skipped{DIM:#} {}", name(node, None)),
        Event::WorkflowEnded { summary } => ended(summary),
        _ => String::new(),
    }
}

fn name(node: &str, iteration: Option<u32>) -> String {
    match iteration {
        None => escape_line(node),
        Some(index) => format!("{}[{index}]", escape_line(node)),
    }
}

fn cause(failure: &NodeFailure) -> String {
    one_line(&failure.to_string(), SHOWN_CHARACTERS)
}

fn ended(summary: &WorkflowSummary) -> String {
    let how = match &summary.end {
        WorkflowEnd::Completed => "completed".to_owned(),
        WorkflowEnd::Halted { .. } => "was ended by a tool".to_owned(),
        WorkflowEnd::Cancelled => "was stopped".to_owned(),
        WorkflowEnd::Aborted { node, .. } => format!("ended by {}", escape_line(node)),
    };
    let counts = [
        (summary.done, "done"),
        (summary.failed.len() as u64, "failed"),
        (summary.skipped.len() as u64, "skipped"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!(
        "{BOLD}workflow ended{BOLD:#} {} {how} {DIM}({}){DIM:#}",
        escape_line(&summary.workflow),
        counts.join(", ")
    )
}
