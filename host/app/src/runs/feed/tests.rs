use super::*;
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A line about an agent, as its host relays it.
fn of_an_agent(v: u32) -> Value {
    let record = EventRecord {
        v,
        session: SessionId::new(),
        seq: 3,
        at_ms: 5,
        event: Event::NodeSkipped { node: "n".into() },
    };
    let mut line = json!(record);
    line["path"] = json!(["a"]);
    line
}

/// Readers of a feed get each text of another host as it was, whether or not it is known here.
#[test]
fn line_of_another_host_keeps_its_text() {
    let table = [
        (json!({"live": "text", "text": "hi"}), true),
        (
            json!({"live": "text", "text": "hi", "newer": 1, "path": ["a"]}),
            true,
        ),
        (of_an_agent(EVENT_VERSION), true),
        (of_an_agent(EVENT_VERSION + 1), false),
        (json!({"live": "text", "text": 7}), false),
        (json!({"live": "step"}), false),
        (json!({"live": "of-a-newer-version"}), false),
        (json!({"path": ["a"], "event": {}}), false),
        (json!([]), false),
    ];
    let table = table.map(|(line, is_known)| (line.to_string(), is_known));
    for (text, is_known) in table.into_iter().chain([("{".to_owned(), false)]) {
        let (kept, seq, was_known) = match FeedItem::from_json(text.as_str().into()) {
            FeedItem::Line(line) => (Arc::clone(line.json()), line.seq(), true),
            FeedItem::Unknown(json) => (json, None, false),
            FeedItem::Stored(_) => panic!("{text}"),
        };
        assert_eq!((&*kept, seq, was_known), (text.as_str(), None, is_known));
    }
}

/// A reader that comes as the run ends gets what the next run says.
#[test]
fn feed_is_not_forgotten_under_a_new_reader() {
    let runs = Runs::default();
    for _ in 0..20_000 {
        let session = SessionId::new();
        let _feed = runs.feed(session);
        let reader = std::thread::scope(|threads| {
            threads.spawn(|| runs.forget_unwatched(session));
            runs.watch(session)
        });
        assert_eq!(runs.feed(session).reader_count(), 1);
        drop(reader);
        runs.forget_unwatched(session);
    }
}
