//! Denials that can be told before a call runs, so that no one has to approve it first.

use crate::{caps::http::is_denied, gate::Gate};
use agent_host_engine::{
    flow::CallFlow,
    policy::{DEFAULT_DENY, DirMode, FileOp, Grants},
    secrets::Secrets,
    tool::CallReport,
};
use agent_host_types::{
    audit::{AuditRequest, FileAction},
    limits::Limits,
    output::ToolResultOutput,
    tool::Effect,
};
use std::{
    path::{Component, Path},
    sync::Arc,
};

/// The request that a call is about, as its arguments name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedRequest<'a> {
    /// Reading or changing a file.
    File {
        /// The tool's path.
        path: &'a str,
        /// Whether it changes the file.
        changes: bool,
    },
    /// An HTTP request.
    Http {
        /// The method, in upper case.
        method: &'a str,
        /// The URL.
        url: &'a str,
    },
}

impl NamedRequest<'_> {
    /// Returns the end of a call that would send this request first and be denied, whatever the
    /// file system has: a link may lead anywhere within a granted directory, but not out of it.
    #[must_use]
    pub fn foreseen_denial(
        self,
        grants: &Arc<Grants>,
        effect: Effect,
        limits: &Limits,
        secrets: &Secrets,
        flow: &CallFlow,
    ) -> Option<CallReport> {
        let gate = Gate::within(flow.clone(), Arc::clone(grants), effect, limits);
        let is_denied = match self {
            Self::File { path, changes } => is_file_denied(&gate, path, changes),
            Self::Http { method, url } => is_denied(method, url, &gate),
        };
        if !is_denied {
            return None;
        }
        let mut stats = gate.stats();
        stats.redact(secrets);
        let reason = format!("{}.", stats.first_denial?.sentence);
        Some(CallReport {
            audit: stats.audit,
            ..CallReport::of(ToolResultOutput::ExecutionDenied(Some(reason)))
        })
    }
}

fn is_file_denied(gate: &Gate, path: &str, changes: bool) -> bool {
    let action = match changes {
        true => FileAction::Write,
        false => FileAction::Read,
    };
    let Some((grant, rest)) = gate.grants.dir_of(path) else {
        let asked = AuditRequest::file(action, path.to_owned());
        gate.refuse(asked, DEFAULT_DENY, "no directory grant covers this path");
        return true;
    };
    let parts = Path::new(rest).components();
    let mut parts = parts.filter(|part| !matches!(part, Component::CurDir));
    if matches!(parts.next(), Some(Component::ParentDir)) {
        gate.refuse_escape(gate.file_request(grant, action, rest));
        return true;
    }
    let dir = gate.grants.dirs.get(grant);
    let is_read_only = dir.is_some_and(|dir| dir.mode == DirMode::ReadOnly);
    changes
        && is_read_only
        && Path::new(rest).components().all(is_plain)
        && gate.check_file(grant, FileOp::Write, rest).is_err()
}

fn is_plain(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}
