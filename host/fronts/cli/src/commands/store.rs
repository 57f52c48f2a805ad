//! `agent-host store`: the care of the store as a whole.

#[cfg(feature = "postgres")]
mod database;

use super::configure;
use crate::{
    args::{StoreArgs, StoreCommand},
    exit::{Exit, Failure},
    terminal::{Terminal, counted, escape_line},
};
use agent_host_app::{Config, Environment, Overrides, StoreConfig, open_maintenance};
use agent_host_journal::{
    Maintenance, MoveStep, Moved, SessionCheck, UnsignedRow, check, check_rest, move_sessions,
};
use serde_json::json;
use std::{collections::BTreeSet, ops::ControlFlow};

/// The name of the store in the state directory, for `--to`.
const STATE_DIR: &str = "state-dir";

pub(super) async fn store(args: StoreArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    #[cfg(feature = "postgres")]
    if let StoreCommand::Grants { role } = &args.command {
        return database::grants(role, terminal);
    }
    let config = configure(args.config, Overrides::default())?;
    match args.command {
        #[cfg(feature = "postgres")]
        StoreCommand::Migrate => database::migrate(&config, terminal).await,
        #[cfg(feature = "postgres")]
        StoreCommand::Grants { role } => database::grants(&role, terminal),
        StoreCommand::Check {
            remove_unsigned,
            json,
        } => {
            let store = open_maintenance(&config, &config.store).await?;
            let checked = check_store(store.as_ref(), json, terminal).await?;
            settle(store.as_ref(), checked, remove_unsigned, terminal).await
        }
        StoreCommand::Move { to, json } => move_store(&config, &to, json, terminal).await,
        #[cfg(feature = "postgres")]
        StoreCommand::Rekey { from } => database::rekey(&config, from.as_deref(), terminal).await,
    }
}

/// The result of the check of a store, which is printed.
#[derive(Default)]
struct Checked {
    sessions: u64,
    events: u64,
    blobs: u64,
    /// The number of faults: what is missing, changed, or belongs to nothing.
    damages: usize,
    unsigned: Vec<UnsignedRow>,
}

async fn check_store(
    store: &dyn Maintenance,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    let each = |session: SessionCheck| {
        checked.sessions += 1;
        checked.events += session.events;
        checked.blobs += session.blobs;
        checked.damages += session.faults.len();
        if as_json {
            terminal.println_as(true, || json!(session), String::new);
        } else {
            print_faults(&session.faults, terminal);
        }
    };
    check(store.as_store(), each).await?;
    let mut rest = check_rest(store).await?;
    checked.damages += rest.len();
    checked.unsigned = store.unsigned().await?;
    rest.extend(checked.unsigned.iter().map(UnsignedRow::to_string));
    if as_json {
        terminal.println_as(true, || json!({ "faults": rest }), String::new);
    } else {
        print_faults(&rest, terminal);
    }
    Ok(checked)
}

/// Removes the unsigned rows that were found, if that is wanted, and says what is left to do.
async fn settle(
    store: &dyn Maintenance,
    checked: Checked,
    removes: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let of_sessions: BTreeSet<String> = checked
        .unsigned
        .iter()
        .filter_map(|row| row.session().map(str::to_owned))
        .collect();
    if checked.sessions > 0 && of_sessions.len() as u64 == checked.sessions {
        return Err(Failure::failed(
            "no session of this store has a valid signature, so its key is not the one that signed them: restore \
             that key from a backup, and check again. Nothing was removed. To copy a session without that key: \
             agent-host sessions fork ID",
        ));
    }
    let removable: Vec<_> = checked
        .unsigned
        .into_iter()
        .filter(UnsignedRow::is_removable)
        .collect();
    let mut left = Vec::new();
    if removes && !removable.is_empty() {
        let removed = store.remove_unsigned(removable).await?;
        let rows = counted(removed, "row");
        terminal.note(&format!("Removed {rows} without a valid signature."));
    } else if !removable.is_empty() {
        let rows = counted(removable.len() as u64, "row");
        left.push(format!(
            "{rows} without a valid signature: another program wrote them; to remove them: agent-host store check --remove-unsigned"
        ));
    }
    if !of_sessions.is_empty() {
        let sessions = counted(of_sessions.len() as u64, "session");
        left.push(format!(
            "{sessions} without a valid signature; to copy one: agent-host sessions fork ID; to remove one: \
             agent-host sessions delete ID"
        ));
    }
    let sessions = counted(checked.sessions, "session");
    let events = counted(checked.events, "event");
    if checked.damages > 0 {
        let faults = counted(checked.damages as u64, "fault");
        let damaged =
            format!("{faults} in {sessions} with {events}; restore the damaged data from a backup");
        left.insert(0, damaged);
    }
    if left.is_empty() {
        let blobs = counted(checked.blobs, "blob");
        terminal.note(&format!(
            "Nothing is missing or changed: {sessions}, {events}, {blobs}."
        ));
        return Ok(Exit::Done);
    }
    Err(Failure::failed(left.join(". ")))
}

fn print_faults(faults: &[String], terminal: &Terminal) {
    for fault in faults {
        terminal.println(&escape_line(fault));
    }
}

async fn move_store(
    config: &Config,
    to: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let target = match to {
        STATE_DIR => StoreConfig::default(),
        url => config.store.elsewhere(url, &Environment::from_process()?)?,
    };
    let from = open_maintenance(config, &config.store).await?;
    let other = open_maintenance(config, &target).await?;
    // Every step is durable when it is told; nothing here decides to stop.
    let mut each = |_: MoveStep| ControlFlow::Continue(());
    let moved = move_sessions(from.as_ref(), other.as_ref(), &mut each)
        .await
        .map_err(Failure::failed)?;
    report(&moved, as_json, terminal);
    match moved.kept.len() {
        0 => Ok(Exit::Done),
        kept => Err(Failure::failed(format!(
            "{kept} sessions were not moved; resolve the reasons, and run the same command again"
        ))),
    }
}

fn report(moved: &Moved, as_json: bool, terminal: &Terminal) {
    let kept = moved.kept.iter();
    if as_json {
        let kept: Vec<_> = kept
            .map(|(session, why)| json!({ "session": session, "reason": why.to_string() }))
            .collect();
        let unnamed = moved.unnamed.iter();
        let unnamed: Vec<_> = unnamed
            .map(|(session, name)| json!({ "session": session, "name": name }))
            .collect();
        let document = || {
            json!({
                "sessions": moved.sessions,
                "agents": moved.agents,
                "approvals": moved.approvals,
                "memory": moved.items,
                "kept": kept,
                "unnamed": unnamed,
                "without_undo": moved.without_undo,
                "interrupted": moved.interrupted,
                "continuation_key": moved.has_key,
            })
        };
        terminal.println_as(true, document, String::new);
        return;
    }
    for (session, why) in kept {
        terminal.println(&escape_line(&format!("{session} was not moved: {why}")));
    }
    for (session, name) in &moved.unnamed {
        terminal.println(&escape_line(&format!(
            "{session} lost its name: another session of its directory is named `{name}`"
        )));
    }
    if !moved.without_undo.is_empty() {
        terminal.note(&format!(
            "The `undo` data of {} sessions was on this machine and is gone.",
            moved.without_undo.len()
        ));
    }
    for session in &moved.interrupted {
        terminal.note(&format!(
            "{session} was interrupted: continue it with `agent-host run --resume {session}`."
        ));
    }
    if !moved.has_key {
        terminal.note(
            "The other store already had sessions and keeps its own key: requests pending there are asked again.",
        );
    }
    if moved.items > 0 {
        let items = counted(moved.items as u64, "remembered item");
        terminal.note(&format!("{items} moved."));
    }
    terminal.note(&format!(
        "{} moved, with {} of agents and {} of projects.",
        counted(moved.sessions.len() as u64, "session"),
        moved.agents,
        counted(moved.approvals as u64, "approval")
    ));
}
