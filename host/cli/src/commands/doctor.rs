//! `agent-host doctor`: whether this machine and this configuration can run an agent, one line for each thing that can be
//! wrong.

use super::configure;
use crate::{
    args::DoctorArgs,
    exit::{Exit, Failure},
    terminal::{GREEN, RED, Terminal, YELLOW, escape_line},
};
use agent_host_app::{
    CheckedModel, Config, ModelAnswer, Overrides, Registry, Role, ServerEntry, check_models,
    open_store, project,
};
use agent_host_engine::tool::ToolRunner as _;
use agent_host_journal::Retention;
use agent_host_sandbox::{Allocator, CompileCache, Confinement};

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
        ("state", state(&config).await),
        ("approvals", approvals(&config).await),
        ("cache", cache(&config)),
    ];
    let models = models(&config).await;
    let mut exit = Exit::Done;
    for (name, finding) in findings
        .into_iter()
        .chain(models)
        .chain(tools(&config).await)
    {
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
            escape_line(&text)
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

async fn state(config: &Config) -> Finding {
    let sessions = async { open_store(config, Retention::default()).await?.list().await };
    match sessions.await {
        Ok(rows) => Finding::Good(format!(
            "{} ({} sessions)",
            config.state_dir.display(),
            rows.len()
        )),
        Err(error) => Finding::Bad(error.to_string()),
    }
}

async fn approvals(config: &Config) -> Finding {
    let approvals = async {
        open_store(config, Retention::default())
            .await?
            .approvals()
            .await
    };
    match approvals.await {
        Ok(approvals) => {
            let project = project(config);
            let here = approvals.iter().filter(|known| known.project == project);
            Finding::Good(format!("{} remembered for this project", here.count()))
        }
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

/// The models, and every other provider that is configured.
async fn models(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings: Vec<(&'static str, Finding)> = Vec::new();
    if let Some(error) = &config.models.selection_error {
        findings.push(("model", Finding::Bad(error.to_string())));
    } else if config.models.first.is_none() {
        let text = "none is configured; `run` plays the scripted tour. Set a provider's key, `model` in agent.toml, or pass --model";
        findings.push(("model", Finding::Mind(text.to_owned())));
    }
    for checked in check_models(config).await {
        let name = match checked.role {
            Role::First => "model",
            Role::Fallback => "fallback",
            Role::Unused => "provider",
        };
        findings.push((name, answer(&checked)));
    }
    findings
}

fn answer(checked: &CheckedModel) -> Finding {
    let CheckedModel { role, name, answer } = checked;
    let bad = |text: String| match role {
        Role::First | Role::Fallback => Finding::Bad(text),
        // Nobody asks it.
        Role::Unused => Finding::Mind(text),
    };
    match answer {
        ModelAnswer::Local => Finding::Good(name.clone()),
        ModelAnswer::Answers {
            base_url,
            key_source,
            listed,
        } => {
            let key = match key_source {
                Some(source) => format!("with the key in {source}"),
                None => "without a key".to_owned(),
            };
            let answers = format!("{name} answers at {base_url}, {key}");
            match (role, listed) {
                (Role::Unused, _) => Finding::Good(format!("{answers}; no model of it is used")),
                (_, Some(true)) => Finding::Good(answers),
                (_, Some(false)) => Finding::Mind(format!(
                    "{answers}; its list of models does not have this one, which may be another name of one that it has"
                )),
                (_, None) => Finding::Mind(format!("{answers}; it has no list of models")),
            }
        }
        ModelAnswer::Unusable(why) => bad(format!("{name}: {why}")),
        ModelAnswer::Fails(error) => bad(format!("{name}: {error}")),
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
    let mut findings = vec![
        ("sandbox", sandbox),
        ("compiler", compiler),
        ("tools", Finding::Good(names.join(", "))),
    ];
    for entry in registry.servers() {
        findings.push(("MCP server", Finding::Good(server(entry).await)));
    }
    for name in registry.absent_servers() {
        let text = format!("{name} is not there, and its tools are left out; stderr says why");
        findings.push(("MCP server", Finding::Mind(text)));
    }
    findings
}

async fn server(entry: &ServerEntry) -> String {
    let server = &entry.server;
    let version = server.version().await.unwrap_or_default();
    format!(
        "{}: {} tools, protocol {version}, {}",
        entry.config.name,
        server.definitions().len(),
        server.config().reach.identity()
    )
}
