//! `agent-host sessions`: lists, shows and manages journaled sessions.

mod artifacts;
mod manage;
mod show;

pub(super) use manage::export;

use super::{configure, open_journal, run};
use crate::{
    args::{SessionsArgs, SessionsCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, date, escape, json_text, one_line},
};
use agent_host_app::{Overrides, workflow_drawings};
use agent_host_engine::turn::StepReader;
use agent_host_journal::{JournalStore, LostEvents, Retention};
use agent_host_types::{
    event::{Event, EventRecord},
    id::Digest,
};
use serde_json::json;

pub(super) async fn sessions(args: SessionsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    // `run` opens the journal itself.
    if let SessionsCommand::Resume(args) = args.command {
        return run::run(*args, terminal).await;
    }
    let config = configure(args.config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let store = store.as_ref();
    match args.command {
        SessionsCommand::Resume(args) => run::run(*args, terminal).await,
        SessionsCommand::List { json } => list(store, json, terminal).await,
        SessionsCommand::Show {
            session,
            steps: true,
            ..
        } => print_steps(store, &session, terminal).await,
        SessionsCommand::Show { session, json, .. } => show(store, &session, json, terminal).await,
        SessionsCommand::Fork { session, at } => manage::fork(store, &session, at, terminal).await,
        SessionsCommand::Export { session, output } => {
            export(store, &session, output.as_deref(), terminal).await
        }
        SessionsCommand::Import { file, as_new } => {
            manage::import(store, &file, as_new, terminal).await
        }
        SessionsCommand::Delete { sessions } => manage::delete(store, &sessions, terminal).await,
        SessionsCommand::Prune {
            older_than,
            max_bytes,
        } => {
            let retention = match (older_than, max_bytes) {
                (None, None) => config.session.keep,
                (days, bytes) => Retention {
                    age: days.map(|days| manage::DAY.saturating_mul(days)),
                    bytes,
                },
            };
            manage::prune(store, retention, terminal).await
        }
        SessionsCommand::Recover { session } => manage::recover(store, &session, terminal).await,
        SessionsCommand::Artifacts {
            session,
            name: Some(name),
            output,
            ..
        } => {
            let content = artifacts::content(store, &session, &name).await?;
            manage::write_content(&content, output.as_deref(), terminal).await
        }
        SessionsCommand::Artifacts { session, json, .. } => {
            artifacts::list(store, &session, json, terminal).await
        }
        SessionsCommand::Blob { digest, output } => {
            let digest: Digest = digest.parse().map_err(Failure::usage)?;
            let bytes = store.read_blob(digest).await.map_err(Failure::usage)?;
            manage::write_content(&bytes, output.as_deref(), terminal).await
        }
    }
}

async fn show(
    store: &dyn JournalStore,
    session: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let id = store.find(session).await?;
    let mut has_workflow = false;
    let print = |record: EventRecord| {
        has_workflow |= matches!(record.event, Event::WorkflowStarted { .. });
        terminal.println_as(as_json, || json!(record), || show::step(&record));
    };
    store.for_each_record(id, print).await?;
    if has_workflow && !as_json {
        for drawing in workflow_drawings(store, id).await? {
            terminal.println(&format!("\n{}", escape(drawing.trim_end())));
        }
    }
    Ok(Exit::Done)
}

/// Prints each step of a session's turns as a line of JSON.
async fn print_steps(
    store: &dyn JournalStore,
    session: &str,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let id = store.find(session).await?;
    let mut steps = StepReader::default();
    let print = |record: EventRecord| {
        for step in steps.read(record.event) {
            terminal.println(&json_text(&json!(step)));
        }
    };
    store.for_each_record(id, print).await?;
    Ok(Exit::Done)
}

async fn list(
    store: &dyn JournalStore,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let rows = store.list().await?;
    if rows.is_empty() && !as_json {
        terminal.note("There are no sessions yet. `agent-host run \"...\"` makes one.");
    }
    for lost in store.lost_events().await? {
        let LostEvents {
            session,
            left,
            missing,
        } = lost;
        terminal.note(&format!(
            "{YELLOW}warning:{YELLOW:#} the last {missing} events of session {session} are missing, and {left} are left; restore \
             the journal from a backup, or take the session as it is: agent-host sessions recover {session}"
        ));
    }
    // `sessions show` of the one that started an agent names the agent's.
    for row in rows
        .into_iter()
        .filter(|row| as_json || row.parent.is_none())
    {
        let as_value = || {
            json!({
                "session": row.id,
                "started_ms": row.started_ms,
                "last_ms": row.last_ms,
                "events": row.events,
                "title": row.title,
                "directory": row.directory,
                "outcome": row.outcome,
                "parent": row.parent,
            })
        };
        let as_line = || {
            format!(
                "{BOLD}{}{BOLD:#}  {}  {:<22} {:>4} events  {}  {DIM}{}{DIM:#}",
                row.id,
                date(row.started_ms),
                row.outcome.as_deref().unwrap_or("unfinished"),
                row.events,
                one_line(row.title.as_deref().unwrap_or(""), 50),
                one_line(row.directory.as_deref().unwrap_or(""), 60),
            )
        };
        terminal.println_as(as_json, as_value, as_line);
    }
    Ok(Exit::Done)
}
