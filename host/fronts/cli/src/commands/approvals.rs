//! `agent-host approvals`: lists remembered approvals of sessions and projects, and revokes them.

use super::{configure, open_journal};
use crate::{
    args::{ApprovalsArgs, ApprovalsCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, date, escape_line},
};
use agent_host_app::Overrides;
use agent_host_engine::{journal::JournalError, observer::Unobserved, session::Session};
use agent_host_journal::{JournalStore, ProjectApproval, approval_id};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    event::{Event, EventRecord},
    id::SessionId,
};
use serde_json::{Value, json};

/// A remembered approval.
struct Remembered {
    id: String,
    rule: ApprovalRule,
    at_ms: u64,
    /// The session in which it was given.
    session: SessionId,
    /// The project's record; absent for an approval of the session alone.
    project: Option<ProjectApproval>,
}

pub(super) async fn approvals(args: ApprovalsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let (all, unread) = all(store.as_ref()).await?;
    match args.command {
        ApprovalsCommand::List { json } => {
            if all.is_empty() && unread.is_empty() && !json {
                terminal.note(
                    "No approvals are remembered: you are asked about every call that needs one.",
                );
            }
            for kept in &all {
                terminal.println_as(json, || kept.as_json(), || kept.line());
            }
            done_unless(&unread)
        }
        ApprovalsCommand::Revoke { id: Some(id), .. } => {
            let one = find(all, &id)?;
            done_unless(&revoke(store.as_ref(), &[one], terminal).await?)
        }
        ApprovalsCommand::Revoke { id: None, .. } => {
            let mut faults = revoke(store.as_ref(), &all, terminal).await?;
            faults.extend(unread);
            done_unless(&faults)
        }
    }
}

/// Returns `Done` if `faults` is empty, else a failure that lists them.
fn done_unless(faults: &[String]) -> Result<Exit, Failure> {
    if faults.is_empty() {
        Ok(Exit::Done)
    } else {
        Err(Failure::failed(faults.join("\n")))
    }
}

/// Lists all remembered approvals (projects first, then sessions, newest session first), and an
/// error for each unreadable session. An unreadable session cannot resume, so none of its approvals
/// is in force.
async fn all(store: &dyn JournalStore) -> Result<(Vec<Remembered>, Vec<String>), Failure> {
    let approvals = store.approvals(None).await?;
    let mut all: Vec<Remembered> = approvals
        .into_iter()
        .map(Remembered::from_project)
        .collect();
    let mut unread = Vec::new();
    for row in store.list().await? {
        match in_session(store, row.id).await {
            Ok(kept) => all.extend(kept),
            Err(error) => unread.push(error.to_string()),
        }
    }
    Ok((all, unread))
}

/// Lists the approvals of a session that were given and not revoked.
async fn in_session(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Vec<Remembered>, JournalError> {
    let mut kept = Vec::<Remembered>::new();
    let follow = |record: EventRecord| match record.event {
        Event::ApprovalRemembered {
            rule,
            scope: RememberScope::Session,
        } if kept.iter().all(|other| other.rule != rule) => kept.push(Remembered {
            id: approval_id(&record.session.to_string(), &rule),
            rule,
            at_ms: record.at_ms,
            session: record.session,
            project: None,
        }),
        Event::ApprovalRevoked { rule } => kept.retain(|other| other.rule != rule),
        _ => {}
    };
    store.for_each_record(session, follow).await?;
    Ok(kept)
}

fn find(all: Vec<Remembered>, wanted: &str) -> Result<Remembered, Failure> {
    let mut matches = all.into_iter().filter(|kept| kept.id.starts_with(wanted));
    match (matches.next(), matches.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::usage(format!(
            "no remembered approval has an id that begins with `{}`; `agent-host approvals list` shows all of them",
            escape_line(wanted)
        ))),
        (Some(one), Some(other)) => Err(Failure::usage(format!(
            "several approvals have an id that begins with `{}`, such as {} and {}; type more of the id",
            escape_line(wanted),
            one.id,
            other.id
        ))),
    }
}

/// Revokes approvals, prints each, and returns the errors of those that could not be revoked.
async fn revoke(
    store: &dyn JournalStore,
    gone: &[Remembered],
    terminal: &Terminal,
) -> Result<Vec<String>, Failure> {
    let report = |gone: &[&Remembered]| {
        for kept in gone {
            terminal.println(&format!("revoked {}", kept.line()));
        }
    };
    let (in_projects, in_sessions): (Vec<&Remembered>, Vec<&Remembered>) =
        gone.iter().partition(|kept| kept.project.is_some());
    if !in_projects.is_empty() {
        let approvals = in_projects.iter().filter_map(|kept| kept.project.clone());
        store.revoke_approvals(approvals.collect()).await?;
        report(&in_projects);
    }
    let mut faults = Vec::new();
    for of_session in in_sessions.chunk_by(|kept, next| kept.session == next.session) {
        match revoke_in_session(store, of_session).await {
            Ok(()) => report(of_session),
            Err(error) => faults.push(error.to_string()),
        }
    }
    Ok(faults)
}

/// Revokes approvals of one session in its journal, which no other process may be writing to.
async fn revoke_in_session(
    store: &dyn JournalStore,
    gone: &[&Remembered],
) -> Result<(), JournalError> {
    let Some(first) = gone.first() else {
        return Ok(());
    };
    let journal = store.open_session(first.session).await?;
    let mut session = Session::resume(journal).await?;
    for kept in gone {
        session.revoke_approval(&kept.rule, &Unobserved).await?;
    }
    Ok(())
}

impl Remembered {
    fn from_project(approval: ProjectApproval) -> Self {
        Self {
            id: approval.id(),
            rule: approval.rule.clone(),
            at_ms: approval.at_ms,
            session: approval.session,
            project: Some(approval),
        }
    }

    fn line(&self) -> String {
        let place = match &self.project {
            Some(kept) => format!("project {}", kept.project),
            None => format!("session {}", self.session),
        };
        format!(
            "{BOLD}{}{BOLD:#}  {}  {}  {DIM}{}{DIM:#}",
            self.id,
            date(self.at_ms),
            escape_line(&self.rule.to_string()),
            escape_line(&place),
        )
    }

    fn as_json(&self) -> Value {
        json!({
            "id": self.id,
            "scope": if self.project.is_some() { RememberScope::Project } else { RememberScope::Session },
            "rule": self.rule,
            "text": self.rule.to_string(),
            "at_ms": self.at_ms,
            "session": self.session,
            "project": self.project.as_ref().map(|kept| &kept.project),
        })
    }
}
