use super::*;
use crate::runs::FeedItem;
use agent_host_engine::stream::LiveLine;
use agent_host_types::{
    event::{EVENT_VERSION, EventRecord},
    id::Digest,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn call(id: &str) -> CallId {
    CallId(id.to_owned())
}

fn line(content: StreamContent, path: &[&str]) -> StreamLine {
    StreamLine::new(content, path.iter().map(|id| call(id)).collect())
}

fn text(text: &str, path: &[&str]) -> StreamLine {
    let text = text.into();
    line(StreamContent::Live(LiveLine::Text { text }), path)
}

fn record(session: SessionId, event: Event, path: &[&str]) -> StreamLine {
    let record = EventRecord {
        v: EVENT_VERSION,
        session,
        seq: 3,
        at_ms: 5,
        event,
    };
    line(StreamContent::Record(Arc::new(record)), path)
}

fn spawned(id: &str, session: SessionId) -> Event {
    Event::AgentSpawned {
        call_id: call(id),
        session,
        agent: "clerk".to_owned(),
        definition: Digest::of(b""),
    }
}

fn settled(id: &str) -> Event {
    serde_json::from_value(json!({
        "kind": "call-settled", "call_id": id, "tool": "agent_clerk",
        "output": {"type": "text", "value": "done"}, "accounting": {
            "wall_us": 0, "peak_memory_bytes": 0, "bytes_in": 0, "bytes_out": 0,
        },
    }))
    .unwrap()
}

/// Returns the reply that a reader gets that comes now.
fn arriving(runs: &Runs, session: SessionId) -> Vec<Value> {
    let reply = runs.watch(session).recent;
    runs.forget_unwatched(session);
    reply.iter().map(|line| json!(**line)).collect()
}

fn replied(text: &str) -> Vec<Value> {
    vec![
        json!({"live": "restarted"}),
        json!({"live": "text", "text": text}),
    ]
}

/// An agent, and one that it starts, have their own text; it is kept for a late reader while they
/// work, also when an earlier one has gone.
#[test]
fn agent_has_its_lines_in_its_own_feed() {
    let runs = Runs::default();
    let [root, outer, inner] = [(); 3].map(|()| SessionId::new());
    let agents = AgentFeeds::new(&runs);
    agents.publish(&record(root, spawned("a", outer), &[]));
    let mut reader = runs.watch(outer);
    agents.publish(&text("of root", &[]));
    agents.publish(&text("one ", &["a"]));
    agents.publish(&record(outer, spawned("b", inner), &["a"]));
    agents.publish(&text("of outer", &["a"]));
    agents.publish(&text("of inner", &["a", "b"]));
    let mut read = Vec::new();
    while let Ok(FeedItem::Line(line)) = reader.items.try_recv() {
        let path: Vec<&str> = line.path.iter().map(|call| call.0.as_str()).collect();
        read.push((json!(*line)["text"].clone(), path.join("/"), line.seq()));
    }
    let expected = [
        (json!("one "), "", None),
        (Value::Null, "", Some(3)),
        (json!("of outer"), "", None),
        (json!("of inner"), "b", None),
    ];
    let expected = expected.map(|(text, path, seq)| (text, path.to_owned(), seq));
    assert_eq!(read, expected);
    drop(reader);
    runs.forget_unwatched(outer);
    assert_eq!(arriving(&runs, outer), replied("of outer"));
    assert_eq!(arriving(&runs, inner), replied("of inner"));
    agents.publish(&record(outer, settled("b"), &["a"]));
    assert_eq!(arriving(&runs, inner), [json!(null); 0]);
    drop(agents);
    assert_eq!(arriving(&runs, outer), [json!(null); 0]);
    assert!(lock(&runs.feeds).is_empty());
}

/// An agent that continues in a later run is known by its first event.
#[test]
fn resumed_agent_is_known_by_its_events() {
    let runs = Runs::default();
    let session = SessionId::new();
    let agents = AgentFeeds::new(&runs);
    agents.publish(&text("unknown", &["a"]));
    let skipped = Event::NodeSkipped { node: "n".into() };
    agents.publish(&record(session, skipped, &["a"]));
    agents.publish(&text("known", &["a"]));
    assert_eq!(arriving(&runs, session), replied("known"));
}
