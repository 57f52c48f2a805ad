//! `agent-host sessions`: lists, shows and manages journaled sessions.

mod artifacts;
mod list;
mod manage;
mod replay;
mod sealed;
mod show;
mod waiting;

pub(super) use list::warn_of_lost_events;
pub(super) use manage::{export, write_file};
pub(super) use show::{LOOKED_AT, last_call};

use super::{configure, find_session, open_journal, run};
use crate::{
    args::{SessionsArgs, SessionsCommand},
    exit::{Exit, Failure},
    terminal::{DIM, Terminal, escape, json_text},
};
use agent_host_app::{Overrides, config::Config, session_project, workflow_drawings};
use agent_host_engine::turn::StepReader;
use agent_host_journal::{JournalStore, Ownership, Retention, SessionName};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
};
use serde_json::json;
use show::Story;
use std::collections::BTreeSet;

#[expect(
    clippy::too_many_lines,
    reason = "one short arm for each command, and for each form of one"
)]
pub(super) async fn sessions(args: SessionsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    // `run` opens the journal itself.
    if let SessionsCommand::Resume(args) = args.command {
        return run(*args, terminal).await;
    }
    let config = configure(args.config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let store = store.as_ref();
    let full = async |name: &str| -> Result<String, Failure> {
        Ok(find_session(store, &config, name).await?.to_string())
    };
    match args.command {
        SessionsCommand::Resume(args) => run(*args, terminal).await,
        SessionsCommand::List { waiting, json } => {
            let here = config.working_dir.display().to_string();
            match waiting {
                true => waiting::list(store, &here, json, terminal).await,
                false => list::list(store, &here, json, terminal).await,
            }
        }
        SessionsCommand::Name { session, name } => {
            let name = SessionName::parse(&name).map_err(Failure::usage)?;
            let id = find_session(store, &config, &session).await?;
            store.name_session(id, name).await?;
            Ok(Exit::Done)
        }
        SessionsCommand::Show {
            session,
            steps: true,
            ..
        } => print_steps(store, &full(&session).await?, terminal).await,
        SessionsCommand::Show {
            session,
            events: false,
            json: false,
            ..
        } => tell(store, &full(&session).await?, terminal).await,
        SessionsCommand::Show { session, json, .. } => {
            show(store, &full(&session).await?, json, terminal).await
        }
        SessionsCommand::Replay {
            session,
            policy: Some(policy),
            json,
        } => {
            let policy = replay::policy(&policy)?;
            let id = find_session(store, &config, &session).await?;
            replay::decide(store, id, &policy, json, terminal).await
        }
        SessionsCommand::Replay { session, json, .. } => {
            let id = find_session(store, &config, &session).await?;
            replay::replay(store, id, json, terminal).await
        }
        SessionsCommand::Fork { session, at } => {
            manage::fork(store, &full(&session).await?, at, terminal).await
        }
        SessionsCommand::Export {
            session,
            output,
            seal,
        } => {
            let (session, output) = (full(&session).await?, output.as_deref());
            match seal {
                Some(key) => sealed::export(store, &session, &key, output, terminal).await,
                None => export(store, &session, output, terminal).await,
            }
        }
        SessionsCommand::Import {
            file,
            sealed: Some(key),
            ..
        } => sealed::import(store, imported(&config), &file, &key, terminal).await,
        SessionsCommand::Import { file, as_new, .. } => {
            manage::import(store, imported(&config), &file, as_new, terminal).await
        }
        SessionsCommand::Delete { sessions } => {
            let mut ids = Vec::with_capacity(sessions.len());
            for session in &sessions {
                ids.push(full(session).await?);
            }
            manage::delete(store, &ids, terminal).await
        }
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
            let content = artifacts::content(store, &full(&session).await?, &name).await?;
            manage::write_content(&content, output.as_deref(), terminal).await
        }
        SessionsCommand::Artifacts { session, json, .. } => {
            artifacts::list(store, &full(&session).await?, json, terminal).await
        }
        SessionsCommand::Blob { digest, output } => {
            let digest: Digest = digest.parse().map_err(Failure::usage)?;
            let bytes = store.read_blob(digest).await.map_err(Failure::usage)?;
            manage::write_content(&bytes, output.as_deref(), terminal).await
        }
    }
}

/// Tells a session as a story.
async fn tell(
    store: &dyn JournalStore,
    session: &str,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let id = store.find(session).await?;
    let mut setups = BTreeSet::new();
    let collect = |record: EventRecord| {
        if let Event::LoopConfigured { setup, .. } = record.event {
            setups.insert(setup.digest);
        }
    };
    store.for_each_record(id, collect).await?;
    let mut story = Story::default();
    for setup in setups {
        // Without it, the calls are told in the usual words.
        if let Ok(setup) = store.read_blob(setup).await {
            story.add_setup(&setup);
        }
    }
    let mut has_workflow = false;
    let print = |record: EventRecord| {
        has_workflow |= matches!(record.event, Event::WorkflowStarted { .. });
        if let Some(text) = story.tell(&record) {
            terminal.println(&text);
        }
    };
    store.for_each_record(id, print).await?;
    if has_workflow {
        print_drawings(store, id, terminal).await?;
    }
    terminal.println(&story.totals());
    terminal.note(&format!(
        "{DIM}every event: agent-host sessions show {id} --events{DIM:#}"
    ));
    Ok(Exit::Done)
}

async fn print_drawings(
    store: &dyn JournalStore,
    id: SessionId,
    terminal: &Terminal,
) -> Result<(), Failure> {
    for drawing in workflow_drawings(store, id).await? {
        terminal.println(&format!("\n{}", escape(drawing.text.trim_end())));
    }
    Ok(())
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
        print_drawings(store, id, terminal).await?;
    }
    Ok(Exit::Done)
}

/// Returns whose a session is that is imported here.
fn imported(config: &Config) -> Ownership {
    Ownership {
        project: session_project(config),
        owner: None,
    }
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
