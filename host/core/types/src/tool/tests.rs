mod fuzz;

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn tool_name_is_one_that_every_provider_accepts() {
    let (longest, too_long) = ("a".repeat(64), "a".repeat(65));
    for name in ["a", "read_file", "Read-File9", longest.as_str()] {
        assert!(is_tool_name(name), "{name}");
    }
    for name in [
        "",
        "read file",
        "files.read",
        "a/b",
        "naïve",
        "a\n",
        too_long.as_str(),
    ] {
        assert!(!is_tool_name(name), "{name:?}");
    }
}

/// S6 and S7.
#[test]
fn arguments_that_are_not_an_object_are_absent() {
    let cases = [
        ("", Some(json!({}))),
        (" \n", Some(json!({}))),
        ("{}", Some(json!({}))),
        (r#" {"a": [1, null]} "#, Some(json!({"a": [1, null]}))),
        ("NOT_JSON", None),
        ("[1]", None),
        ("null", None),
        (r#""{}""#, None),
        (r#"{"a": 1"#, None),
        ("{} {}", None),
        ("{'a': 1}", None),
    ];
    for (raw, expected) in cases {
        let call = ToolCall::parse(CallId("c".into()), "t".into(), raw.into());
        let expected = ToolCall {
            id: CallId("c".into()),
            name: "t".into(),
            input: expected.and_then(|value| Some(value.as_object()?.clone().into())),
            raw_arguments: raw.into(),
        };
        assert_eq!(call, expected);
    }
    let bottomless = "[".repeat(100_000);
    let call = ToolCall::parse(
        CallId("c".into()),
        "t".into(),
        format!("{{\"a\": {bottomless}"),
    );
    assert_eq!(call.input, None);
}

#[test]
fn effects_are_ordered_from_weak_to_strong() {
    assert!(Effect::ReadOnly < Effect::Idempotent && Effect::Idempotent < Effect::Effectful);
    for effect in [Effect::ReadOnly, Effect::Idempotent, Effect::Effectful] {
        assert_eq!(json!(effect), json!(effect.as_str()));
    }
}
