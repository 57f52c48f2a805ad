use super::*;
use agent_host_types::{id::CallId, message::Role};
use pretty_assertions::assert_eq;
use std::sync::Mutex;

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
fn call_ids_are_distinct() {
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
    for (taken, given, expected) in cases {
        let history = history(taken);
        let mut builder = ReplyBuilder::new("m", &history);
        for id in given {
            builder.push_call(id.map(str::to_owned), "t", "").unwrap();
        }
        let reply = builder.finish(None).unwrap();
        let ids: Vec<&str> = reply
            .tool_calls
            .iter()
            .map(|call| call.id.0.as_str())
            .collect();
        assert_eq!(ids, expected, "{given:?} after {taken:?}");
    }
}

#[test]
fn pieces_form_text_and_calls() {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| shown.lock().unwrap().push(format!("{delta:?}"));
    let mut builder = ReplyBuilder::new("m", &[]);
    builder.push_text("", &sink).unwrap();
    builder.push_reasoning("hm", &sink).unwrap();
    builder.push_text("Hel", &sink).unwrap();
    builder.push_text("lo", &sink).unwrap();
    let index = builder.push_call(None, "", "").unwrap();
    builder
        .extend_call(index, Some("c".to_owned()), "read", "{\"a\"")
        .unwrap();
    builder
        .extend_call(index, Some("d".to_owned()), "write", ":1}")
        .unwrap();
    builder
        .extend_call(index + 1, None, "none", "lost")
        .unwrap();
    let call = ToolCall::parse(
        CallId("c".to_owned()),
        "read".to_owned(),
        "{\"a\":1}".to_owned(),
    );
    assert_eq!(
        builder.finish(Some(StopReason::ToolUse)).unwrap(),
        ModelReply {
            text: "Hello".to_owned(),
            reasoning: "hm".to_owned(),
            tool_calls: vec![call],
            stop_reason: Some(StopReason::ToolUse),
            ..ModelReply::default()
        }
    );
    assert_eq!(
        shown.into_inner().unwrap(),
        ["Reasoning(\"hm\")", "Text(\"Hel\")", "Text(\"lo\")"]
    );
}

#[test]
fn reply_limit_counts_everything() {
    type Add = fn(&mut ReplyBuilder<'_>) -> Result<(), DecodeError>;
    let adds: [(&str, Add); 6] = [
        ("text", |builder| builder.push_text("x", &|_| {})),
        ("reasoning", |builder| builder.push_reasoning("x", &|_| {})),
        ("a call", |builder| {
            builder.push_call(None, "x", "").map(drop)
        }),
        ("arguments", |builder| builder.extend_call(0, None, "", "x")),
        ("whole arguments", |builder| {
            builder.push_call(None, "", "x").map(drop)
        }),
        ("metadata", |builder| builder.count(1)),
    ];
    for (name, add) in adds {
        let mut builder = ReplyBuilder::new("m", &[]);
        builder.count(MAX_REPLY_BYTES - 1).unwrap();
        add(&mut builder).unwrap();
        let error = add(&mut builder).unwrap_err();
        let why = format!("the reply is longer than {MAX_REPLY_BYTES} bytes");
        assert_eq!(error.to_string(), why, "{name}");
    }
}

#[test]
fn calls_are_limited_and_named() {
    let mut builder = ReplyBuilder::new("m", &[]);
    for index in 0..MAX_CALLS {
        assert_eq!(builder.push_call(None, "t", "").unwrap(), index);
    }
    let error = builder.push_call(None, "t", "").unwrap_err();
    assert_eq!(error.to_string(), "it has more than 128 tool calls");

    let mut builder = ReplyBuilder::new("m", &[]);
    builder.push_call(None, "", "").unwrap();
    let error = builder.finish(None).unwrap_err();
    assert!(matches!(error, DecodeError::Unusable(_)), "{error}");
    assert_eq!(error.to_string(), "it calls a tool without a name");
}
