//! `agent-host run --show-prompt`: prints the system prompt and the tools that the model would get,
//! exactly as they are sent, without asking it.

use super::{configure, run::prompts};
use crate::{
    args::{OutputFormat, RunArgs},
    exit::{Exit, Failure},
    terminal::{Terminal, json_text},
};
use agent_host_app::{Host, Overrides};
use serde_json::{Value, json};

pub(super) async fn show_prompt(args: RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let prompts = prompts(&args, terminal);
    let overrides = Overrides {
        model: args.model,
        system: args.system,
        tools: args.tools,
        ..Overrides::default()
    };
    let host = Host::open(configure(args.config, overrides)?).await?;
    let agents = host.agents();
    let (agent, system) = agents.named_agent(args.agent.as_deref(), prompts)?;
    let tools = agent.tools.tools().map(|tool| &tool.definition);
    let tools: Vec<Value> = tools
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            })
        })
        .collect();
    if args.output_format != OutputFormat::Text {
        terminal.println(&json_text(&json!({ "system": system, "tools": tools })));
        return Ok(Exit::Done);
    }
    terminal.println_untrusted(system.as_deref().unwrap_or("(no system prompt)"));
    terminal.println(&format!("\n{} tools:", tools.len()));
    for tool in &tools {
        let part = |key: &str| tool.get(key).cloned().unwrap_or_default();
        let (name, description) = (part("name"), part("description"));
        terminal.println_untrusted(&format!(
            "\n{}: {}\n{}",
            name.as_str().unwrap_or_default(),
            description.as_str().unwrap_or_default(),
            part("input_schema")
        ));
    }
    Ok(Exit::Done)
}
