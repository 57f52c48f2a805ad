//! `agent-host sessions list --waiting`: the sessions that wait, the oldest first.

#[cfg(test)]
mod tests;

use super::list::{Cells, Columns, age, cells, lines, span};
use crate::{
    exit::{Exit, Failure},
    terminal::{Terminal, json_text, one_line},
};
use agent_host_app::{WaitingRequest, WaitingSession, waiting_sessions};
use agent_host_engine::session::now_ms;
use agent_host_journal::JournalStore;
use serde_json::json;

/// The longest text of a request, in characters.
const SHOWN_REQUEST: usize = 40;

const WAITING: Columns = Columns {
    headings: [
        "ID",
        "SINCE",
        "STATUS",
        "REQUEST",
        "EXPIRES",
        "SESSION",
        "DIRECTORY",
    ],
    optional: [6, 4, 2, 3],
};

pub(super) async fn list(
    store: &dyn JournalStore,
    here: &str,
    as_json: bool,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let sessions = waiting_sessions(store).await?;
    if as_json {
        for session in &sessions {
            terminal.println(&json_text(&json!(session)));
        }
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        terminal.note("No sessions are waiting.");
        return Ok(Exit::Done);
    }
    let (now_ms, columns) = (now_ms(), terminal.stdout_columns());
    let rows = sessions
        .iter()
        .map(|session| row(session, here, now_ms, columns.is_none()));
    for line in lines(&WAITING, rows.collect(), columns) {
        terminal.println(&line);
    }
    terminal.note("To answer one of them: agent-host sessions resume ID");
    Ok(Exit::Done)
}

fn row(session: &WaitingSession, here: &str, now_ms: u64, is_whole: bool) -> Cells {
    let [id, _, status, _, _, title, directory] = cells(&session.info, here, now_ms, is_whole);
    let expires = session.expires_at_ms;
    [
        id,
        age(now_ms.saturating_sub(session.since_ms)),
        status,
        request(&session.requests),
        expires.map_or_else(String::new, |late| expiry(late, now_ms)),
        title,
        directory,
    ]
}

/// Formats the time of an expiry in milliseconds since 1970.
fn expiry(late_ms: u64, now_ms: u64) -> String {
    match late_ms.checked_sub(now_ms) {
        None | Some(0) => "expired".to_owned(),
        Some(left) => match span(left) {
            Some(span) => format!("in {span}"),
            None => "in less than 1 min".to_owned(),
        },
    }
}

/// Returns the tools or the question of the first request, and the number of the others.
fn request(requests: &[WaitingRequest]) -> String {
    let Some(first) = requests.first() else {
        return String::new();
    };
    let text = match first {
        WaitingRequest::Approval { tools } | WaitingRequest::Results { tools } => tools.join(", "),
        WaitingRequest::Answer { question } => question.clone(),
    };
    let text = one_line(&text, SHOWN_REQUEST);
    match requests.len() {
        1 => text,
        count => format!("{text} and {} more", count - 1),
    }
}
