//! `agent-host sessions`: what happened, read from the journal; and sessions as a whole.

mod artifacts;
mod manage;
mod show;

use super::{configure, run};
use crate::{
    args::{SessionsArgs, SessionsCommand},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, date, json_text, one_line},
};
use agent_host_app::{Config, Overrides};
use agent_host_journal::{Keep, LostEvents, Store, StoreOptions};
use agent_host_types::id::Digest;
use serde_json::json;

pub(super) async fn sessions(args: SessionsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match args.command {
        SessionsCommand::List { config, json } => list(&open(config)?, json, terminal),
        SessionsCommand::Show {
            session,
            config,
            json,
        } => show(&open(config)?, &session, json, terminal),
        SessionsCommand::Resume(args) => run::run(*args, terminal).await,
        SessionsCommand::Fork {
            session,
            at,
            config,
        } => manage::fork(&open(config)?, &session, at, terminal),
        SessionsCommand::Export {
            session,
            output,
            config,
        } => manage::export(&open(config)?, &session, output.as_deref(), terminal),
        SessionsCommand::Import {
            file,
            as_new,
            config,
        } => manage::import(&open(config)?, &file, as_new, terminal),
        SessionsCommand::Delete { sessions, config } => {
            manage::delete(&open(config)?, &sessions, terminal)
        }
        SessionsCommand::Prune {
            older_than,
            max_bytes,
            config,
        } => {
            let config = configure(config, Overrides::default())?;
            let keep = match (older_than, max_bytes) {
                (None, None) => config.session.keep,
                (days, bytes) => Keep {
                    age: days.map(|days| manage::DAY.saturating_mul(days)),
                    bytes,
                },
            };
            manage::prune(&open_configured(&config)?, keep, terminal)
        }
        SessionsCommand::Recover { session, config } => {
            manage::recover(&open(config)?, &session, terminal)
        }
        SessionsCommand::Artifacts {
            session,
            name,
            output,
            config,
            json,
        } => {
            let store = open(config)?;
            match name {
                Some(name) => {
                    let content = artifacts::content(&store, &session, &name)?;
                    manage::write_content(&content, output.as_deref(), terminal)
                }
                None => artifacts::list(&store, &session, json, terminal),
            }
        }
        SessionsCommand::Blob {
            digest,
            output,
            config,
        } => {
            let digest: Digest = digest.parse().map_err(Failure::usage)?;
            let bytes = open(config)?.read_blob(digest).map_err(Failure::usage)?;
            manage::write_content(&bytes, output.as_deref(), terminal)
        }
    }
}

pub(super) fn open(config: crate::args::ConfigArgs) -> Result<Store, Failure> {
    open_configured(&configure(config, Overrides::default())?)
}

/// Opens the journal to look at it or change it by command; nothing is removed in the background.
fn open_configured(config: &Config) -> Result<Store, Failure> {
    let options = StoreOptions {
        lock_timeout: config.session.lock_timeout,
        ..StoreOptions::default()
    };
    Store::open_with(&config.state_dir, options).map_err(Failure::failed)
}

fn show(store: &Store, session: &str, as_json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let id = manage::find(store, session)?;
    for record in store.read(id).map_err(Failure::failed)? {
        let record = record.map_err(Failure::failed)?;
        terminal.println(&if as_json {
            json_text(&json!(record))
        } else {
            show::step(&record)
        });
    }
    Ok(Exit::Done)
}

fn list(store: &Store, as_json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let rows = store.list().map_err(Failure::failed)?;
    if rows.is_empty() && !as_json {
        terminal.note("There are no sessions yet. `agent-host run \"...\"` makes one.");
    }
    for lost in store.lost_events().map_err(Failure::failed)? {
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
                "folder": row.folder,
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
            one_line(row.folder.as_deref().unwrap_or(""), 60),
        ));
    }
    Ok(Exit::Done)
}
