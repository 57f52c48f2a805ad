//! Tools and their calls as the protocol names them: titles, kinds, places and changes of files.

#[cfg(test)]
mod tests;

use agent_host_app::{CallKind, ComponentSource, Registry, host_path};
use agent_host_engine::{call_summary::CallSummary, text::escape_line};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::{AuditRequest, FileAction},
    output::{BlobRef, ToolResultOutput},
    reason::Reason,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 120;

/// The most places of a call.
const MAX_LOCATIONS: usize = 32;

/// Returns the title of a call that has no result yet: the name of the tool and its main argument.
/// The title that a tool gives itself is text of a third party, which could name another effect.
pub(crate) fn title(registry: &Registry, tool: &str, input: Option<&Map<String, Value>>) -> String {
    let title = CallSummary::pending(tool, registry.tool(tool), input);
    title.chars().take(MAX_TITLE_CHARS).collect()
}

/// Returns the title of a call that ended: the call in words.
pub(crate) fn settled_title(
    registry: &Registry,
    tool: &str,
    input: Option<&Map<String, Value>>,
    output: &ToolResultOutput,
    whole: Option<&BlobRef>,
    audit: &[AuditEntry],
) -> String {
    CallSummary::new(tool, registry.tool(tool), input, output, whole, audit).to_string()
}

/// Returns the kind of a tool before it runs.
pub(crate) fn kind(registry: &Registry, tool: &str) -> &'static str {
    match CallKind::new(registry, tool, registry.tool(tool)) {
        CallKind::Read => "read",
        CallKind::Edit => "edit",
        CallKind::Search => "search",
        CallKind::Network => "fetch",
        CallKind::Code => "execute",
        CallKind::Agent | CallKind::Other => "other",
    }
}

/// Returns the kind of a call that ran, from what the gate allowed it; none if that was nothing.
pub(crate) fn kind_of_run(audit: &[AuditEntry]) -> Option<&'static str> {
    let kinds: Vec<&str> = allowed(audit).filter_map(kind_of_request).collect();
    // The first of these is what the user should know.
    let mut by_weight = ["edit", "move", "fetch", "read"].into_iter();
    by_weight.find(|kind| kinds.contains(kind))
}

fn kind_of_request(request: &AuditRequest) -> Option<&'static str> {
    match request {
        AuditRequest::File { action, .. } => match action {
            FileAction::Write | FileAction::WriteExecutable | FileAction::Link => Some("edit"),
            FileAction::Move => Some("move"),
            FileAction::Read | FileAction::List => Some("read"),
            FileAction::Stat | FileAction::ReadLink => None,
        },
        AuditRequest::Http { .. } => Some("fetch"),
        AuditRequest::Artifact { .. }
        | AuditRequest::Secret { .. }
        | AuditRequest::McpCall { .. }
        | AuditRequest::Others
        | AuditRequest::Unrecognized { .. } => None,
    }
}

/// Returns the places of a call before it runs: the file of one of `builtin:files`.
pub(crate) fn locations(
    registry: &Registry,
    tool: &str,
    input: Option<&Map<String, Value>>,
) -> Vec<Value> {
    let place = || {
        let path = own_path(registry, tool, input?)?;
        host_path(&registry.component_of(tool)?.grants, path)
    };
    place().map(|path| location(&path)).into_iter().collect()
}

/// Returns the files that a call read or wrote.
pub(crate) fn locations_of_run(
    registry: &Registry,
    tool: &str,
    audit: &[AuditEntry],
) -> Vec<Value> {
    let Some(component) = registry.component_of(tool) else {
        return Vec::new();
    };
    let files = allowed(audit).filter_map(|request| match request {
        AuditRequest::File { action, path, .. } => {
            (*action == FileAction::Read || action.changes()).then_some(path)
        }
        _ => None,
    });
    let mut places: Vec<PathBuf> = Vec::new();
    for path in files {
        let place = host_path(&component.grants, path);
        places.extend(place.filter(|place| !places.contains(place)));
    }
    places.truncate(MAX_LOCATIONS);
    places.iter().map(|path| location(path)).collect()
}

/// Returns the requests that the gate allowed.
fn allowed(audit: &[AuditEntry]) -> impl Iterator<Item = &AuditRequest> {
    let allowed = audit
        .iter()
        .filter(|entry| entry.verdict == AuditVerdict::Allowed);
    allowed.map(|entry| &entry.request)
}

fn location(path: &Path) -> Value {
    json!({ "path": escape_line(&path.to_string_lossy()) })
}

/// Returns the path that a call of `builtin:files` names.
fn own_path<'a>(registry: &Registry, tool: &str, input: &'a Map<String, Value>) -> Option<&'a str> {
    match &registry.component_of(tool)?.source {
        ComponentSource::Builtin(name) if name == "files" => input.get("path")?.as_str(),
        _ => None,
    }
}

/// Returns the change that a call of `builtin:files` makes, as content of the protocol. `texts` are
/// those of the whole file, as [`Registry::file_texts`] returns them. Without them the change of an
/// edit is known, but not that of a write: content without an old text is that of a new file.
pub(crate) fn diff(
    registry: &Registry,
    tool: &str,
    input: &Map<String, Value>,
    texts: Option<Result<(String, String), Reason>>,
) -> Option<Value> {
    let written = registry.written_text(tool, input)?;
    let path = host_path(&registry.component_of(tool)?.grants, written.path)?;
    let (old, new) = match (texts, written.old) {
        (Some(Ok((before, after))), _) => (Some(before), after),
        (_, Some(old)) => (Some(old.to_owned()), written.new.to_owned()),
        (Some(Err(_)), None) => (None, written.new.to_owned()),
        (None, None) => return None,
    };
    let path = escape_line(&path.to_string_lossy());
    Some(json!({"type": "diff", "path": path, "oldText": old, "newText": new}))
}
