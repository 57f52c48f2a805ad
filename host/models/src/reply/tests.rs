use super::*;
use crate::{Endpoint, Timeouts, openai_chat::OpenAiChat};
use agent_host_types::{id::CallId, message::Role, model::ModelErrorKind};
use pretty_assertions::assert_eq;
use std::sync::Mutex;

fn server() -> Server {
    let endpoint = Endpoint {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        timeouts: Timeouts::default(),
    };
    Server::new(endpoint, &OpenAiChat, "m").unwrap()
}

/// A conversation in which these ids are taken.
fn history(ids: &[&str]) -> Vec<Message> {
    let calls = ids.iter().map(|id| {
        let id = CallId((*id).to_owned());
        ToolCall::parse(id, "old".to_owned(), String::new())
    });
    vec![Message {
        tool_calls: calls.collect(),
        ..Message::parts(Role::Assistant, vec![])
    }]
}

#[test]
fn every_call_has_an_id_of_its_own() {
    type Ids<'a> = &'a [&'a str];
    let cases: [(Ids<'_>, &[Option<&str>], Ids<'_>); 5] = [
        (&[], &[Some("a"), Some("b")], &["a", "b"]),
        (&[], &[None, None], &["call-1", "call-2"]),
        (&["call-1"], &[None, Some("call-2")], &["call-2", "call-3"]),
        (&["a"], &[Some("a"), Some("b")], &["call-2", "b"]),
        (
            &[],
            &[Some("a"), Some("a"), Some("a")],
            &["a", "call-1", "call-2"],
        ),
    ];
    let server = server();
    for (taken, given, expected) in cases {
        let history = history(taken);
        let mut draft = Draft::new(&server, &history);
        for id in given {
            draft.begin_call(id.map(str::to_owned), "t").unwrap();
        }
        let reply = draft.finish(None).unwrap();
        let ids: Vec<&str> = reply
            .tool_calls
            .iter()
            .map(|call| call.id.0.as_str())
            .collect();
        assert_eq!(ids, expected, "{given:?} after {taken:?}");
    }
}

#[test]
fn text_and_calls_arrive_in_pieces() {
    let server = server();
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| shown.lock().unwrap().push(format!("{delta:?}"));
    let mut draft = Draft::new(&server, &[]);
    draft.text("", &sink).unwrap();
    draft.reasoning("hm", &sink).unwrap();
    draft.text("Hel", &sink).unwrap();
    draft.text("lo", &sink).unwrap();
    let place = draft.begin_call(None, "").unwrap();
    draft
        .go_on(place, Some("c".to_owned()), "read", "{\"a\"")
        .unwrap();
    draft
        .go_on(place, Some("d".to_owned()), "write", ":1}")
        .unwrap();
    draft.go_on(place + 1, None, "none", "lost").unwrap();
    let call = ToolCall::parse(
        CallId("c".to_owned()),
        "read".to_owned(),
        "{\"a\":1}".to_owned(),
    );
    assert_eq!(
        draft.finish(Some(StopReason::ToolUse)),
        Ok(ModelReply {
            text: "Hello".to_owned(),
            tool_calls: vec![call],
            stop_reason: Some(StopReason::ToolUse),
            ..ModelReply::default()
        })
    );
    assert_eq!(
        shown.into_inner().unwrap(),
        ["Reasoning(\"hm\")", "Text(\"Hel\")", "Text(\"lo\")"]
    );
}

#[test]
fn everything_counts_towards_the_longest_reply() {
    type Add = fn(&mut Draft<'_>) -> Result<(), Fault>;
    let adds: [(&str, Add); 5] = [
        ("text", |draft| draft.text("x", &|_| {})),
        ("reasoning", |draft| draft.reasoning("x", &|_| {})),
        ("a call", |draft| draft.begin_call(None, "x").map(drop)),
        ("arguments", |draft| draft.go_on(0, None, "", "x")),
        ("what is kept", |draft| draft.grow(1)),
    ];
    let server = server();
    for (name, add) in adds {
        let mut draft = Draft::new(&server, &[]);
        draft.grow(MAX_REPLY_BYTES - 1).unwrap();
        assert_eq!(add(&mut draft), Ok(()), "{name}");
        let fault = add(&mut draft).unwrap_err();
        let why = format!("the reply is longer than {MAX_REPLY_BYTES} bytes");
        assert_eq!(fault, server.garbled(&why, Retry::Never), "{name}");
    }
}

#[test]
fn calls_are_counted_and_have_names() {
    let server = server();
    let mut draft = Draft::new(&server, &[]);
    for place in 0..MAX_CALLS {
        assert_eq!(draft.begin_call(None, "t"), Ok(place));
    }
    let fault = draft.begin_call(None, "t").unwrap_err();
    assert_eq!(fault.error.kind, ModelErrorKind::Protocol);
    assert!(fault.error.message.contains("more than 128 tools"));

    let mut draft = Draft::new(&server, &[]);
    draft.begin_call(None, "").unwrap();
    let why = "it calls a tool without a name";
    assert_eq!(draft.finish(None), Err(server.garbled(why, Retry::Backoff)));
}
