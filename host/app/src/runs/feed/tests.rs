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

/// The last lines of running calls are there for a reader that comes later, and go with their call.
#[test]
fn printed_lines_are_kept_until_their_call_ends() {
    let feed = Feed::new();
    let live = |line| Arc::new(StreamLine::new(StreamContent::Live(line), Arc::default()));
    let print = |call: &str, text: &str| {
        let (call_id, text) = (CallId(call.to_owned()), text.to_owned());
        feed.publish(live(LiveLine::CallOutput { call_id, text }));
    };
    let kept = || -> Vec<Value> {
        let recent = feed.subscribe().recent;
        recent
            .iter()
            .map(|line| json!(**line)["text"].clone())
            .collect()
    };
    print("a", "one");
    print("b", "two");
    print("b", &"x".repeat(PIECE_BYTES));
    assert_eq!(kept(), ["one", "two"]);
    let settled = json!({
        "v": EVENT_VERSION, "session": SessionId::new(), "seq": 4, "at_ms": 5, "event": {
            "kind": "call-settled", "call_id": "a", "tool": "t",
            "output": {"type": "text", "value": "done"}, "accounting": {
                "wall_us": 0, "peak_memory_bytes": 0, "bytes_in": 0, "bytes_out": 0,
            },
        },
    });
    feed.send(FeedItem::from_json(settled.to_string().into()));
    assert_eq!(kept(), ["two"]);
    for number in 0..PRINTED_LINES {
        print("b", &number.to_string());
    }
    assert_eq!((kept().len(), &kept()[0]), (PRINTED_LINES, &json!("0")));
    feed.send(FeedItem::Stored(None));
    assert_eq!(kept(), [Value::Null; 0]);
}
