//! `agent-host doctor`: whether this machine and this configuration can run an agent, one line for each thing that can be
//! wrong.

use super::configure;
use crate::{
    args::DoctorArgs,
    exit::{Exit, Failure},
    terminal::{GREEN, RED, Terminal, YELLOW, harmless_line},
};
use agent_host_app::{ApprovalFile, Config, Overrides, Registry, project};
use agent_host_core::tool::ToolRunner as _;
use agent_host_sandbox::{Allocator, CompileCache, Confinement};
use agent_host_store::Store;

/// How a check came out.
enum Finding {
    Good(String),
    Mind(String),
    Bad(String),
}

pub(super) async fn doctor(args: DoctorArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let findings = [
        ("configuration", configuration(&config)),
        ("state", state(&config)),
        ("approvals", approvals(&config)),
        ("cache", cache(&config)),
        ("model", model(&config).await),
    ];
    let mut exit = Exit::Done;
    for (name, finding) in findings.into_iter().chain(tools(&config).await) {
        let (style, mark, text) = match finding {
            Finding::Good(text) => (GREEN, "✓", text),
            Finding::Mind(text) => (YELLOW, "!", text),
            Finding::Bad(text) => {
                exit = Exit::Failed;
                (RED, "✗", text)
            }
        };
        terminal.println(&format!(
            "{style}{mark}{style:#} {name:<14} {}",
            harmless_line(&text)
        ));
    }
    Ok(exit)
}

fn configuration(config: &Config) -> Finding {
    Finding::Good(match &config.file {
        Some(file) => file.display().to_string(),
        None => "no agent.toml; the defaults hold".to_owned(),
    })
}

fn state(config: &Config) -> Finding {
    match Store::open(&config.state_dir).and_then(|store| store.list()) {
        Ok(rows) => Finding::Good(format!(
            "{} ({} sessions)",
            config.state_dir.display(),
            rows.len()
        )),
        Err(error) => Finding::Bad(error.to_string()),
    }
}

fn approvals(config: &Config) -> Finding {
    match ApprovalFile::of(&config.state_dir).rules(project(config)) {
        Ok(rules) => Finding::Good(format!("{} remembered for this project", rules.len())),
        Err(error) => Finding::Bad(error.to_string()),
    }
}

fn cache(config: &Config) -> Finding {
    let folder = config.cache_dir.display();
    match CompileCache::open(&config.cache_dir) {
        Ok(Some(_)) => Finding::Good(folder.to_string()),
        Ok(None) => Finding::Mind(format!(
            "{folder} does not exist yet; the first run makes it"
        )),
        Err(error) => Finding::Bad(format!("{folder} is not used: {error}")),
    }
}

async fn model(config: &Config) -> Finding {
    match agent_host_app::model(config).await {
        Ok(model) if config.model.is_some() => {
            let provenance = model.provenance();
            Finding::Good(format!("{}:{} is configured; it was not asked", provenance.provider, provenance.model))
        }
        Ok(_) => Finding::Mind("none is configured; `run` plays the scripted tour. Set `model` in agent.toml or pass --model".to_owned()),
        Err(error) => Finding::Bad(format!("{error:#}")),
    }
}

async fn tools(config: &Config) -> Vec<(&'static str, Finding)> {
    let registry = match Registry::open(config).await {
        Ok(registry) => registry,
        Err(error) => return vec![("tools", Finding::Bad(format!("{error:#}")))],
    };
    let sandbox = match registry.allocator() {
        Allocator::Pooling => Finding::Good("pooled instances".to_owned()),
        Allocator::OnDemand { why } => Finding::Mind(format!("instances on demand, slower: {why}")),
    };
    let names: Vec<&str> = registry
        .tools()
        .iter()
        .map(|tool| tool.definition.name.as_str())
        .collect();
    let compiler = match registry.check_compiler().await {
        Ok(Some(Confinement::SystemCalls)) => Finding::Good(
            "in a child process; its memory, time and system calls are limited".to_owned(),
        ),
        Ok(Some(Confinement::Limits)) => Finding::Mind(
            "in a child process; its memory and time are limited, but this kernel filters no system calls".to_owned(),
        ),
        Ok(None) => Finding::Mind("in this process, without limits".to_owned()),
        Err(error) => Finding::Bad(error.to_string()),
    };
    vec![
        ("sandbox", sandbox),
        ("compiler", compiler),
        ("tools", Finding::Good(names.join(", "))),
    ]
}
