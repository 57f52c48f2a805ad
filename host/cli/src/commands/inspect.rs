//! `agent-host inspect`: what a component is, before anything of it is trusted.

use super::{configure, reach};
use crate::{
    args::InspectArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, bytes, harmless, harmless_line},
};
use agent_host_app::{Entry, Overrides, Registry};
use agent_host_sandbox::{
    Allocator, Compiled, MAX_COMPONENT_BYTES, STRUCTURE_CAPS, SandboxConfig, ToolComponent,
};
use serde_json::{Value, json};

pub(super) async fn inspect(args: InspectArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let registry = Registry::open_one_unlocked(&config, &args.component).await?;
    let Some(entry) = registry.components().first() else {
        return Err(Failure::usage(format!(
            "`{}` holds no component",
            args.component
        )));
    };
    if args.json {
        let shown = as_json(&args.component, entry, &config.sandbox);
        terminal.println(&shown.to_string());
    } else {
        let shown = as_text(&args.component, entry, &config.sandbox);
        terminal.println(&shown);
    }
    Ok(Exit::Done)
}

fn as_json(name: &str, entry: &Entry, sandbox: &SandboxConfig) -> Value {
    let component = &entry.component;
    json!({
        "component": name,
        "digest": component.digest(),
        "size_bytes": component.size_bytes(),
        "allocator": allocator(component),
        "imports": component.imports(),
        "permissions": permissions(component.imports()),
        "tools": component.definitions(),
        "refused_functions": component.refused_functions(),
        "grants": entry.grants.to_json(),
        "limits": entry.limits,
        "loading": of_loading(sandbox),
        "sandbox": of_sandbox(sandbox),
    })
}

/// What holds for all calls together, by the names of `agent.toml` where it can be set.
fn of_sandbox(sandbox: &SandboxConfig) -> Value {
    json!({
        "concurrent-calls": sandbox.concurrent_calls,
        "queued-calls": sandbox.queued_calls,
        "guest-threads": sandbox.guest_threads,
        "stack-bytes": sandbox.stack_bytes,
    })
}

/// What holds for a component until it is loaded: what compiling may take, by the names of `agent.toml`, and the counts that
/// nothing changes, in words.
fn of_loading(sandbox: &SandboxConfig) -> Value {
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

fn as_text(name: &str, entry: &Entry, sandbox: &SandboxConfig) -> String {
    let component = &entry.component;
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", harmless_line(name)),
        format!("  digest      {}", component.digest()),
        format!("  size        {}", bytes(component.size_bytes())),
        format!("  instances   {}", allocator(component)),
        format!("  compiled    {}", compiled(component)),
        String::new(),
        format!("{BOLD}May ask for{BOLD:#} {DIM}(and gets only what is granted){DIM:#}"),
    ];
    lines.extend(
        permissions(component.imports())
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    lines.push(String::new());
    lines.push(format!("{BOLD}Is granted{BOLD:#}"));
    let granted = reach::lines(&entry.grants).into_iter();
    lines.extend(granted.map(|line| format!("  {}", harmless_line(&line))));
    for (title, limits) in [
        ("Limits of a call", json!(entry.limits)),
        ("Limits of all calls together", of_sandbox(sandbox)),
        ("Limits of loading", of_loading(sandbox)),
    ] {
        lines.push(String::new());
        lines.push(format!("{BOLD}{title}{BOLD:#}"));
        lines.extend(limits.as_object().into_iter().flatten().map(limit));
    }
    for tool in component.definitions() {
        lines.push(String::new());
        lines.push(format!(
            "{BOLD}{}{BOLD:#} {DIM}{}{DIM:#}",
            harmless_line(&tool.name),
            tool.effect.as_str()
        ));
        lines.extend(
            harmless(&tool.description)
                .lines()
                .map(|line| format!("  {line}")),
        );
        let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
        lines.extend(
            harmless(&schema)
                .lines()
                .map(|line| format!("  {DIM}{line}{DIM:#}")),
        );
    }
    if !component.refused_functions().is_empty() {
        lines.push(String::new());
        lines.push(format!("{BOLD}Functions that are no tools{BOLD:#}"));
        let refused = component.refused_functions().iter();
        lines.extend(refused.map(|reason| format!("  {}", harmless_line(reason))));
    }
    lines.join("\n")
}

/// One limit with its unit, which its name ends with.
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

/// What the imports mean, in plain words. An import that is not listed here is shown by its name.
pub(super) fn permissions(imports: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = imports.iter().map(|import| permission(import)).collect();
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        lines.push("nothing: it only computes".to_owned());
    }
    lines
}

fn permission(import: &str) -> String {
    let interface = import.split('@').next().unwrap_or(import);
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    let words = match package {
        "wasi:filesystem" => "files and folders (wasi:filesystem)",
        "wasi:http" => "HTTP requests (wasi:http)",
        "wasi:sockets" => "sockets (wasi:sockets): always refused",
        "wasi:clocks" => "the time (wasi:clocks)",
        "wasi:random" => "random numbers (wasi:random)",
        "wasi:cli" => {
            "its own standard streams, arguments and variables (wasi:cli); empty unless granted"
        }
        "wasi:io" => "streams (wasi:io)",
        "agent:tool" => match interface {
            "agent:tool/progress" => "telling how far it is (agent:tool/progress)",
            "agent:tool/state" => "the session's shared state (agent:tool/state)",
            "agent:tool/human" => "asking you questions (agent:tool/human)",
            _ => "the types of the contract (agent:tool/types)",
        },
        _ => return harmless_line(import),
    };
    words.to_owned()
}
