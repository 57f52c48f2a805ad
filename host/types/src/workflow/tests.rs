use super::*;
use crate::id::CallId;
use pretty_assertions::assert_eq;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

/// The value has this form, and comes back from it.
fn has_form<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, form: &Value) {
    assert_eq!(json!(value), *form);
    assert_eq!(serde_json::from_value::<T>(form.clone()).unwrap(), *value);
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn json_forms() {
    has_form(&NodeMode::Sync, &json!("sync"));
    has_form(&NodeMode::Parallel, &json!("parallel"));
    has_form(&NodeMode::Async, &json!("async"));
    assert_eq!(NodeMode::default(), NodeMode::Sync);

    let plain = NodeOutput {
        node_id: "n".into(),
        agent_id: None,
        text: String::new(),
        artifacts: Vec::new(),
        metadata: Map::new(),
    };
    has_form(&plain, &json!({"node_id": "n", "text": ""}));
    let full = NodeOutput {
        agent_id: Some("a".into()),
        text: "t".into(),
        artifacts: vec!["report.md".into()],
        metadata: object(&json!({"error": "no disk"})),
        ..plain
    };
    let form = json!({
        "node_id": "n", "agent_id": "a", "text": "t", "artifacts": ["report.md"], "metadata": {"error": "no disk"},
    });
    has_form(&full, &form);

    let call = ToolCall::parse(CallId("c".into()), "look".into(), r#"{ "n": 1 }"#.into());
    let metadata = object(&json!({"provider": {"id": 7}}));
    let reply = ModelReply {
        text: "t".into(),
        tool_calls: vec![call],
        stop_reason: Some(StopReason::ToolUse),
        response_id: Some("r".into()),
        metadata,
        raw: Some(json!({"id": "r"})),
        ..ModelReply::default()
    };
    let form = json!({
        "text": "t",
        "tool_calls": [{"id": "c", "name": "look", "input": {"n": 1}, "raw_arguments": r#"{ "n": 1 }"#}],
        "stop_reason": "tool-use",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0},
        "raw": {"id": "r"},
        "metadata": {"provider": {"id": 7}},
    });
    has_form(&AgentResponse::from(reply), &form);
}

#[test]
fn other_forms_are_refused() {
    let mode = serde_json::from_value::<NodeMode>(json!("later")).unwrap_err();
    assert!(
        mode.to_string().contains("unknown variant `later`"),
        "{mode}"
    );
    let table = [
        (json!({"text": ""}), "missing field `node_id`"),
        (json!({"node_id": "n"}), "missing field `text`"),
        (
            json!({"node_id": "n", "text": "", "next": []}),
            "unknown field `next`",
        ),
    ];
    for (form, expected) in table {
        let error = serde_json::from_value::<NodeOutput>(form).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
