//! Describes an MCP server and the tools that it declares.

use super::tool_lines;
use crate::{
    args::InspectArgs,
    commands::{explain::shell_quoted, tool_list},
    terminal::{BOLD, Terminal, escape_line, json_text, section},
};
use agent_host_app::ServerEntry;
use agent_host_engine::policy::CallRule;
use serde_json::json;

pub(super) async fn show(
    entry: &ServerEntry,
    rules: &[CallRule],
    args: &InspectArgs,
    terminal: &Terminal,
) {
    let server = &entry.server;
    let config = server.config();
    let features = server.features();
    let (identity, version) = (config.reach.identity(), server.version().await);
    if args.json {
        let tools = server.definitions().iter();
        let tools = tools.map(|tool| tool_list::as_json(tool, tool.effect, rules));
        return terminal.println(&json_text(&json!({
            "server": identity,
            "protocol": version,
            "tools": tools.collect::<Vec<_>>(),
            "resources": features.resources.map(|count| count.to_string()),
            "resource-templates": features.templates.map(|count| count.to_string()),
            "prompts": features.prompts.map(|count| count.to_string()),
            "notes": server.notes().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "deadline-ms": config.deadline.as_millis() as u64,
            "output-bytes": config.output_bytes,
            "concurrent-calls": config.concurrent_calls,
        })));
    }
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
    let worst = format!("  everything that {identity} can access: it is outside of the sandbox");
    section(&mut lines, "At worst", [escape_line(&worst)]);
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
