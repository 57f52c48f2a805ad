//! A call and its result in full: arguments, result, figures, and requests to the gate.

use super::{SHOWN_CHARACTERS, indent};
use crate::terminal::{
    DIM, YELLOW, audit_line, bytes, escape_line, micros, one_line, outcome_style, summary,
    tool_name,
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    id::CallId,
    output::ToolResultOutput,
};
use serde_json::{Map, Value, json};

pub(super) fn call(tool: &str, input: &Map<String, Value>, id: &CallId, how: &str) -> String {
    format!(
        "{} {} {DIM}({}, {how}){DIM:#}",
        tool_name(tool),
        one_line(&json!(input).to_string(), SHOWN_CHARACTERS),
        escape_line(&id.0)
    )
}

pub(super) fn settled(
    tool: &str,
    output: &ToolResultOutput,
    rule: Option<&str>,
    accounting: &Accounting,
    audit: &[AuditEntry],
) -> String {
    let (style, _) = outcome_style(output);
    let mut lines = vec![
        format!("{style}{}{style:#} {}", output.tag(), tool_name(tool)),
        indent(&summary(output)),
    ];
    lines.extend(of_run(rule, accounting, audit));
    lines.join("\n       ")
}

/// Returns the lines about the run of a call: its figures, the rule that denied it, its requests to
/// the gate and what it printed.
pub(super) fn of_run(
    rule: Option<&str>,
    accounting: &Accounting,
    audit: &[AuditEntry],
) -> Vec<String> {
    let mut lines = vec![format!("{DIM}{}{DIM:#}", used(accounting))];
    let by = rule.map(|rule| format!("{YELLOW}denied{YELLOW:#} by {}", escape_line(rule)));
    lines.extend(by);
    lines.extend(audit.iter().map(audit_line));
    if !accounting.stdio.is_empty() {
        lines.push(format!(
            "{DIM}stdout and stderr:{DIM:#}\n{}",
            indent(&accounting.stdio)
        ));
    }
    lines
}

fn used(accounting: &Accounting) -> String {
    let wall = micros(accounting.wall_us);
    let memory = bytes(accounting.peak_memory_bytes);
    let mut parts = match &accounting.limits {
        Some(limits) => vec![
            format!("{wall} of at most {} ms", limits.deadline_ms),
            format!("{memory} of at most {} memory", bytes(limits.memory_bytes)),
            format!("result at most {}", bytes(limits.output_bytes)),
        ],
        // Outside the sandbox, or as in the tool's previous call.
        None if accounting.peak_memory_bytes == 0 => vec![wall],
        None => vec![wall, format!("{memory} memory")],
    };
    parts.push(format!(
        "{} in, {} out",
        bytes(accounting.bytes_in),
        bytes(accounting.bytes_out)
    ));
    if !accounting.hosts.is_empty() {
        parts.push(format!(
            "connected to {}",
            escape_line(&accounting.hosts.join(", "))
        ));
    }
    parts.join(", ")
}
