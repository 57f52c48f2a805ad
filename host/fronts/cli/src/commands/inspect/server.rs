//! Describes an MCP server and the tools that it declares.

use super::tool_lines;
use crate::{
    args::InspectArgs,
    commands::{explain::shell_quoted, tool_list},
    terminal::{BOLD, Terminal, escape_line, json_text, section},
};
use agent_host_app::{ComponentServer, ServerEntry, grant_lines};
use agent_host_engine::policy::CallRule;
use agent_host_mcp_client::Reach;
use serde_json::{Value, json};

pub(super) async fn show(
    entry: &ServerEntry,
    rules: &[CallRule],
    args: &InspectArgs,
    terminal: &Terminal,
) {
    let server = &entry.server;
    let config = server.config();
    let features = server.features();
    let version = server.version().await;
    if args.json {
        let shown = as_json(entry, version.as_deref(), rules);
        return terminal.println(&json_text(&shown));
    }
    let identity = entry.identity();
    let component = entry.config.component();
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", escape_line(&entry.config.name)),
        format!("  server      {}", escape_line(&identity)),
        format!(
            "  protocol    {}",
            escape_line(&version.unwrap_or_default())
        ),
        format!("  deadline    {} ms", config.deadline.as_millis()),
        format!("  at once     {} calls", config.concurrent_calls),
    ];
    for (what, count) in [
        ("resources", features.resources),
        ("templates", features.templates),
        ("prompts", features.prompts),
    ] {
        if let Some(count) = count {
            lines.push(format!("  {what:<11} {count}"));
        }
    }
    for note in server.notes() {
        lines.push(format!("  note        {}", escape_line(&note.to_string())));
    }
    match component {
        Some(component) => {
            lines.extend(sandbox_lines(component, form(&config.reach), args.limits));
        }
        None => {
            let worst =
                format!("  everything that {identity} can access: it is outside of the sandbox");
            section(&mut lines, "At worst", [escape_line(&worst)]);
        }
    }
    let tools = server.definitions().iter().map(|tool| (tool, tool.effect));
    if args.schemas {
        for (tool, effect) in tools {
            lines.extend(tool_lines(tool, effect, rules));
        }
    } else {
        section(&mut lines, "Tools", tool_list::rows(tools, rules));
    }
    terminal.println(&lines.join("\n"));
    if !args.schemas {
        terminal.note(&format!(
            "\nMore: agent-host inspect {} --schemas",
            shell_quoted(&entry.config.name)
        ));
    }
}

fn as_json(entry: &ServerEntry, version: Option<&str>, rules: &[CallRule]) -> Value {
    let server = &entry.server;
    let config = server.config();
    let features = server.features();
    let tools = server.definitions().iter();
    let tools = tools.map(|tool| tool_list::as_json(tool, tool.effect, rules));
    let component = entry.config.component().map(|component| {
        json!({
            "file": component.source.to_string(),
            "form": form(&config.reach),
            "grants": component.grants.to_json(),
            "limits": component.limits,
            "idle-seconds": component.idle.as_secs(),
            "lifetime-seconds": component.lifetime.as_secs(),
        })
    });
    json!({
        "server": config.reach.identity(),
        "component": component,
        "protocol": version,
        "tools": tools.collect::<Vec<_>>(),
        "resources": features.resources.map(|count| count.to_string()),
        "resource-templates": features.templates.map(|count| count.to_string()),
        "prompts": features.prompts.map(|count| count.to_string()),
        "notes": server.notes().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "deadline-ms": config.deadline.as_millis() as u64,
        "output-bytes": config.output_bytes,
        "concurrent-calls": config.concurrent_calls,
    })
}

/// Returns how a server in the sandbox is spoken to.
fn form(reach: &Reach) -> &'static str {
    match reach {
        Reach::Component(component) => component.form,
        Reach::Command(_) | Reach::Http(_) => "",
    }
}

/// Formats what a server in the sandbox is granted, and its bounds.
fn sandbox_lines(component: &ComponentServer, form: &str, with_limits: bool) -> Vec<String> {
    let mut lines = vec![
        format!("  runs        in the sandbox, as {form}"),
        format!(
            "  ends        after {} s without a call, and at an age of {} s; the next call starts it again",
            component.idle.as_secs(),
            component.lifetime.as_secs()
        ),
    ];
    let granted = grant_lines(&component.grants).into_iter();
    let granted = granted.map(|line| format!("  {}", escape_line(&line)));
    section(&mut lines, "Is granted", granted);
    if with_limits {
        let limits = json!(component.limits);
        let limits = limits.as_object().into_iter().flatten().map(super::limit);
        section(&mut lines, "Limits", limits);
    }
    lines
}
