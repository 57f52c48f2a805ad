//! `agent-host inspect` of a skill.

use super::indented;
use crate::terminal::{BOLD, DIM, Terminal, bytes, escape_line, section};
use agent_host_app::Skill;
use serde_json::{Value, json};

/// The effect of `allowed-tools` here.
const ALLOWED: &str = "listed by its author; this allows nothing";

pub(super) fn show(skill: &Skill, json: bool, terminal: &Terminal) {
    terminal.println_as(json, || as_json(skill), || as_text(skill));
}

pub(super) fn as_json(skill: &Skill) -> Value {
    let locked = skill.locked();
    let files = skill.files.iter();
    let files = files.map(|(path, bytes)| {
        json!({"path": path, "size_bytes": bytes.len(), "digest": locked.files.get(path)})
    });
    json!({
        "skill": skill.name,
        "description": skill.description,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": skill.metadata,
        "directory": skill.directory,
        "allowed_tools": skill.allowed_tools,
        "digest": locked.digest(),
        "size_bytes": skill.size_bytes(),
        "files": files.collect::<Vec<_>>(),
        "instructions": skill.instructions,
    })
}

pub(super) fn as_text(skill: &Skill) -> String {
    let locked = skill.locked();
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}", escape_line(&skill.name)),
        format!("  for         {}", escape_line(&skill.description)),
        format!("  digest      {}", locked.digest()),
        format!("  size        {}", bytes(skill.size_bytes())),
    ];
    for (label, text) in [("license", &skill.license), ("needs", &skill.compatibility)] {
        let text = text
            .iter()
            .map(|text| format!("  {label:<11} {}", escape_line(text)));
        lines.extend(text);
    }
    if !skill.allowed_tools.is_empty() {
        let tools = escape_line(&skill.allowed_tools.join(", "));
        lines.push(format!("  tools       {tools} {DIM}({ALLOWED}){DIM:#}"));
    }
    let files = locked.files.iter();
    let files = files.map(|(path, digest)| format!("  {} {DIM}{digest}{DIM:#}", escape_line(path)));
    section(&mut lines, "Files", files);
    section(&mut lines, "Instructions", indented(&skill.instructions));
    lines.join("\n")
}
