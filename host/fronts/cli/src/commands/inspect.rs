//! `agent-host inspect`: describes a component, MCP server or skill before it is trusted.

mod server;
mod skill;
mod trust;

use super::{
    compose::list_parts, configure, explain::shell_quoted, permissions::permissions, tool_list,
};
use crate::{
    args::InspectArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, bytes, escape, escape_line, section},
};
use agent_host_app::{ComponentEntry, Config, Overrides, Registry, grant_lines};
use agent_host_author::{Description, LanguageSource, WrittenIn};
use agent_host_engine::policy::CallRule;
use agent_host_sandbox::{
    Allocator, Compiled, MAX_COMPONENT_BYTES, STRUCTURE_CAPS, SandboxConfig, ToolComponent,
};
use agent_host_types::reason::Reason;
use agent_host_types::tool::{Effect, ToolDefinition};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) async fn inspect(args: InspectArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config.clone(), Overrides::default())?;
    if let Some(found) = config
        .skills
        .iter()
        .find(|skill| skill.name == args.component)
    {
        skill::show(found, args.json, terminal);
        return Ok(Exit::Done);
    }
    let registry = Registry::open_one_unlocked(&config, &args.component).await?;
    if let Some(entry) = registry.servers().first() {
        server::show(entry, &config.rules, &args, terminal).await;
        return Ok(Exit::Done);
    }
    let Some(entry) = registry.components().next() else {
        return Err(Failure::usage(format!(
            "`{}` is not a component",
            args.component
        )));
    };
    let described = describe(entry).await;
    let name = &args.component;
    let parts = ShownParts::of(&args);
    let lock = trust::lock_state(name, entry, &config)?;
    terminal.println_as(
        args.json,
        || as_json(name, entry, &registry, &described, &config),
        || as_text(name, entry, &registry, &described, &config, parts, lock),
    );
    if !args.json && !parts.all() {
        terminal.note(&format!(
            "\nMore: agent-host inspect {} --schemas --limits --wit",
            shell_quoted(name)
        ));
    }
    Ok(Exit::Done)
}

/// Returns the first screen of the component with this name in the configuration.
pub(super) async fn screen(
    name: &str,
    registry: &Registry,
    config: &Config,
) -> Result<String, Failure> {
    let entry = registry.components().next();
    let entry = entry.ok_or_else(|| Failure::usage(format!("`{name}` is not a component")))?;
    let described = describe(entry).await;
    let lock = trust::lock_state(name, entry, config)?;
    let parts = ShownParts {
        schemas: false,
        wit: false,
        limits: false,
    };
    Ok(as_text(
        name, entry, registry, &described, config, parts, lock,
    ))
}

/// The parts of a description besides its first screen.
#[derive(Clone, Copy, Debug)]
struct ShownParts {
    schemas: bool,
    wit: bool,
    limits: bool,
}

impl ShownParts {
    fn of(args: &InspectArgs) -> Self {
        Self {
            schemas: args.schemas,
            wit: args.wit,
            limits: args.limits,
        }
    }

    fn all(self) -> bool {
        self.schemas && self.wit && self.limits
    }
}

/// Decodes the component's bytes. A decoder that panics yields an unreadable description.
async fn describe(entry: &ComponentEntry) -> Description {
    let bytes = match entry.bytes() {
        Ok(bytes) => bytes,
        Err(error) => return Description::unreadable(&error.to_string()),
    };
    let described =
        tokio::task::spawn_blocking(move || Description::from_component(bytes.as_ref())).await;
    described.unwrap_or_else(|_| Description::unreadable("its contents cannot be parsed"))
}

fn as_json(
    name: &str,
    entry: &ComponentEntry,
    registry: &Registry,
    described: &Description,
    config: &Config,
) -> Value {
    let (sandbox, rules) = (&config.sandbox, &config.rules);
    let tools = registry.tools();
    let tools = tools.map(|tool| tool_list::as_json(&tool.definition, tool.effect, rules));
    let component = &entry.component;
    let Description {
        producers,
        written_in,
        wit,
        warnings,
        parts,
    } = described;
    json!({
        "component": name,
        "digest": component.digest(),
        "format": component.format(),
        "size_bytes": component.size_bytes(),
        "producers": producers.as_ref().ok(),
        "producers_error": producers.as_ref().err(),
        "written_in": written_in,
        "wit": wit.as_ref().ok(),
        "wit_error": wit.as_ref().err(),
        "allocator": allocator(component),
        "imports": component.imports(),
        "permissions": permissions(component.imports()),
        "hooks": component.is_hook(),
        "parts": parts,
        "tools": tools.collect::<Vec<_>>(),
        "skill": registry.skills().first().map(|found| skill::as_json(found)),
        "notes": component.notes(),
        "warnings": warnings,
        "grants": entry.grants.to_json(),
        "limits": entry.limits,
        "loading": loading_limits(sandbox),
        "sandbox": sandbox_limits(sandbox),
    })
}

/// Returns the limits shared by all calls, named as in `agent.toml` where they can be set.
fn sandbox_limits(sandbox: &SandboxConfig) -> Value {
    json!({
        "concurrent-calls": sandbox.concurrent_calls,
        "queued-calls": sandbox.queued_calls,
        "guest-threads": sandbox.guest_threads,
        "stack-bytes": sandbox.stack_bytes,
    })
}

/// Returns the limits of loading a component: those of compilation, named as in `agent.toml`, and
/// the fixed structure caps.
fn loading_limits(sandbox: &SandboxConfig) -> Value {
    let compile = &sandbox.compile_limits;
    [
        ("component-bytes", Value::from(MAX_COMPONENT_BYTES)),
        ("compile-memory-bytes", compile.memory_bytes.into()),
        ("compile-cpu-seconds", compile.cpu_seconds.into()),
        ("compile-deadline-ms", compile.deadline_ms.into()),
    ]
    .into_iter()
    .chain(STRUCTURE_CAPS.map(|(what, most)| (what, Value::from(most))))
    .collect()
}

fn as_text(
    name: &str,
    entry: &ComponentEntry,
    registry: &Registry,
    described: &Description,
    config: &Config,
    parts: ShownParts,
    lock: &str,
) -> String {
    let component = &entry.component;
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", escape_line(name)),
        format!("  accepted    {lock}"),
        format!("  digest      {}", component.digest()),
        format!("  format      {}", component.format()),
        format!("  size        {}", bytes(component.size_bytes())),
    ];
    if component.is_hook() {
        lines.push("  hooks       around model calls and tool calls; see [[hook]]".to_owned());
    }
    lines.extend(producer_lines(described));
    list_parts(&mut lines, &described.parts);
    let worst = trust::at_worst(entry, registry).into_iter();
    let worst = worst.map(|line| format!("  {}", escape_line(&line)));
    section(&mut lines, "At worst", worst);
    let asked = permissions(component.imports()).into_iter();
    section(
        &mut lines,
        &format!("May ask for{BOLD:#} {DIM}(and gets only what is granted){DIM:#}"),
        asked.map(|line| format!("  {line}")),
    );
    let granted = grant_lines(&entry.grants).into_iter();
    let granted = granted.map(|line| format!("  {}", escape_line(&line)));
    section(&mut lines, "Is granted", granted);
    let tools = registry.tools();
    let tools = tools.map(|tool| (tool.definition.as_ref(), tool.effect));
    if parts.schemas {
        for (tool, effect) in tools {
            lines.extend(tool_lines(tool, effect, &config.rules));
        }
    } else {
        section(&mut lines, "Tools", tool_list::rows(tools, &config.rules));
    }
    if !component.notes().is_empty() {
        let notes = component.notes().iter();
        let notes = notes.map(|note| format!("  {}", escape_line(note)));
        section(&mut lines, "Not offered", notes);
    }
    if !described.warnings.is_empty() {
        let warnings = described.warnings.iter();
        let warnings = warnings.map(|warning| format!("  {}", escape_line(warning)));
        section(&mut lines, "Faulty", warnings);
    }
    for found in registry.skills() {
        lines.push(String::new());
        lines.push(skill::as_text(found));
    }
    if parts.limits {
        lines.extend(limit_lines(entry, &config.sandbox));
    }
    if parts.wit {
        lines.extend(wit_lines(&described.wit));
    }
    lines.join("\n")
}

/// Formats how the component runs, and all limits.
fn limit_lines(entry: &ComponentEntry, sandbox: &SandboxConfig) -> Vec<String> {
    let component = &entry.component;
    let mut lines = Vec::new();
    let runs = [
        format!("  instances   {}", allocator(component)),
        format!("  compiled    {}", compiled(component)),
    ];
    section(&mut lines, "Runs", runs);
    for (title, limits) in [
        ("Limits of a call", json!(entry.limits)),
        ("Limits of all calls together", sandbox_limits(sandbox)),
        ("Limits of loading", loading_limits(sandbox)),
    ] {
        let limits = limits.as_object().into_iter().flatten().map(limit);
        section(&mut lines, title, limits);
    }
    lines
}

fn wit_lines(wit: &Result<String, Reason>) -> Vec<String> {
    let mut lines = Vec::new();
    let wit = match wit {
        Ok(wit) => indented(wit),
        Err(why) => vec![format!("  cannot be shown: {}", escape_line(why.as_str()))],
    };
    let heading = format!("Interface{BOLD:#} {DIM}(WIT){DIM:#}");
    section(&mut lines, &heading, wit);
    lines
}

/// Formats the language and the producers section, one line per field.
fn producer_lines(described: &Description) -> Vec<String> {
    let line = |(field, values): (&String, &BTreeMap<String, String>)| {
        let field = match field.as_str() {
            "processed-by" => "made with",
            other => other,
        };
        let values = values.iter();
        let values =
            values.map(|(name, version)| format!("{name} {version}").trim_end().to_owned());
        let values = values.collect::<Vec<_>>().join(", ");
        escape_line(&format!("  {field:<11} {values}"))
    };
    match &described.producers {
        Ok(producers) => {
            let language = described.written_in.iter().map(language_line);
            let others = producers.iter().filter(|(field, _)| *field != "language");
            language.chain(others.map(line)).collect()
        }
        Err(why) => vec![format!(
            "  made with   cannot be shown: {}",
            escape_line(why.as_str())
        )],
    }
}

/// Formats the language, and how it is known unless the component itself says it.
fn language_line(written_in: &WrittenIn) -> String {
    let how = match written_in.source {
        LanguageSource::Component => "",
        LanguageSource::Toolchain => " (its modules are those of this language's toolchain)",
        LanguageSource::Modules => {
            " (of the modules inside; a runtime or an adapter may be written in a different language from the tool)"
        }
    };
    escape_line(&format!("  language    {}{how}", written_in.language))
}

/// Formats a tool with the enforced effect, the number of rules that may decide on it, and its
/// input and output schemas.
fn tool_lines(tool: &ToolDefinition, effect: Effect, rules: &[CallRule]) -> Vec<String> {
    let rules = tool_list::rules_text(tool, rules);
    let (name, effect) = (escape_line(&tool.name), effect.as_str());
    let heading = format!("{name}{BOLD:#} {DIM}{effect}{rules}{DIM:#}");
    let mut lines = Vec::new();
    section(&mut lines, &heading, indented(&tool.description));
    lines.extend(schema(&tool.input_schema));
    if let Some(output) = &tool.output_schema {
        lines.push("  gives".to_owned());
        lines.extend(schema(output));
    }
    lines
}

fn schema(schema: &Value) -> impl Iterator<Item = String> {
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    let lines = indented(&text).into_iter();
    lines.map(|line| format!("{DIM}{line}{DIM:#}"))
}

/// Escapes and indents untrusted text.
fn indented(text: &str) -> Vec<String> {
    let text = escape(text);
    text.lines().map(|line| format!("  {line}")).collect()
}

/// Formats a limit with its unit, which is the suffix of its name.
fn limit((name, value): (&String, &Value)) -> String {
    let value = match value.as_u64() {
        Some(count) if name.ends_with("-bytes") => bytes(count),
        Some(count) if name.ends_with("-ms") => format!("{count} ms"),
        Some(_) | None => value.to_string(),
    };
    format!("  {name:<32} {value}")
}

fn allocator(component: &ToolComponent) -> String {
    match component.allocator() {
        Allocator::Pooling => "pooled".to_owned(),
        Allocator::OnDemand { why } => format!("on demand: {why}"),
    }
}

fn compiled(component: &ToolComponent) -> &'static str {
    match component.compiled() {
        Compiled::FromCache => "from the cache",
        Compiled::Now => "just now",
    }
}
