//! `agent-host outdated`: the components from registries beside what is pinned of them.

use super::configure;
use crate::{
    args::OutdatedArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, escape_line, json_text, one_line},
};
use agent_host_app::{Overrides, RegistryStatus, Version, outdated as registry_statuses};
use serde_json::{Value, json};

/// The longest version that is shown, in characters.
const MAX_VERSION: usize = 24;

pub(super) async fn outdated(args: OutdatedArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let rows = registry_statuses(&config).await?;
    if args.json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        terminal.println(&json_text(&json!({ "components": rows })));
    } else if rows.is_empty() {
        terminal.note("No component in agent.toml comes from a registry.");
    } else {
        let [name, pinned, current] = ["NAME", "PINNED", "NOW"];
        terminal.println(&format!(
            "{BOLD}{name:<20} {pinned:<24} {current:<24} STATUS{BOLD:#}"
        ));
        rows.iter().for_each(|row| terminal.println(&line(row)));
    }
    // One that could not be asked about is told, and is a failure.
    match rows.iter().find_map(|row| row.current.as_ref().err()) {
        None => Ok(Exit::Done),
        Some(error) => Err(Failure::failed(error)),
    }
}

fn line(row: &RegistryStatus) -> String {
    let pinned = row.pinned.as_ref().map_or("-".to_owned(), shown);
    let current = row.current.as_ref().map_or("?".to_owned(), shown);
    let name = escape_line(&row.name);
    let status = status(row).1;
    format!("{name:<20} {pinned:<24} {current:<24} {status}")
}

/// Returns the version of a manifest, or the beginning of its digest.
fn shown(version: &Version) -> String {
    let digest: String = version.manifest.to_string().chars().take(19).collect();
    let own = version.version.as_deref();
    own.map_or(digest, |version| one_line(version, MAX_VERSION))
}

/// Returns the status as a value for programs, and in words.
fn status(row: &RegistryStatus) -> (&'static str, String) {
    let name = super::shell_quoted(&row.name);
    let newer = row.newer_tag.as_deref().map(|tag| one_line(tag, 128));
    match (&row.pinned, &row.current) {
        (_, Err(_)) => ("unknown", "its registry does not answer".to_owned()),
        (None, Ok(_)) => ("new", "never accepted".to_owned()),
        (Some(_), Ok(_)) if row.has_moved() => {
            ("moved", format!("its tag moved: agent-host update {name}"))
        }
        (Some(_), Ok(_)) => match newer {
            None => ("current", "up to date".to_owned()),
            Some(tag) => {
                let tag = super::shell_quoted(&tag);
                (
                    "newer",
                    format!("newer: agent-host update {name} --to {tag}"),
                )
            }
        },
    }
}

fn as_json(row: &RegistryStatus) -> Value {
    let version =
        |version: &Version| json!({ "manifest": version.manifest, "version": version.version });
    json!({
        "name": row.name,
        "reference": row.reference,
        "status": status(row).0,
        "pinned": row.pinned.as_ref().map(version),
        "current": row.current.as_ref().ok().map(version),
        "newer_tag": row.newer_tag,
        "error": row.current.as_ref().err(),
    })
}
