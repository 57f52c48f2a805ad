//! `agent-host cache`: lists and prunes the compiled components on disk. A removed entry is
//! compiled again when it is needed.

use super::configure;
use crate::{
    args::{CacheArgs, CacheCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, bytes, counted, date, escape_line},
};
use agent_host_app::Overrides;
use agent_host_sandbox::{CacheContent, CachedComponent, CompileCache};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn cache(args: CacheArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let cache = CompileCache::open(&config.cache_dir).map_err(|error| {
        Failure::failed(format!(
            "cannot use the compile cache {}: {error}",
            config.cache_dir.display()
        ))
    })?;
    match args.command {
        CacheCommand::List { json } => {
            let components = cache.map(|cache| cache.list()).transpose();
            let components = components.map_err(Failure::failed)?.unwrap_or_default();
            if components.is_empty() && !json {
                terminal.note("The compile cache is empty. The first run fills it.");
            }
            for component in &components {
                terminal.println_as(json, || as_json(component), || line(component));
            }
            if !components.is_empty() && !json {
                terminal.println(&totals(&components, config.sandbox.cache_bytes));
            }
        }
        CacheCommand::Prune { all, max_bytes } => {
            let max_bytes = if all { Some(0) } else { max_bytes };
            let pruned = cache.map(|cache| cache.prune(max_bytes)).transpose();
            let pruned = pruned.map_err(Failure::failed)?.unwrap_or_default();
            terminal.note(&format!(
                "{} removed, {}",
                counted(pruned.files, "file"),
                bytes(pruned.bytes)
            ));
        }
    }
    Ok(Exit::Done)
}

/// Returns the number and the size of all entries, and the bound on it.
fn totals(components: &[CachedComponent], max_bytes: u64) -> String {
    let size = components
        .iter()
        .map(|component| component.size_bytes)
        .sum();
    let unusable = components
        .iter()
        .filter(|component| state(&component.content) != "usable");
    let unusable = match unusable.count() {
        0 => String::new(),
        count => format!("; {count} unusable: agent-host cache prune"),
    };
    format!(
        "{} components, {} of at most {} (cache-bytes){unusable}",
        components.len(),
        bytes(size),
        bytes(max_bytes)
    )
}

/// Returns in one word whether this build can load the entry.
fn state(content: &CacheContent) -> &'static str {
    match content {
        CacheContent::Component { current: true, .. } => "usable",
        CacheContent::Component { current: false, .. } => "outdated",
        CacheContent::Damaged => "damaged",
    }
}

fn line(component: &CachedComponent) -> String {
    let (name, tools) = match &component.content {
        CacheContent::Component { digest, tools, .. } => (digest.to_string(), tools.join(", ")),
        CacheContent::Damaged => (component.file.clone(), String::new()),
    };
    format!(
        "{BOLD}{}{BOLD:#}  {:>9}  {YELLOW}{:<8}{YELLOW:#}  {DIM}made {}, used {}{DIM:#}  {}",
        escape_line(&name),
        bytes(component.size_bytes),
        state(&component.content),
        date(millis(component.compiled_at)),
        date(millis(component.last_used)),
        escape_line(&tools),
    )
}

fn as_json(component: &CachedComponent) -> Value {
    let (digest, tools) = match &component.content {
        CacheContent::Component { digest, tools, .. } => (Some(digest), Some(tools)),
        CacheContent::Damaged => (None, None),
    };
    json!({
        "digest": digest,
        "file": component.file,
        "bytes": component.size_bytes,
        "state": state(&component.content),
        "tools": tools,
        "made_ms": millis(component.compiled_at),
        "used_ms": millis(component.last_used),
    })
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
