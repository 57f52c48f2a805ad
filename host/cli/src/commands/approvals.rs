//! `agent-host approvals`: what people do not want to be asked again, in sessions and in projects, and taking it back.

use super::configure;
use crate::{
    args::{ApprovalsArgs, ApprovalsCommand, ConfigArgs},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, date, escape_line, json_text},
};
use agent_host_app::{Overrides, open_store};
use agent_host_engine::{journal::JournalError, observer::Unobserved, session::Session};
use agent_host_journal::{JournalStore, ProjectApproval, Retention, approval_id};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    event::{Event, EventRecord},
    id::SessionId,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// An approval that is remembered.
struct Kept {
    id: String,
    rule: ApprovalRule,
    at_ms: u64,
    /// The session in which it was given.
    session: SessionId,
    /// Where it is kept, if not in that session.
    project: Option<ProjectApproval>,
}

pub(super) async fn approvals(args: ApprovalsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match args.command {
        ApprovalsCommand::List { config, json } => {
            let store = open(config).await?;
            let (all, unread) = all(store.as_ref()).await?;
            if all.is_empty() && unread.is_empty() && !json {
                terminal
                    .note("No approval is remembered: every call that needs one is asked about.");
            }
            for kept in &all {
                terminal.println(&if json {
                    json_text(&kept.as_json())
                } else {
                    kept.line()
                });
            }
            done_but(&unread)
        }
        ApprovalsCommand::Revoke { id, config, .. } => {
            let store = open(config).await?;
            let (all, unread) = all(store.as_ref()).await?;
            let Some(id) = id else {
                let mut faults = revoke(store.as_ref(), &all, terminal).await?;
                faults.extend(unread);
                return done_but(&faults);
            };
            let one = find(all, &id)?;
            done_but(&revoke(store.as_ref(), &[one], terminal).await?)
        }
    }
}

/// Done, if nothing is amiss with any session.
fn done_but(faults: &[String]) -> Result<Exit, Failure> {
    if faults.is_empty() {
        Ok(Exit::Done)
    } else {
        Err(Failure::failed(faults.join("\n")))
    }
}

async fn open(config: ConfigArgs) -> Result<Arc<dyn JournalStore>, Failure> {
    let config = configure(config, Overrides::default())?;
    let store = open_store(&config, Retention::default());
    store.await.map_err(Failure::failed)
}

/// Everything that is remembered: in projects, then in sessions, the newest session first; and which sessions cannot be read. One
/// that cannot be read cannot go on either, so that nothing that is remembered in it is in force.
async fn all(store: &dyn JournalStore) -> Result<(Vec<Kept>, Vec<String>), Failure> {
    let approvals = store.approvals().await.map_err(Failure::failed)?;
    let mut all: Vec<Kept> = approvals.into_iter().map(Kept::of_project).collect();
    let mut unread = Vec::new();
    for row in store.list().await.map_err(Failure::failed)? {
        match of_session(store, row.id).await {
            Ok(kept) => all.extend(kept),
            Err(error) => unread.push(error.to_string()),
        }
    }
    Ok((all, unread))
}

/// What is remembered in a session: given and not taken back.
async fn of_session(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Vec<Kept>, JournalError> {
    let mut kept = Vec::<Kept>::new();
    let follow = |record: EventRecord| match record.event {
        Event::ApprovalRemembered {
            rule,
            scope: RememberScope::Session,
        } if kept.iter().all(|other| other.rule != rule) => kept.push(Kept {
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

fn find(all: Vec<Kept>, wanted: &str) -> Result<Kept, Failure> {
    let mut fitting = all.into_iter().filter(|kept| kept.id.starts_with(wanted));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::usage(format!(
            "no approval with an id that begins with `{}` is remembered; `agent-host approvals list` shows those that are",
            escape_line(wanted)
        ))),
        (Some(one), Some(other)) => Err(Failure::usage(format!(
            "several approvals have an id that begins with `{}`, such as {} and {}; give more of the id",
            escape_line(wanted),
            one.id,
            other.id
        ))),
    }
}

/// Takes approvals back, says of each when it is, and returns why others could not be.
async fn revoke(
    store: &dyn JournalStore,
    gone: &[Kept],
    terminal: &Terminal,
) -> Result<Vec<String>, Failure> {
    let told = |gone: &[&Kept]| {
        for kept in gone {
            terminal.println(&format!("revoked {}", kept.line()));
        }
    };
    let (in_projects, in_sessions): (Vec<&Kept>, Vec<&Kept>) =
        gone.iter().partition(|kept| kept.project.is_some());
    if !in_projects.is_empty() {
        let approvals = in_projects.iter().filter_map(|kept| kept.project.clone());
        let revoked = store.revoke_approvals(approvals.collect()).await;
        revoked.map_err(Failure::failed)?;
        told(&in_projects);
    }
    let mut faults = Vec::new();
    for of_one in in_sessions.chunk_by(|kept, next| kept.session == next.session) {
        match revoke_in_session(store, of_one).await {
            Ok(()) => told(of_one),
            Err(error) => faults.push(error.to_string()),
        }
    }
    Ok(faults)
}

/// Takes approvals of one session back, in its journal, which no other process may be writing to.
async fn revoke_in_session(store: &dyn JournalStore, gone: &[&Kept]) -> Result<(), JournalError> {
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

impl Kept {
    fn of_project(approval: ProjectApproval) -> Self {
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
