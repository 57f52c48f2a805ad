//! `agent-host undo`: restores the files that the last answer of a session changed, and says what
//! cannot be undone.

use super::{configure, find_session, open_journal};
use crate::{
    args::UndoArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, GREEN, Terminal, YELLOW, escape_line, json_text, one_line, tool_name},
};
use agent_host_app::{Done, Overrides, UndoRequest, UndoneAnswer, undo_answer};
use agent_host_engine::{observer::Unobserved, session::Session};
use serde_json::json;
use std::path::Path;

/// The length of a message in the report, in characters.
const MESSAGE_CHARACTERS: usize = 60;

pub(super) async fn undo(args: UndoArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let id = find_session(store.as_ref(), &config, &args.session).await?;
    let mut session = Session::resume(store.open_session(id).await?).await?;
    let request = UndoRequest {
        force: args.force,
        ..UndoRequest::default()
    };
    let undone = undo_answer(store.as_ref(), &mut session, request, &Unobserved).await?;
    if args.json {
        terminal.println(&json_text(&json!(undone)));
    } else {
        let report = report(undone.as_ref(), &config.working_dir, "--force");
        terminal.println(&report);
    }
    Ok(match undone {
        Some(undone) if !undone.left.is_empty() => Exit::Failed,
        _ => Exit::Done,
    })
}

/// Describes what was undone, with paths below a directory relative to it. `force` restores the
/// rest.
pub(super) fn report(undone: Option<&UndoneAnswer>, here: &Path, force: &str) -> String {
    let Some(undone) = undone else {
        return "No answer of this session has changed files that can be undone.".to_owned();
    };
    let shown = |path: &Path| {
        let path = path.strip_prefix(here).unwrap_or(path);
        escape_line(&path.display().to_string())
    };
    let mut lines = Vec::new();
    if let Some(message) = &undone.message {
        let message = one_line(message, MESSAGE_CHARACTERS);
        lines.push(format!("{DIM}The answer to:{DIM:#} {message}"));
    }
    for restored in &undone.restored {
        let done = match restored.done {
            Done::WrittenBack => "written back",
            Done::Recreated => "recreated",
            Done::Removed => "removed",
        };
        lines.push(format!(
            "  {GREEN}{done:<12}{GREEN:#}  {}",
            shown(&restored.path)
        ));
    }
    if !undone.left.is_empty() {
        lines.push(format!(
            "{YELLOW}Not restored{YELLOW:#} {DIM}({force} also restores files that have changed since){DIM:#}"
        ));
        let left = undone.left.iter();
        lines.extend(
            left.map(|left| format!("  {}: {}", shown(&left.path), escape_line(&left.reason))),
        );
    }
    if undone.restored.is_empty() && undone.left.is_empty() {
        lines.push("  Every file is as it was.".to_owned());
    }
    if !undone.outside.is_empty() {
        lines.push(format!("{YELLOW}Cannot be undone{YELLOW:#}"));
    }
    for call in &undone.outside {
        let hosts: Vec<String> = call.hosts.iter().map(|host| escape_line(host)).collect();
        let what = match hosts.as_slice() {
            [] => "its effects outside of the sandbox".to_owned(),
            hosts => format!("data that it sent to {}", hosts.join(", ")),
        };
        lines.push(format!("  {BOLD}{}{BOLD:#}: {what}", tool_name(&call.tool)));
    }
    lines.join("\n")
}
