//! `sessions replay`: runs the loop again over a recorded session, or decides on its calls
//! again.

#[cfg(test)]
mod tests;

use super::super::configure;
use crate::{
    args::ConfigArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, escape_line, json_text},
};
use agent_host_app::{Config, Overrides, read_recording};
use agent_host_engine::{
    replay::{CallDecision, Change, DecidedCall, Difference, Replayed, Unreplayable, decide_again},
    text::sanitize,
};
use agent_host_journal::JournalStore;
use agent_host_types::id::SessionId;
use serde_json::{Value, json};
use std::path::Path;

/// The bytes of a value that are shown to the user; JSON has all.
const SHOWN_BYTES: usize = 400;

/// Replays a session, and prints the first difference.
pub(super) async fn replay(
    store: &dyn JournalStore,
    session: SessionId,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let recording = read_recording(store, session).await?;
    let replayed = agent_host_engine::replay::replay(&recording).await;
    let Replayed { events, difference } = replayed.map_err(|why| refused(session, &why))?;
    terminal.println_as(
        as_json,
        || {
            json!({
                "session": session,
                "events": events,
                "is_equal": difference.is_none(),
                "difference": difference,
            })
        },
        || match &difference {
            None => format!("replayed {events} events of session {session}: equal"),
            Some(difference) => text_of(difference),
        },
    );
    Ok(match difference {
        None => Exit::Done,
        Some(_) => Exit::Failed,
    })
}

fn refused(session: SessionId, why: &Unreplayable) -> Failure {
    Failure::usage(format!(
        "session {session} cannot be replayed: {}",
        escape_line(&why.to_string())
    ))
}

fn text_of(difference: &Difference) -> String {
    let Difference {
        session,
        seq,
        field,
        recorded,
        replayed,
        reason,
    } = difference;
    let shown = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => escape_line(&sanitize(&value.to_string(), SHOWN_BYTES)),
    };
    let field = match field.as_str() {
        "" => "the whole event".to_owned(),
        field => escape_line(field),
    };
    let reason = reason.as_ref().map_or_else(String::new, |reason| {
        format!("\nreason    {}", escape_line(reason))
    });
    format!(
        "event {seq} of session {session} differs\nfield     {field}\nrecorded  {}\nreplayed  {}{reason}",
        shown(recorded),
        shown(replayed)
    )
}

/// Reads the configuration whose rules decide.
pub(super) fn policy(file: &Path) -> Result<Config, Failure> {
    let args = ConfigArgs {
        config: Some(file.to_owned()),
        ..ConfigArgs::default()
    };
    configure(args, Overrides::default())
}

/// Decides on the calls of a session again, and prints each decision.
pub(super) async fn decide(
    store: &dyn JournalStore,
    session: SessionId,
    policy: &Config,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let recording = read_recording(store, session).await?;
    let calls = decide_again(&recording, &policy.rules, &policy.flow)
        .map_err(|why| refused(session, &why))?;
    let count = |change: Change| calls.iter().filter(|call| call.change == change).count();
    let (stricter, looser) = (count(Change::Stricter), count(Change::Looser));
    if as_json {
        let report = json!({
            "session": session,
            "calls": calls,
            "stricter": stricter,
            "looser": looser,
        });
        terminal.println(&json_text(&report));
    } else {
        for call in &calls {
            terminal.println(&line_of(call));
        }
        terminal.println(&format!(
            "{} calls: {stricter} decided more strictly, {looser} less strictly",
            calls.len()
        ));
    }
    Ok(match stricter + looser {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

fn line_of(call: &DecidedCall) -> String {
    let decision = |decision: &CallDecision| {
        let name = json!(decision.decision);
        let name = name.as_str().unwrap_or_default().to_owned();
        format!("{name} ({})", escape_line(&decision.rule))
    };
    let change = match call.change {
        Change::Same => "same",
        Change::Stricter => "stricter",
        Change::Looser => "looser",
    };
    let agent = call.agent.as_deref().map_or_else(String::new, |agent| {
        format!(" of agent {}", escape_line(agent))
    });
    format!(
        "{change:<8}  event {} {} {}{agent}: {} -> {}",
        call.seq,
        escape_line(&call.tool),
        escape_line(&call.call_id.0),
        decision(&call.recorded),
        decision(&call.now)
    )
}
