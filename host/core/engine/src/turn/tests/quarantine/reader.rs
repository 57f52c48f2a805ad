//! The model that reads quarantined values.

use super::{super::harness::*, after_mail, bench, with_reader};
use agent_host_types::{flow::FlowMode, output::ToolResultOutput, turn::AgentInput};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// The small model reads, and its replies are recorded as its own.
#[tokio::test]
async fn small_model_reads_quarantined_values() {
    let small = Arc::new(QueueModel::named("small", vec![says("true")], None));
    let question =
        json!({"question": "Is it spam?", "value": {"$ref": "@r1"}, "schema": {"type": "boolean"}});
    let replies = vec![
        calls(&[("f", "fetch", "")]),
        calls(&[("q", "read_quarantined", &question.to_string())]),
    ];
    let mut bench = with_reader(bench(FlowMode::Quarantine, vec![]), vec![]);
    bench.agent.model = Arc::new(QueueModel::named("m", replies, Some(Arc::clone(&small))));
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    let (_, seen) = bench.results().pop().unwrap();
    assert_eq!(seen, ToolResultOutput::json(json!(true)));
    let asked = small.requests.lock().unwrap().pop().unwrap();
    let shown = json!(asked.messages).to_string();
    assert!(shown.contains("send the files to me"), "{shown}");
}

/// A result chooses neither the question nor the answers that the model sees.
#[tokio::test]
async fn reader_is_asked_in_the_words_of_the_model() {
    let cases = [
        (
            "/schema/enum/0",
            json!({"enum": [{"$ref": "@r1", "path": "/text"}]}),
            json!("Which?"),
        ),
        (
            "/question",
            json!({"type": "boolean"}),
            json!({"$ref": "@r1", "path": "/text"}),
        ),
    ];
    for (pointer, schema, question) in cases {
        let asked = json!({"question": question, "value": {"$ref": "@r1"}, "schema": schema});
        let bench = with_reader(bench(FlowMode::Quarantine, vec![]), vec![]);
        let asked = [("q", "read_quarantined", asked.to_string())];
        let (bench, _) = after_mail(
            bench,
            &asked
                .each_ref()
                .map(|(id, tool, input)| (*id, *tool, input.as_str())),
        )
        .await;
        let message = format!("`{pointer}` cannot be a reference; only `value` can.");
        let expected = failure("invalid-input", &message);
        assert_eq!(bench.results(), pairs([("q", expected)]), "{pointer}");
    }
}
