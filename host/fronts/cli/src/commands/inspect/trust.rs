//! "May I trust this?": whether a component is the accepted one, and the most that it could do with
//! its imports and its grants.

use crate::{
    exit::Failure,
    terminal::{bytes, micros},
};
use agent_host_app::{ComponentEntry, Config, LockFile, Registry};
use agent_host_engine::policy::DirMode;
use agent_host_types::{
    lock::{LockEntry, LockStatus},
    tool::Effect,
};

/// Returns whether the component is the one that the user accepted, in words.
pub(super) fn lock_state(
    name: &str,
    entry: &ComponentEntry,
    config: &Config,
) -> Result<&'static str, Failure> {
    if entry.source.is_builtin() {
        return Ok("yes: it comes with this program");
    }
    if !config.tools.iter().any(|tool| tool.name == name) {
        return Ok("not asked: it is not a configured tool");
    }
    let Some(file) = LockFile::open(config)? else {
        return Ok("no: pinning needs an agent.toml, and there is none");
    };
    let is_unsigned = entry.origin.as_ref().is_some_and(|it| it.signer.is_none());
    Ok(
        match file
            .lock
            .status(name, &LockEntry::Component(entry.locked()))
        {
            LockStatus::Same => "yes: it matches agent.lock",
            LockStatus::New if is_unsigned => {
                "not yet: nothing proves who made it; accept it with `agent-host lock --accept`"
            }
            LockStatus::New => {
                "not yet: it is pinned in agent.lock when it is accepted or first run"
            }
            LockStatus::Changed(_) => {
                "no: it has changed since it was accepted; see `agent-host lock`"
            }
        },
    )
}

/// Returns the most that the component could do, a line each: the grants that it has an import for,
/// and the bounds of a call.
pub(super) fn at_worst(entry: &ComponentEntry, registry: &Registry) -> Vec<String> {
    let imports = entry.component.imports();
    let imports = |package: &str| imports.iter().any(|import| import.starts_with(package));
    let (files, http) = (imports("wasi:filesystem/"), imports("wasi:http/"));
    let grants = &entry.grants;
    let mut lines = Vec::new();
    let dirs = grants.dirs.iter().filter(|_| files);
    let mut can_read = false;
    for dir in dirs {
        can_read = true;
        let host = dir.host.display();
        lines.push(match dir.mode {
            DirMode::ReadOnly => format!("reads every file that is not masked in {host}"),
            DirMode::ReadWrite => format!("reads, changes and deletes files in {host}"),
        });
    }
    let sends = match (can_read, grants.secrets.is_empty()) {
        (true, _) => "sends data that it read to",
        (false, false) => "sends a secret and its arguments to",
        (false, true) => "sends its arguments to",
    };
    let hosts = grants.http.iter().filter(|_| http);
    lines.extend(hosts.map(|host| format!("{sends} {}", host.target())));
    if imports("agent:tool/human") {
        lines.push("asks you a question".to_owned());
    }
    if lines.is_empty() {
        lines.push("only computes; it has no access to anything outside of its call".to_owned());
    }
    let limits = &entry.limits;
    lines.push(format!(
        "takes {} and {} in each call",
        micros(limits.deadline_ms.saturating_mul(1_000)),
        bytes(limits.memory_bytes)
    ));
    let unasked = registry
        .tools()
        .filter(|tool| tool.effect == Effect::ReadOnly)
        .count();
    let all = registry.tools().len();
    lines.push(format!(
        "runs {unasked} of its {all} tools without your approval, unless a rule or `approval` says otherwise"
    ));
    lines
}
