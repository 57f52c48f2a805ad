//! `agent-host sessions`: lists, shows and manages journaled sessions.

mod artifacts;
mod manage;
mod show;

use super::{configure, run};
use crate::{
    args::{SessionsArgs, SessionsCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, date, json_text, one_line},
};
use agent_host_app::{Config, Overrides, open_store};
use agent_host_journal::{JournalStore, LostEvents, Retention};
use agent_host_types::{event::EventRecord, id::Digest};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn sessions(args: SessionsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match args.command {
        SessionsCommand::List { config, json } => {
            list(open(config).await?.as_ref(), json, terminal).await
        }
        SessionsCommand::Show {
            session,
            config,
            json,
        } => show(open(config).await?.as_ref(), &session, json, terminal).await,
        SessionsCommand::Resume(args) => run::run(*args, terminal).await,
        SessionsCommand::Fork {
            session,
            at,
            config,
        } => manage::fork(open(config).await?.as_ref(), &session, at, terminal).await,
        SessionsCommand::Export {
            session,
            output,
            config,
        } => {
            manage::export(
                open(config).await?.as_ref(),
                &session,
                output.as_deref(),
                terminal,
            )
            .await
        }
        SessionsCommand::Import {
            file,
            as_new,
            config,
        } => manage::import(open(config).await?.as_ref(), &file, as_new, terminal).await,
        SessionsCommand::Delete { sessions, config } => {
            manage::delete(open(config).await?.as_ref(), &sessions, terminal).await
        }
        SessionsCommand::Prune {
            older_than,
            max_bytes,
            config,
        } => {
            let config = configure(config, Overrides::default())?;
            let retention = match (older_than, max_bytes) {
                (None, None) => config.session.keep,
                (days, bytes) => Retention {
                    age: days.map(|days| manage::DAY.saturating_mul(days)),
                    bytes,
                },
            };
            let store = open_configured(&config).await?;
            manage::prune(store.as_ref(), retention, terminal).await
        }
        SessionsCommand::Recover { session, config } => {
            manage::recover(open(config).await?.as_ref(), &session, terminal).await
        }
        SessionsCommand::Artifacts {
            session,
            name,
            output,
            config,
            json,
        } => {
            let store = open(config).await?;
            match name {
                Some(name) => {
                    let content = artifacts::content(store.as_ref(), &session, &name).await?;
                    manage::write_content(&content, output.as_deref(), terminal).await
                }
                None => artifacts::list(store.as_ref(), &session, json, terminal).await,
            }
        }
        SessionsCommand::Blob {
            digest,
            output,
            config,
        } => {
            let digest: Digest = digest.parse().map_err(Failure::usage)?;
            let store = open(config).await?;
            let bytes = store.read_blob(digest).await.map_err(Failure::usage)?;
            manage::write_content(&bytes, output.as_deref(), terminal).await
        }
    }
}

pub(super) async fn open(
    config: crate::args::ConfigArgs,
) -> Result<Arc<dyn JournalStore>, Failure> {
    open_configured(&configure(config, Overrides::default())?).await
}

/// Opens the journal without pruning in the background.
async fn open_configured(config: &Config) -> Result<Arc<dyn JournalStore>, Failure> {
    let store = open_store(config, Retention::default());
    store.await.map_err(Failure::failed)
}

async fn show(
    store: &dyn JournalStore,
    session: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let id = manage::find(store, session).await?;
    let print = |record: EventRecord| {
        terminal.println(&if as_json {
            json_text(&json!(record))
        } else {
            show::step(&record)
        });
    };
    store
        .for_each_record(id, print)
        .await
        .map_err(Failure::failed)?;
    Ok(Exit::Done)
}

async fn list(
    store: &dyn JournalStore,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let rows = store.list().await.map_err(Failure::failed)?;
    if rows.is_empty() && !as_json {
        terminal.note("There are no sessions yet. `agent-host run \"...\"` makes one.");
    }
    for lost in store.lost_events().await.map_err(Failure::failed)? {
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
    for row in rows {
        if as_json {
            terminal.println(&json_text(&json!({
                "session": row.id,
                "started_ms": row.started_ms,
                "last_ms": row.last_ms,
                "events": row.events,
                "title": row.title,
                "directory": row.directory,
                "outcome": row.outcome,
            })));
            continue;
        }
        terminal.println(&format!(
            "{BOLD}{}{BOLD:#}  {}  {:<22} {:>4} events  {}  {DIM}{}{DIM:#}",
            row.id,
            date(row.started_ms),
            row.outcome.as_deref().unwrap_or("unfinished"),
            row.events,
            one_line(row.title.as_deref().unwrap_or(""), 50),
            one_line(row.directory.as_deref().unwrap_or(""), 60),
        ));
    }
    Ok(Exit::Done)
}
