//! The small model as the reader of quarantined values.

use super::{super::harness::*, bench, with_reader};
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
