//! `agent-host lock`: compares the configured components, MCP servers and skills with `agent.lock`,
//! and accepts changes.

use super::configure;
use crate::{
    args::LockArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, GREEN, RED, Terminal, escape_line, json_text},
};
use agent_host_app::{LockFile, Overrides, Registry, difference};
use agent_host_types::lock::{Change, Lock, LockEntry, LockStatus};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A component, server or skill in the lock, the configuration, or both.
struct LockRow {
    name: String,
    /// The present pin, or the locked one if it is no longer configured.
    pin: LockEntry,
    status: RowStatus,
    /// True if this command accepts it.
    accepts: bool,
}

/// How what is configured compares to the lock.
enum RowStatus {
    Configured(LockStatus),
    /// It is no longer configured.
    Gone,
    /// The configuration is not trusted, so that nothing of it is loaded to be compared.
    NotCompared,
}

pub(super) async fn lock(args: LockArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    if let Some(left_out) = &config.left_out {
        return show_pins(&LockFile::beside(left_out.path())?, args.json, terminal);
    }
    let Some(mut file) = LockFile::open(&config)? else {
        return Err(Failure::usage(
            "there is no agent.toml here, so there is nothing to lock. Pass one with --config, or write one; \
             agent.lock is stored next to it.",
        ));
    };
    let registry = Registry::open_unlocked(&config).await?;
    // A configured server that is absent keeps its locked entry.
    let absent = registry.absent_servers();
    let components = registry
        .components()
        .filter(|entry| !entry.source.is_builtin())
        .map(|entry| (entry.name.clone(), LockEntry::Component(entry.locked())));
    let servers = registry.servers().iter();
    let servers =
        servers.map(|entry| (entry.config.name.clone(), LockEntry::Server(entry.locked())));
    let skills = config.skills.iter();
    let skills = skills.map(|skill| (skill.name.clone(), LockEntry::Skill(skill.locked())));
    let current: BTreeMap<String, LockEntry> = components.chain(servers).chain(skills).collect();
    let names = args.accept.as_deref();
    check_names(names.unwrap_or_default(), &file.lock, &current)?;
    let lines = lines(names, &file.lock, &current, absent);
    print(&file, &lines, args.json, terminal);
    if lines.iter().any(|line| line.accepts) {
        accept(&mut file.lock, &lines);
        file.write()?;
        terminal.note(&format!("accepted, and written to {}", file.path.display()));
    }
    if lines.iter().all(|line| line.accepts || line.is_accepted()) {
        return Ok(Exit::Done);
    }
    terminal.note(
        "Review the changes with `agent-host inspect NAME`, then accept one with `agent-host lock --accept NAME`, or \
         all of them with `agent-host lock --accept`.",
    );
    Ok(Exit::Refused)
}

/// Shows what the lock beside a configuration that is not trusted pins.
fn show_pins(file: &LockFile, as_json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let pins = file.lock.entries().map(|(name, pin)| LockRow {
        name: name.clone(),
        pin,
        status: RowStatus::NotCompared,
        accepts: false,
    });
    let rows: Vec<LockRow> = pins.collect();
    print(file, &rows, as_json, terminal);
    if rows.is_empty() && !as_json {
        terminal.note("Nothing is pinned here: there is no agent.lock.");
    }
    Ok(Exit::Done)
}

fn print(file: &LockFile, rows: &[LockRow], as_json: bool, terminal: &Terminal) {
    match as_json {
        true => terminal.println(&json_text(&self::as_json(file, rows))),
        false => rows.iter().for_each(|row| row.print(terminal)),
    }
}

fn check_names(
    names: &[String],
    lock: &Lock,
    current: &BTreeMap<String, LockEntry>,
) -> Result<(), Failure> {
    let unknown = names.iter().find(|name| {
        !current.contains_key(*name) && !lock.entries().any(|(pinned, _)| pinned == *name)
    });
    let Some(name) = unknown else {
        return Ok(());
    };
    let known: Vec<&str> = current.keys().map(String::as_str).collect();
    Err(Failure::usage(format!(
        "there is no component, MCP server or skill `{name}` to accept; available: {}",
        known.join(", ")
    )))
}

/// Merges the configuration and the lock, sorted by name.
fn lines(
    names: Option<&[String]>,
    lock: &Lock,
    current: &BTreeMap<String, LockEntry>,
    absent: &[String],
) -> Vec<LockRow> {
    let accepts =
        |name: &String| names.is_some_and(|names| names.is_empty() || names.contains(name));
    let configured = current.iter().map(|(name, pin)| LockRow {
        name: name.clone(),
        pin: pin.clone(),
        status: RowStatus::Configured(lock.status(name, pin)),
        accepts: accepts(name),
    });
    let gone = lock
        .entries()
        .filter(|(name, _)| !current.contains_key(*name) && !absent.contains(name))
        .map(|(name, pin)| LockRow {
            name: name.clone(),
            pin,
            status: RowStatus::Gone,
            accepts: accepts(name),
        });
    let mut lines: Vec<LockRow> = configured.chain(gone).collect();
    lines.sort_by(|a, b| a.name.cmp(&b.name));
    lines
}

/// Writes the accepted rows into the lock; removes those that are no longer configured.
fn accept(lock: &mut Lock, lines: &[LockRow]) {
    for line in lines.iter().filter(|line| line.accepts) {
        lock.remove(&line.name);
        if matches!(line.status, RowStatus::Configured(_)) {
            lock.accept(line.name.clone(), line.pin.clone());
        }
    }
}

impl LockRow {
    /// Returns the status as its JSON value and in words, and what changed.
    fn status(&self) -> (&'static str, &'static str, &[Change]) {
        match &self.status {
            RowStatus::Configured(LockStatus::Same) => ("same", "accepted", &[]),
            RowStatus::Configured(LockStatus::New) => ("new", "new", &[]),
            RowStatus::Configured(LockStatus::Changed(changes)) => {
                ("changed", "changed since accepted", changes)
            }
            RowStatus::Gone => ("gone", "accepted, no longer configured", &[]),
            RowStatus::NotCompared => ("not-compared", "pinned, not compared", &[]),
        }
    }

    /// Returns `component`, `server` or `skill`, and its source or extent.
    fn kind_and_source(&self) -> (&'static str, String) {
        match &self.pin {
            LockEntry::Component(component) => ("component", component.component.to_string()),
            LockEntry::Server(server) => ("server", server.server.clone()),
            LockEntry::Skill(skill) => (
                "skill",
                format!("{} files, {}", skill.files.len(), skill.digest()),
            ),
        }
    }

    /// True if nothing is left to accept.
    fn is_accepted(&self) -> bool {
        match self.status {
            RowStatus::Configured(LockStatus::Same) | RowStatus::Gone => true,
            RowStatus::Configured(LockStatus::New | LockStatus::Changed(_))
            | RowStatus::NotCompared => false,
        }
    }

    fn print(&self, terminal: &Terminal) {
        let (name, (_, words, changes)) = (escape_line(&self.name), self.status());
        terminal.println(&format!(
            "{BOLD}{name:<20}{BOLD:#} {words:<35} {}",
            escape_line(&self.kind_and_source().1)
        ));
        print_changes(changes, terminal);
    }
}

/// Prints what changed, as the refusal to run it does.
pub(super) fn print_changes(changes: &[Change], terminal: &Terminal) {
    for line in difference(changes) {
        let line = escape_line(&line);
        terminal.println(&match line.get(..4) {
            Some("  + ") => format!("{GREEN}{line}{GREEN:#}"),
            Some("  - ") => format!("{RED}{line}{RED:#}"),
            Some(_) | None => line,
        });
    }
}

fn as_json(file: &LockFile, lines: &[LockRow]) -> Value {
    let components: Vec<Value> = lines
        .iter()
        .map(|line| {
            let (kind, what) = line.kind_and_source();
            let (status, _, changes) = line.status();
            json!({
                "name": line.name,
                kind: what,
                "status": status,
                "changes": changes,
                "accepted_now": line.accepts,
            })
        })
        .collect();
    json!({"lock": file.path, "components": components})
}
