use super::*;
use crate::reference::Reference;
use agent_host_types::{
    output::{ContentPart, FileData, FilePart},
    workflow::NodeFailure,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;

fn value(output: &NodeOutput, reference: &str) -> Value {
    match reference.parse().unwrap() {
        Reference::Node { field, path, .. } => Resolved::field(output, field, &path).into_value(),
        other => panic!("{other}"),
    }
}

#[test]
fn part_of_json_is_selected_by_keys_and_indices() {
    let list = json!({"items": [{"k": "v"}, 2, null], "0": "zero", "deep": {"a": {"b": [[7]]}}});
    let output = NodeOutput::of_result("n", None, ToolResultOutput::json(list.clone()));
    let cases = [
        ("n.output", list.clone()),
        ("n.output.items.0.k", json!("v")),
        ("n.output.items.1", json!(2)),
        ("n.output.items.2", json!(null)),
        ("n.output.items.9", json!(null)),
        ("n.output.items.k", json!(null)),
        ("n.output.0", json!("zero")),
        ("n.output.deep.a.b.0.0", json!(7)),
        ("n.output.deep.a.b.0.0.x", json!(null)),
        ("n.output.missing.x.y", json!(null)),
        ("n.text", json!(list.to_string())),
        ("n.error", json!(null)),
        ("n.error.code", json!(null)),
    ];
    for (reference, expected) in cases {
        assert_eq!(value(&output, reference), expected, "{reference}");
    }
}

#[test]
fn output_without_a_result_is_its_text() {
    let output = NodeOutput::of_text("n", Some("a"), "hello");
    assert_eq!(value(&output, "n.output"), json!("hello"));
    assert_eq!(value(&output, "n.output.x"), json!(null));
}

#[test]
fn text_of_a_result_with_files_is_its_text_parts() {
    let file = ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Url("https://example.org/a.png".into()),
        filename: None,
    });
    let text = |text: &str| ContentPart::Text { text: text.into() };
    let result = ToolResultOutput::Content(vec![text("a"), file, text("b")]);
    let output = NodeOutput::of_result("n", None, result);
    assert_eq!(value(&output, "n.text"), json!("a\nb"));
    assert_eq!(value(&output, "n.output"), json!("a\nb"));
}

#[test]
fn artifacts_and_errors_have_parts() {
    let artifact = Artifact::value(&json!([{"a": 1}])).unwrap();
    let output = NodeOutput {
        artifacts: BTreeMap::from([("report.md".into(), artifact)]),
        ..NodeOutput::of_failure("n", NodeFailure::new("timeout", "too slow"))
    };
    assert_eq!(value(&output, "n.artifacts['report.md'].0.a"), json!(1));
    assert_eq!(value(&output, "n.artifacts.other"), json!(null));
    assert_eq!(value(&output, "n.error.code"), json!("timeout"));
    assert_eq!(
        value(&output, "n.error"),
        json!({"code": "timeout", "message": "too slow"})
    );
}
