use super::*;
use crate::id::Digest;
use pretty_assertions::assert_eq;
use serde_json::json;

fn full() -> NodeOutput {
    NodeOutput {
        agent_id: Some("writer".into()),
        artifacts: BTreeMap::from([
            ("k".into(), Artifact::value(&json!({"a": [1]})).unwrap()),
            (
                "plot".into(),
                Artifact::Reference(ArtifactRef {
                    artifact: "plot.png".into(),
                    digest: Digest::of(b"x"),
                    media_type: "image/png".into(),
                }),
            ),
        ]),
        metadata: Map::from_iter([("iterations".to_owned(), json!(2))]),
        ..NodeOutput::of_result("n", None, ToolResultOutput::ErrorText("no".into()))
    }
}

#[test]
fn node_output_round_trips_with_its_documented_keys() {
    let output = full();
    let json = json!(output);
    let digest = Digest::of(b"x").to_string();
    let expected = json!({
        "node_id": "n",
        "agent_id": "writer",
        "text": "no",
        "artifacts": {
            "k": {"a": [1]},
            "plot": {"artifact": "plot.png", "digest": digest, "media_type": "image/png"},
        },
        "metadata": {"iterations": 2},
        "output": {"type": "error-text", "value": "no"},
        "error": {"code": "tool-error", "message": "no"},
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<NodeOutput>(json).unwrap(), output);
}

#[test]
fn node_output_with_absent_keys_is_read_with_defaults() {
    let output: NodeOutput = serde_json::from_str(r#"{"node_id":"n"}"#).unwrap();
    assert_eq!(output, NodeOutput::of_text("n", None, ""));
}

#[test]
fn artifact_value_of_a_references_form_stays_a_value() {
    let digest = Digest::of(b"").to_string();
    let reference = json!({"artifact": "a", "digest": digest, "media_type": "text/plain"});
    let cases = [
        reference.clone(),
        json!({"$value": 1}),
        json!({"$value": {"$value": reference}}),
        json!({"artifact": "a"}),
        json!({"$value": 1, "b": 2}),
        json!(null),
        json!("text"),
    ];
    for value in cases {
        let artifact = Artifact::value(&value).unwrap();
        let text = serde_json::to_string(&artifact).unwrap();
        assert_eq!(
            serde_json::from_str::<Artifact>(&text).unwrap(),
            artifact,
            "{text}"
        );
    }
}

#[test]
fn failure_of_each_result_has_its_code() {
    let failure = |output| NodeFailure::of_result(&output).map(|failure| failure.code);
    let cases = [
        (ToolResultOutput::Text("Error: no".into()), None),
        (ToolResultOutput::json(json!({"code": "x"})), None),
        (ToolResultOutput::Content(vec![]), None),
        (ToolResultOutput::ErrorText("x".into()), Some("tool-error")),
        (ToolResultOutput::error_json(json!([1])), Some("tool-error")),
        (
            ToolResultOutput::error_json(json!({"code": "agent-budget", "message": "m"})),
            Some("agent-budget"),
        ),
        (
            ToolResultOutput::ExecutionDenied(None),
            Some("execution-denied"),
        ),
    ];
    for (output, expected) in cases {
        assert_eq!(failure(output).as_deref(), expected);
    }
}
