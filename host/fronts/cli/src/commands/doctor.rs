//! `agent-host doctor`: checks whether this machine and configuration can run an agent; prints one
//! line per check.

mod triggers;

use super::{configure, explain::shell_quoted, run::UNTOLD, tool_names, trust::unusable_text};
use crate::{
    args::DoctorArgs,
    exit::{Exit, Failure},
    terminal::{GREEN, RED, Terminal, YELLOW, bytes, counted, date, escape_line, one_line},
};
use agent_host_app::{
    AuthorityEntry, CheckedModel, Config, Entries, Environment, HookConfig, HookEntry, HostError,
    ModelAnswer, OnHookError, Overrides, Registry, Role, ServerEntry, Skill, TrustFile,
    check_models, check_rules,
    config::{LeftOut, Untrusted},
    open_maintenance, open_store, project,
};
use agent_host_engine::policy::{NameGlob, RuleDecision};
use agent_host_journal::Retention;
use agent_host_sandbox::{Allocator, CompileCache, Confinement};
use agent_host_serve::TokenFile;
use serde_json::{Value, json};
use std::{fmt::Display, path::Path, sync::Arc};

/// The maximum number of lines about what a file asks for that is not trusted.
const MAX_DEMANDS: usize = 30;

/// The maximum length of each of them, in characters.
const MAX_DEMAND: usize = 240;

/// The maximum number of lines about entries of a file that are ignored.
const MAX_IGNORED: usize = 10;

/// The result of a check.
enum Finding {
    Ok(String),
    Warning(String),
    Error(String),
}

impl Finding {
    fn of(checked: Result<String, HostError>) -> Self {
        match checked {
            Ok(text) => Self::Ok(text),
            Err(error) => Self::Error(error.to_string()),
        }
    }
}

pub(super) async fn doctor(args: DoctorArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let is_named = args.config.config.is_some();
    let config = configure(args.config, Overrides::default())?;
    let findings = [
        ("configuration", configuration(&config)),
        ("state", state(&config).await),
        ("approvals", approvals(&config).await),
        ("signatures", signatures(&config).await),
        ("waiting", waiting(&config).await),
        ("cache", cache(&config)),
    ];
    let models = models(&config).await;
    let findings: Vec<(&str, Finding)> = findings
        .into_iter()
        .chain(trust(&config, is_named)?)
        .chain(signed_files(&config)?)
        .chain(models)
        .chain(instructions(&config))
        .chain(agents(&config))
        .chain(triggers::findings(&config).await)
        .chain(tools(&config).await)
        .collect();
    let is_failed = findings
        .iter()
        .any(|(_, finding)| matches!(finding, Finding::Error(_)));
    terminal.println_as(
        args.json,
        || as_json(&findings, is_failed),
        || {
            let lines = findings.iter().map(|(name, finding)| line(name, finding));
            lines.collect::<Vec<_>>().join("\n")
        },
    );
    Ok(if is_failed { Exit::Failed } else { Exit::Done })
}

fn line(name: &str, finding: &Finding) -> String {
    let (style, mark, text) = match finding {
        Finding::Ok(text) => (GREEN, "✓", text),
        Finding::Warning(text) => (YELLOW, "!", text),
        Finding::Error(text) => (RED, "✗", text),
    };
    format!("{style}{mark}{style:#} {name:<14} {}", escape_line(text))
}

fn as_json(findings: &[(&str, Finding)], is_failed: bool) -> Value {
    let checks = findings.iter().map(|(name, finding)| {
        let (status, text) = match finding {
            Finding::Ok(text) => ("ok", text),
            Finding::Warning(text) => ("warning", text),
            Finding::Error(text) => ("error", text),
        };
        json!({ "check": name, "status": status, "text": text })
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ok": !is_failed,
        "checks": checks.collect::<Vec<_>>(),
    })
}

fn configuration(config: &Config) -> Finding {
    if config.left_out.is_some() && config.files().is_empty() {
        return Finding::Warning("agent.toml is ignored; the defaults apply".to_owned());
    }
    let files = config.files();
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    Finding::Ok(match files.is_empty() {
        false => files.join(", over "),
        true => "no agent.toml; the defaults apply".to_owned(),
    })
}

/// Says whether the configuration of the directory is trusted, where it needs that: a line for each
/// thing that it asks for where it is not.
fn trust(config: &Config, is_named: bool) -> Result<Vec<(&'static str, Finding)>, Failure> {
    let Some(left_out) = &config.left_out else {
        let trusted = match is_named {
            true => None,
            false => Untrusted::found(&Environment::from_process()?)?,
        };
        let found = trusted.map(|trusted| {
            let path = trusted.path.display();
            let text = format!("{path} is trusted; to revoke that: agent-host trust --revoke");
            ("trust", Finding::Ok(text))
        });
        return Ok(found.into_iter().collect());
    };
    let left_out = match left_out {
        LeftOut::Untrusted(untrusted) => untrusted,
        LeftOut::Unusable(file) => {
            let (path, why) = (file.path.display(), unusable_text(file));
            let text = format!("{path} is not trusted and is ignored: {why}");
            return Ok(vec![("trust", Finding::Warning(text))]);
        }
    };
    let path = left_out.path.display();
    let accept = format!("{path} is not trusted and is ignored; to accept it: agent-host trust");
    let shown = left_out.demands.iter().take(MAX_DEMANDS);
    let shown = shown.map(|demand| one_line(&format!("it {demand}"), MAX_DEMAND));
    let more = match left_out.demands.len().saturating_sub(MAX_DEMANDS) {
        0 => None,
        more => Some(format!("and {more} more; see the file")),
    };
    let texts = std::iter::once(accept).chain(shown).chain(more);
    Ok(texts
        .map(|text| ("trust", Finding::Warning(text)))
        .collect())
}

/// The agents and workflows of the configuration.
fn agents(config: &Config) -> Vec<(&'static str, Finding)> {
    let agents = config
        .agent_definitions
        .iter()
        .map(|agent| agent.name.as_str());
    let workflows = config
        .workflows
        .iter()
        .map(|workflow| workflow.name.as_str());
    let agents: Vec<&str> = agents.collect();
    let workflows: Vec<&str> = workflows.collect();
    let mut findings = Vec::new();
    if !agents.is_empty() {
        findings.push(("agents", Finding::Ok(agents.join(", "))));
    }
    if !workflows.is_empty() {
        let names = workflows.join(", ");
        let text = format!("{names} (faults: agent-host workflow check)");
        findings.push(("workflows", Finding::Ok(text)));
    }
    findings
}

async fn state(config: &Config) -> Finding {
    let sessions = async {
        let store = open_store(config, Retention::default()).await?;
        Ok::<_, HostError>(store.list().await?)
    };
    let place = match &config.store.database {
        None => config.state_dir.display().to_string(),
        Some(_) => "the database of [store]".to_owned(),
    };
    let described = sessions
        .await
        .map(|rows| format!("{place} ({})", counted(rows.len() as u64, "session")));
    Finding::of(described)
}

async fn approvals(config: &Config) -> Finding {
    let store = open_store(config, Retention::default());
    let project = Some(project(config));
    let here = async { Ok::<_, HostError>(store.await?.approvals(project).await?.len()) };
    Finding::of(
        here.await
            .map(|here| format!("{here} remembered for this project")),
    )
}

/// Checks that hosts of the store wrote every row that confers authority.
async fn signatures(config: &Config) -> Finding {
    let unsigned = async {
        let store = open_maintenance(config, &config.store).await?;
        Ok::<_, HostError>(store.unsigned().await?)
    };
    let rows = match unsigned.await {
        Ok(rows) => rows,
        Err(error) => return Finding::Error(error.to_string()),
    };
    match rows.first() {
        None => Finding::Ok("it signs every row of the store that grants authority".to_owned()),
        Some(first) => Finding::Warning(format!(
            "{} ignored, not written by a host of this store; the first is {first}; list them: agent-host store check",
            match rows.len() {
                1 => "1 row is".to_owned(),
                count => format!("{count} rows are"),
            }
        )),
    }
}

/// Names the tokens and the trusted files that are ignored, since their signature is not valid.
fn signed_files(config: &Config) -> Result<Vec<(&'static str, Finding)>, Failure> {
    let tokens = TokenFile::in_state_dir(&config.state_dir).read();
    let tokens = ignored(tokens, |token| {
        let name = &token.name;
        format!("revoke it, and create it again: agent-host serve token revoke {name}")
    });
    let trust = TrustFile::for_environment(&Environment::from_process()?);
    let trust = trust.map_or_else(|| Ok(Entries::default()), |file| file.read());
    let trust = ignored(trust, |trusted| {
        let directory = trusted.path.parent().unwrap_or(Path::new("/"));
        let directory = shell_quoted(&directory.display().to_string());
        format!(
            "review it; to accept it: agent-host trust {directory}; to remove it: agent-host trust --revoke {directory}"
        )
    });
    let tokens = tokens.into_iter().map(|finding| ("tokens", finding));
    let trust = trust.into_iter().map(|finding| ("trust", finding));
    Ok(tokens.chain(trust).collect())
}

/// Returns a line for each entry of a file that is ignored, with the command that mends it.
fn ignored<E: AuthorityEntry>(
    read: Result<Entries<E>, impl Display>,
    mend: impl Fn(&E) -> String,
) -> Vec<Finding> {
    let entries = match read {
        Ok(entries) => entries,
        Err(error) => return vec![Finding::Error(error.to_string())],
    };
    let shown = entries.ignored.iter().take(MAX_IGNORED);
    let lines = shown.map(|known| {
        let entry = &known.entry;
        format!("{}; {}", E::FILE.unsigned(entry.name()), mend(entry))
    });
    let count = entries.ignored.len();
    let more = (count > MAX_IGNORED).then(|| {
        let file = E::FILE.name();
        format!("{file} has {count} entries without a valid signature; the first {MAX_IGNORED} are listed above")
    });
    lines.chain(more).map(Finding::Warning).collect()
}

/// The sessions that wait, of whichever directory: those of schedules and webhooks have no terminal
/// that would show it.
async fn waiting(config: &Config) -> Finding {
    let store = open_store(config, Retention::default());
    let waiting = async { Ok::<_, HostError>(store.await?.list_waiting().await?) };
    let waiting = match waiting.await {
        Ok(waiting) => waiting,
        Err(error) => return Finding::Error(error.to_string()),
    };
    let Some(oldest) = waiting.iter().map(|session| session.last_ms).min() else {
        return Finding::Ok("no session waits for an approval, an answer or results".to_owned());
    };
    let count = match waiting.len() {
        1 => "1 session waits".to_owned(),
        count => format!("{count} sessions wait"),
    };
    Finding::Warning(format!(
        "{count} for an approval, an answer or results, the oldest since {} UTC: agent-host sessions list --waiting",
        date(oldest)
    ))
}

fn cache(config: &Config) -> Finding {
    let dir = config.cache_dir.display();
    match CompileCache::open(&config.cache_dir) {
        Ok(Some(_)) => Finding::Ok(dir.to_string()),
        Ok(None) => Finding::Warning(format!("{dir} does not exist; the first run creates it")),
        Err(error) => Finding::Error(format!("{dir} is not used: {error}")),
    }
}

/// Returns a line for a skill.
fn skill(skill: &Arc<Skill>) -> (&'static str, Finding) {
    let files = counted(skill.files.len() as u64, "file");
    let size = bytes(skill.size_bytes());
    let text = format!(
        "{}: {} ({files}, {size}, {})",
        skill.name,
        skill.description,
        skill.locked().digest()
    );
    ("skill", Finding::Ok(text))
}

/// The skills of the configuration, and instructions that are not read.
fn instructions(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings: Vec<_> = config.skills.iter().map(skill).collect();
    if config.untold_agents_file().is_some() {
        findings.push(("instructions", Finding::Warning(UNTOLD.to_owned())));
    }
    findings
}

/// Checks the configured models and every other configured provider.
async fn models(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings: Vec<(&'static str, Finding)> = Vec::new();
    if let Some(error) = &config.models.selection_error {
        findings.push(("model", Finding::Error(error.to_string())));
    } else if config.models.first.is_none() {
        let text = "none is configured; `run` plays the scripted tour. Set a provider's key or `model` in agent.toml, or pass --model";
        findings.push(("model", Finding::Warning(text.to_owned())));
    }
    for checked in check_models(config).await {
        let name = match checked.role {
            Role::First => "model",
            Role::Fallback => "fallback",
            Role::Small => "small model",
            Role::Unused => "provider",
        };
        findings.push((name, answer(&checked)));
    }
    findings
}

fn answer(checked: &CheckedModel) -> Finding {
    let CheckedModel { role, name, answer } = checked;
    let bad = |text: String| match role {
        Role::First | Role::Fallback | Role::Small => Finding::Error(text),
        // No run uses it.
        Role::Unused => Finding::Warning(text),
    };
    match answer {
        ModelAnswer::Local => Finding::Ok(name.clone()),
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
                (Role::Unused, _) => Finding::Ok(format!("{answers}; none of its models is used")),
                (_, Some(true)) => Finding::Ok(answers),
                (_, Some(false)) => Finding::Warning(format!(
                    "{answers}; this model is not in its list, but may be an alias of one that is"
                )),
                (_, None) => Finding::Warning(format!("{answers}; it does not list its models")),
            }
        }
        ModelAnswer::Unusable(why) => bad(format!("{name}: {why}")),
        ModelAnswer::Fails(error) => bad(format!("{name}: {error}")),
    }
}

async fn tools(config: &Config) -> Vec<(&'static str, Finding)> {
    let registry = match Registry::open(config).await {
        Ok(registry) => registry,
        Err(error) => return vec![("tools", Finding::Error(format!("{error:#}")))],
    };
    let sandbox = match registry.allocator() {
        Allocator::Pooling => Finding::Ok("pooled instances".to_owned()),
        Allocator::OnDemand { why } => {
            Finding::Warning(format!("instances on demand, slower: {why}"))
        }
    };
    let compiler = match registry.check_compiler().await {
        Ok(Some(Confinement::SystemCalls)) => Finding::Ok(
            "in a child process; its memory, time and system calls are limited".to_owned(),
        ),
        Ok(Some(Confinement::Limits)) => Finding::Warning(
            "in a child process; its memory and time are limited, but this kernel filters no system calls".to_owned(),
        ),
        Ok(None) => Finding::Warning("in this process, without limits".to_owned()),
        Err(error) => Finding::Error(error.to_string()),
    };
    let mut findings = vec![
        ("sandbox", sandbox),
        ("compiler", compiler),
        ("tools", Finding::Ok(tool_names(&registry))),
    ];
    findings.extend(registry.hooks().iter().map(hook));
    findings.extend(rules(config, &registry));
    // Those of the configuration are shown even if the tools cannot be loaded.
    let in_components = registry.skills().iter();
    let in_components = in_components.filter(|skill| skill.directory.is_none());
    findings.extend(in_components.map(skill));
    for entry in registry.components() {
        let notes = entry.component.notes().iter();
        findings.extend(notes.map(|note| {
            let text = format!("{}: {note}", entry.name);
            ("component", Finding::Warning(text))
        }));
    }
    for entry in registry.servers() {
        findings.push((
            "MCP server",
            Finding::Ok(server(entry, &config.state_dir).await),
        ));
        let notes = entry.server.notes().iter();
        findings.extend(notes.map(|note| {
            let text = format!("{}: {note}", entry.config.name);
            ("MCP tool", Finding::Warning(text))
        }));
    }
    for name in registry.absent_servers() {
        let text = format!("{name} is unavailable, so its tools are left out; see stderr");
        findings.push(("MCP server", Finding::Warning(text)));
    }
    findings
}

/// Describes a hook: where it runs, and what follows if it gives no verdict.
fn hook(entry: &HookEntry) -> (&'static str, Finding) {
    let HookConfig {
        name,
        points,
        tools,
        on_error,
        ..
    } = &entry.config;
    let points: Vec<&str> = points.iter().map(|point| point.as_str()).collect();
    let tools: Vec<&str> = tools.iter().map(NameGlob::as_str).collect();
    let tools = match tools.is_empty() {
        true => String::new(),
        false => format!(" of {}", tools.join(", ")),
    };
    let text = format!("{name}: {}{tools}", points.join(", "));
    let finding = match on_error {
        OnHookError::Block => Finding::Ok(text),
        OnHookError::Pass => {
            Finding::Warning(format!("{text}; without a verdict, everything continues"))
        }
    };
    ("hook", finding)
}

/// Counts the rules about calls, and checks the tools that they name.
fn rules(config: &Config, registry: &Registry) -> Option<(&'static str, Finding)> {
    let count = |decision| {
        let rules = config.rules.iter();
        rules.filter(|rule| rule.decision == decision).count()
    };
    let finding = match check_rules(config, registry) {
        Ok(()) => Finding::Ok(format!(
            "{} about calls: {} allow, {} ask, {} deny",
            config.rules.len(),
            count(RuleDecision::Allow),
            count(RuleDecision::Ask),
            count(RuleDecision::Deny)
        )),
        Err(error) => Finding::Error(error.to_string()),
    };
    (!config.rules.is_empty()).then_some(("rules", finding))
}

async fn server(entry: &ServerEntry, state_dir: &Path) -> String {
    let server = &entry.server;
    let version = server.version().await.unwrap_or_default();
    let home = match entry.config.home(state_dir) {
        Some(home) => format!("; its HOME is {}", home.display()),
        None => String::new(),
    };
    format!(
        "{}: {}, protocol {version}, {}{home}",
        entry.config.name,
        counted(server.definitions().len() as u64, "tool"),
        entry.identity()
    )
}
