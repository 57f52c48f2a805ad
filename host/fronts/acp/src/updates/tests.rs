//! Tests of replies that are shown in parts.

use super::Transcript;
use agent_host_app::{Config, Environment, Host, Overrides, runs::Followed};
use agent_host_engine::stream::StreamLine;
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
    model::{ModelReply, Usage},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A host without tools.
async fn host(project: &std::path::Path) -> Host {
    let environment = Environment {
        cwd: project.to_owned(),
        ..Environment::default()
    };
    let overrides = Overrides {
        state_dir: Some("state".into()),
        ..Overrides::default()
    };
    let mut config = Config::load(None, &overrides, &environment).unwrap();
    config.tools.clear();
    Host::open(config).await.unwrap()
}

fn live(line: &Value) -> Followed {
    let json: Arc<str> = line.to_string().into();
    match StreamLine::from_json(Arc::clone(&json)) {
        Ok(line) => Followed::Line(Arc::new(line)),
        Err(_) => Followed::Unknown(json),
    }
}

fn text(text: &str) -> Followed {
    live(&json!({"live": "text", "text": text}))
}

fn replied(text: &str) -> Followed {
    let reply = ModelReply {
        text: text.to_owned(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        stop_reason: None,
        usage: Usage::default(),
        response_id: None,
        metadata: Map::new(),
        provenance: None,
        raw: None,
    };
    let record = EventRecord {
        v: EVENT_VERSION,
        session: SessionId::new(),
        seq: 0,
        at_ms: 0,
        event: Event::ModelReplied {
            turn: 1,
            reply,
            discarded: Usage::default(),
            duration_ms: 0,
            tape: None,
        },
    };
    live(&json!(record))
}

/// Each text comes once, under the id of its message, whatever is lost or written again.
#[tokio::test]
async fn reply_is_shown_once_and_whole() {
    let project = tempfile::tempdir().unwrap();
    let host = host(project.path()).await;
    let restarted = || live(&json!({"live": "restarted"}));
    let of_an_agent = || live(&json!({"live": "text", "text": "?", "path": ["call_0"]}));
    let cases = [
        (
            "in parts",
            vec![text("He"), text("llo"), replied("Hello")],
            vec![("0", "He"), ("0", "llo")],
        ),
        ("at once", vec![replied("Hello")], vec![("0", "Hello")]),
        (
            "with a gap",
            vec![text("He"), Followed::Lagged, text("lo"), replied("Hello")],
            vec![("0", "He"), ("0", "llo")],
        ),
        (
            "again",
            vec![text("He"), restarted(), text("Yes"), replied("Yes.")],
            vec![("0", "He"), ("1", "Yes"), ("1", ".")],
        ),
        (
            "replaced by a hook",
            vec![text("Secret"), replied("Withheld")],
            vec![("0", "Secret"), ("1", "Withheld")],
        ),
        (
            "twice",
            vec![text("A"), replied("A"), text("A"), replied("AB")],
            vec![("0", "A"), ("1", "A"), ("1", "B")],
        ),
        (
            "beside an agent",
            vec![of_an_agent(), replied("Hello")],
            vec![("0", "Hello")],
        ),
    ];
    for (case, lines, expected) in cases {
        let mut transcript = Transcript::default();
        let mut shown = Vec::new();
        for line in lines {
            for update in transcript.follow(&host, line).await {
                if update["sessionUpdate"] == "agent_message_chunk" {
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    shown.push((text(&update["messageId"]), text(&update["content"]["text"])));
                }
            }
        }
        let expected = expected
            .into_iter()
            .map(|(id, text)| (id.to_owned(), text.to_owned()));
        assert_eq!(shown, expected.collect::<Vec<_>>(), "{case}");
    }
}

/// Lines of a host of another version are neither hidden nor the end.
#[tokio::test]
async fn line_of_another_version_is_noted_where_it_would_be() {
    let project = tempfile::tempdir().unwrap();
    let host = host(project.path()).await;
    let event = json!({"v": 1, "kind": "of-a-newer-version"});
    let lines = [
        (live(&json!([])), true),
        (live(&json!({"live": "of-a-newer-version"})), true),
        (live(&json!({"path": ["a"]})), true),
        (live(&event), true),
        (live(&json!({"live": "model-asked"})), false),
        (
            live(&json!({"live": "text", "text": "?", "path": ["a"]})),
            false,
        ),
    ];
    let mut transcript = Transcript::default();
    for (line, is_noted) in lines {
        let shown = format!("{line:?}");
        let updates = transcript.follow(&host, line).await;
        let note = json!({"type": "text", "text": super::UNREADABLE});
        let notes: Vec<&Value> = updates.iter().map(|update| &update["content"]).collect();
        let expected = if is_noted { vec![&note] } else { vec![] };
        assert_eq!(notes, expected, "{shown}");
    }
}
