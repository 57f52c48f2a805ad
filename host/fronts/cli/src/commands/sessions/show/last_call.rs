//! The last call of a session, read from its end, so that it costs the same however long the session
//! is.

#[cfg(test)]
mod tests;

use super::{calls::call, event};
use crate::terminal::BOLD;
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::{Event, EventRecord},
    id::CallId,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The number of records that are read first; each further part has twice as many as the one before.
const FIRST_PART: u64 = 64;

/// The least number of records that are looked at before a session has no last call.
pub(in crate::commands) const LOOKED_AT: u64 = 8_000;

/// The last call that has its result, with its arguments.
#[derive(Debug, Default)]
struct LastCall {
    ended: Option<Event>,
    input: Option<Arc<Map<String, Value>>>,
}

/// Returns the text of the last call of a session with this number of records; `None` if there is
/// none among the last [`LOOKED_AT`]. `read` reads a page of records from a number on, in their order.
pub(in crate::commands) async fn last_call(
    records: u64,
    mut read: impl AsyncFnMut(u64) -> Result<Vec<EventRecord>, JournalError>,
) -> Result<Option<String>, JournalError> {
    let mut last = LastCall::default();
    let (mut end, mut part) = (records, FIRST_PART);
    while end > records.saturating_sub(LOOKED_AT) && last.input.is_none() {
        let begin = end.saturating_sub(part);
        let mut found = Vec::new();
        let mut next = begin;
        while next < end {
            let page = read(next).await?;
            let Some(behind) = page.last().map(|record| record.seq.saturating_add(1)) else {
                break;
            };
            next = behind;
            let before = page.into_iter().take_while(|record| record.seq < end);
            found.extend(before.filter(|record| is_of_call(&record.event)));
        }
        for record in found.into_iter().rev() {
            last.add_earlier(record.event);
        }
        (end, part) = (begin, part * 2);
    }
    Ok(last.text())
}

fn is_of_call(event: &Event) -> bool {
    matches!(
        event,
        Event::ModelReplied { .. } | Event::CallIntended { .. } | Event::CallSettled { .. }
    )
}

impl LastCall {
    /// Adds the event before those that were added.
    fn add_earlier(&mut self, event: Event) {
        let Some(Event::CallSettled { call_id, .. }) = &self.ended else {
            if matches!(event, Event::CallSettled { .. }) {
                self.ended = Some(event);
            }
            return;
        };
        if self.input.is_none() {
            self.input = input_of(call_id, &event);
        }
    }

    fn text(self) -> Option<String> {
        let ended = self.ended?;
        let Event::CallSettled {
            call_id,
            tool,
            output,
            ..
        } = &ended
        else {
            return None;
        };
        let input = self.input.unwrap_or_default();
        let input = call(tool, &input, call_id, output.tag());
        Some(format!("{BOLD}call{BOLD:#} {input}\n{}", event(&ended)))
    }
}

/// Returns the arguments of a call, as it ran or as the model asked for it, if this event has them.
fn input_of(id: &CallId, event: &Event) -> Option<Arc<Map<String, Value>>> {
    match event {
        Event::CallIntended { call_id, input, .. } => (call_id == id).then(|| Arc::clone(input)),
        Event::ModelReplied { reply, .. } => {
            let asked = reply.tool_calls.iter().find(|call| call.id == *id)?;
            Some(asked.input.clone().unwrap_or_default())
        }
        _ => None,
    }
}
