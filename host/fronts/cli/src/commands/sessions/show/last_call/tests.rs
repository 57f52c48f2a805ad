//! The records that are read for the last call.

use super::last_call;
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, Event, EventRecord},
    id::{CallId, Digest, json_digest},
    output::ToolResultOutput,
    tool::Effect,
};
use futures_util::FutureExt as _;
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::sync::Arc;

/// The number of records in a page of the store.
const PAGE: usize = 50;

fn filler() -> Event {
    Event::KeyTaken {
        key: "k".to_owned(),
        input: Digest::of(b""),
    }
}

/// A call with this number of records between its arguments and its result.
fn call(id: &str, between: usize) -> Vec<Event> {
    let input: Map<_, _> = json!({ "path": id }).as_object().unwrap().clone();
    let call_id = CallId(id.to_owned());
    let begin = Event::CallIntended {
        call_id: call_id.clone(),
        tool: "read_file".to_owned(),
        input_digest: json_digest(&json!(input)),
        input: Arc::new(input),
        effect: Effect::ReadOnly,
        idempotency_key: String::new(),
        rule: None,
        path: Vec::new(),
    };
    let end = Event::CallSettled {
        call_id,
        tool: "read_file".to_owned(),
        output: ToolResultOutput::Text("hello".to_owned()),
        whole: None,
        child: None,
        accounting: Accounting::default(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
    };
    let between = std::iter::repeat_with(filler).take(between);
    std::iter::once(begin).chain(between).chain([end]).collect()
}

/// Returns the first line of the last call, and the number of pages that were read.
fn found(events: Vec<Event>) -> (Option<String>, usize) {
    let records = events.into_iter().zip(0..).map(|(event, seq)| EventRecord {
        v: EVENT_VERSION,
        session: "0198a000-0000-7000-8000-000000000001".parse().unwrap(),
        seq,
        at_ms: 0,
        event,
    });
    let records: Vec<EventRecord> = records.collect();
    let mut reads = 0;
    let read = async |from: u64| {
        reads += 1;
        let from = usize::try_from(from).unwrap();
        Ok(records.iter().skip(from).take(PAGE).cloned().collect())
    };
    let count = records.len() as u64;
    let text = last_call(count, read).now_or_never().unwrap().unwrap();
    let line = text.map(|text| text.lines().next().unwrap().to_owned());
    (line, reads)
}

fn line(id: &str) -> Option<String> {
    let bold = crate::terminal::BOLD;
    Some(format!(
        "{bold}call{bold:#} read_file {{\"path\":\"{id}\"}} \u{1b}[2m({id}, text)\u{1b}[0m"
    ))
}

#[test]
fn last_call_takes_as_many_reads_in_a_session_100_times_as_long() {
    let end = [call("one", 3), call("two", 3), vec![filler(), filler()]].concat();
    for (before, expected) in [(100, 2), (10_000, 2)] {
        let mut events: Vec<Event> = std::iter::repeat_with(filler).take(before).collect();
        events.extend(end.clone());
        assert_eq!(found(events), (line("two"), expected));
    }
}

/// Arguments far before the result, and a session that begins with the call.
#[test]
fn last_call_is_found_far_from_the_end() {
    for (between, behind) in [(0, 0), (500, 3), (0, 1_000)] {
        let fillers = std::iter::repeat_with(filler).take(behind);
        let events: Vec<Event> = call("one", between).into_iter().chain(fillers).collect();
        assert_eq!(found(events).0, line("one"), "{between} {behind}");
    }
}

#[test]
fn last_call_is_not_looked_for_without_end() {
    assert_eq!(found(Vec::new()), (None, 0));
    for count in [20_000, 40_000] {
        let events = std::iter::repeat_with(filler).take(count).collect();
        let (line, reads) = found(events);
        assert_eq!((line, reads), (None, 166));
    }
}
