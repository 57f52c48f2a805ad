//! A run as it happens.

use super::ids::RunId;
use crate::{
    Service,
    access::Caller,
    events::{Line, Reader},
    runs::{FeedItem, Runs},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, SessionId},
};
use serde::Deserialize;
use std::{fmt::Display, sync::Arc};
use tokio::sync::broadcast::Receiver;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Update {
    /// An event of the journal.
    Record(Box<EventRecord>),
    /// More text of the reply.
    Text(String),
    /// More text of the reasoning.
    Reasoning(String),
    /// The reply broke off and begins again.
    Restarted,
    /// Nothing, for a while.
    Idle,
    /// The rest cannot be read, for this reason. The run itself may continue.
    Broken(String),
}

/// Follows a run.
pub(super) struct Follow {
    service: Service,
    run: RunId,
    reader: Reader,
    /// The number of the next event.
    next: u64,
    /// Whether text is taken as it arrives. If not, the journal alone has it.
    is_live: bool,
    /// Whether text was lost since the last event.
    has_gap: bool,
    /// Whether the last event ended a turn.
    has_ended_turn: bool,
    /// The client; the response ends with its token.
    caller: Caller,
    cancel: Option<CancelOnDrop>,
}

/// Cancels the run of a response that no one can read any more.
pub(super) struct CancelOnDrop {
    runs: Arc<Runs>,
    session: SessionId,
    /// The client.
    by: String,
    is_armed: bool,
}

impl CancelOnDrop {
    pub(super) fn new(runs: &Arc<Runs>, session: SessionId, by: String) -> Self {
        Self {
            runs: Arc::clone(runs),
            session,
            by,
            is_armed: true,
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.is_armed {
            self.runs.cancel(self.session, Some(self.by.clone()));
        }
    }
}

/// A line that is not in the journal.
#[derive(Deserialize)]
struct LiveLine {
    /// Absent in an event of an agent.
    live: Option<String>,
    text: Option<String>,
    #[serde(default)]
    path: Vec<CallId>,
}

impl Follow {
    /// Follows a run from its first event, by a feed that was opened before.
    pub(super) fn of_feed(
        service: &Service,
        run: RunId,
        feed: Receiver<FeedItem>,
        caller: Caller,
        cancel: Option<CancelOnDrop>,
    ) -> Self {
        Self {
            caller,
            cancel,
            reader: Reader::of_feed(service, run.session, run.seq, feed),
            service: service.clone(),
            run,
            next: run.seq,
            is_live: true,
            has_gap: false,
            has_ended_turn: false,
        }
    }

    /// Follows a run that began before, by its events alone.
    pub(super) fn of_journal(service: &Service, run: RunId, caller: Caller) -> Self {
        Self {
            caller,
            reader: Reader::new(service, run.session, run.seq),
            service: service.clone(),
            run,
            next: run.seq,
            cancel: None,
            is_live: false,
            has_gap: false,
            has_ended_turn: false,
        }
    }

    /// Lets the run be, which has ended.
    pub(super) fn end(&mut self) {
        if let Some(cancel) = self.cancel.as_mut() {
            cancel.is_armed = false;
        }
    }

    /// Returns what happens next; `None` if the run is over without an end in the journal, the
    /// server ends, or the client's token was revoked.
    pub(super) async fn next(&mut self) -> Option<Update> {
        // A server that ends starts no further turn.
        if self.has_ended_turn && !self.service.runs.is_open() {
            return None;
        }
        loop {
            let Some(line) = self.reader.line().await else {
                if self.service.stop.is_cancelled() {
                    return None;
                }
                // Too far behind: what was missed is in the journal, except for the text so far.
                self.has_gap = true;
                self.reader = Reader::new(&self.service, self.run.session, self.next);
                continue;
            };
            match line {
                Line::Record { seq, json } => {
                    self.next = seq.saturating_add(1);
                    self.has_gap = false;
                    let update = recorded(seq, &json);
                    if let Update::Record(record) = &update {
                        self.has_ended_turn = matches!(record.event, Event::TurnEnded { .. });
                    }
                    return Some(update);
                }
                Line::Live(json) if self.is_live && !self.has_gap => match update(&json) {
                    Ok(Some(update)) => return Some(update),
                    Ok(None) => {}
                    Err(error) => {
                        let session = self.run.session;
                        tracing::warn!(
                            "progress of session {session} cannot be read, and its text comes from the journal: {error}"
                        );
                        self.has_gap = true;
                    }
                },
                Line::Live(_) => {}
                Line::Failed(error) => return Some(broken(&error)),
                Line::Heartbeat if self.caller.is_revoked().await => {
                    // As that of a client that hangs up.
                    drop(self.cancel.take());
                    return None;
                }
                Line::Heartbeat => {
                    let runs = &self.service.runs;
                    return match runs.is_running_anywhere(self.run.session).await {
                        true => Some(Update::Idle),
                        false => self.rest().await,
                    };
                }
            }
        }
    }

    /// Returns an event that was recorded just before the run ended.
    async fn rest(&mut self) -> Option<Update> {
        let store = self.service.host.store();
        match store.read(self.run.session, self.next).await {
            Ok(page) if page.is_empty() => return None,
            Ok(_) => {}
            Err(error) => return Some(broken(&error)),
        }
        self.reader = Reader::new(&self.service, self.run.session, self.next);
        Some(Update::Idle)
    }
}

/// Reads an event of the journal, which another version of this program may have recorded.
fn recorded(seq: u64, json: &str) -> Update {
    match serde_json::from_str(json) {
        Ok(record) => Update::Record(Box::new(record)),
        Err(error) => broken(&format_args!("event {seq}: {error}")),
    }
}

fn broken(error: &dyn Display) -> Update {
    let reason = error.to_string();
    tracing::error!("a response of the OpenAI API breaks off: {reason}");
    Update::Broken(reason)
}

/// Reads a line that is not in the journal; `None` for one that is no part of a response.
fn update(json: &str) -> Result<Option<Update>, serde_json::Error> {
    let line: LiveLine = serde_json::from_str(json)?;
    if !line.path.is_empty() {
        return Ok(None);
    }
    Ok(match line.live.as_deref() {
        Some("text") => line.text.map(Update::Text),
        Some("reasoning") => line.text.map(Update::Reasoning),
        Some("restarted") => Some(Update::Restarted),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Update, recorded, update};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn unreadable_event_breaks_the_response_off_with_a_reason() {
        let json = json!({"v": 1, "kind": "of-a-newer-version"}).to_string();
        let Update::Broken(reason) = recorded(7, &json) else {
            panic!("{json}");
        };
        assert!(reason.starts_with("event 7: "), "{reason}");
    }

    #[test]
    fn progress_is_read_ignored_or_reported_as_lost() {
        let table = [
            (r#"{"live":"text","text":"hi"}"#, Ok("Some(Text(\"hi\"))")),
            (r#"{"live":"restarted"}"#, Ok("Some(Restarted)")),
            (r#"{"live":"text","text":"hi","path":["a"]}"#, Ok("None")),
            (r#"{"live":"step"}"#, Ok("None")),
            (r#"{"path":["a"],"event":{}}"#, Ok("None")),
            (r#"{"live":"text","text":7}"#, Err(())),
            ("{", Err(())),
        ];
        for (line, expected) in table {
            let read = update(line).map(|update| format!("{update:?}"));
            assert_eq!(read.map_err(drop), expected.map(str::to_owned), "{line}");
        }
    }
}
