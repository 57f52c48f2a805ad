//! Agents as nodes: what they are given and what they return.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn agents_are_child_sessions_and_their_texts_are_inputs() {
    let nodes = json!([
        {"id": "draft", "agent": "helper", "next": "grade"},
        {"id": "grade", "agent": "judge", "inputs": [{"draft": "draft.text"}, {"tone": "'dry'"}]},
    ]);
    let parts = Parts {
        helper: vec!["bees are fine"],
        judge: vec!["good"],
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);

    let report = flow.say().await;

    assert_eq!(report.end, done("good"));
    let asked = |model: &QueueModel| {
        let requests = model.requests.lock().unwrap().clone();
        let messages = requests.iter().map(|request| request.messages.clone());
        messages.collect::<Vec<_>>()
    };
    let user = |text: &str| {
        vec![vec![agent_host_types::message::Message::text(
            agent_host_types::message::Role::User,
            text,
        )]]
    };
    assert_eq!(asked(&flow.helper), user("go"));
    assert_eq!(
        asked(&flow.judge),
        user("[draft]\nbees are fine\n\n[tone]\ndry")
    );
    let mut twice = USAGE;
    twice += USAGE;
    assert_eq!(report.summary.total_usage, twice);
    let children: Vec<ChildSummary> = flow
        .bench
        .journal
        .durable()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::NodeSettled { child, .. } => child,
            _ => None,
        })
        .collect();
    let names: Vec<&str> = children.iter().map(|child| child.agent.as_str()).collect();
    assert_eq!(names, ["helper", "judge"]);
    let spawned = flow.bench.kinds();
    let spawned = spawned.iter().filter(|kind| *kind == "agent-spawned");
    assert_eq!(spawned.count(), 2);
}

#[tokio::test]
async fn failed_input_of_an_agent_is_a_marked_section() {
    let nodes = json!([
        {"id": "a", "agent": "helper", "next": "b"},
        {"id": "b", "agent": "judge", "inputs": [{"a": "a.text"}]},
    ]);
    let parts = Parts {
        judge: vec!["ok"],
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);

    flow.say().await;

    let requests = flow.judge.requests.lock().unwrap().clone();
    assert_eq!(
        requests[0].messages[0].content[0].text(),
        Some("[a: failed]\nagent-failed: The agent ended without a result: the queue is empty.")
    );
}

#[tokio::test]
async fn files_of_a_node_reach_the_next_agent() {
    let tools = || {
        vec![
            tool("look", Effect::ReadOnly, Approval::Never).body(|_| async {
                let file = FilePart {
                    media_type: "image/png".into(),
                    filename: Some("plot.png".into()),
                    data: FileData::Bytes(b"\x89PNG\r\n\x1a\n....".to_vec()),
                };
                let text = ContentPart::Text {
                    text: "a plot".into(),
                };
                ToolResultOutput::Content(vec![text, ContentPart::File(file)])
            }),
        ]
    };
    let nodes = json!([
        {"id": "plot", "tool": "look", "next": "read"},
        {"id": "read", "agent": "helper", "inputs": [{"plot": "plot.text"}]},
    ]);
    let parts = Parts {
        tools,
        helper: vec!["it rises"],
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);

    assert_eq!(flow.say().await.end, done("it rises"));

    let requests = flow.helper.requests.lock().unwrap().clone();
    let parts = &requests[0].messages[0].content;
    assert_eq!(parts[0].text(), Some("[plot]\na plot"));
    let file = parts[1].file().unwrap();
    assert_eq!(
        file.data,
        FileData::Bytes(b"\x89PNG\r\n\x1a\n....".to_vec())
    );
}

#[tokio::test]
async fn large_output_is_whole_for_the_next_node_and_after_a_crash() {
    let tools = || {
        let mut tools = standard();
        tools.push(
            tool("big", Effect::ReadOnly, Approval::Never)
                .body(|_| async { text(&"x".repeat(200_000)) }),
        );
        tools
    };
    let nodes = json!([
        {"id": "big", "tool": "big", "next": "read"},
        {"id": "read", "agent": "helper", "message": "big.text"},
    ]);
    let parts = || Parts {
        tools,
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts());
    // The model fails, and the run waits for the next attempt at nothing: the agent has failed.
    let cancel = flow.bench.cancel.clone();
    *flow.helper.cancel_when_asked.lock().unwrap() = Some(cancel);
    flow.say().await;
    let settled = flow.bench.journal.durable();
    let settled = settled.iter().find_map(|record| match &record.event {
        Event::NodeSettled { output, whole, .. } => Some((output.text.len(), whole.is_some())),
        _ => None,
    });
    assert!(settled.is_some_and(|(length, is_blob)| length < 5_000 && is_blob));

    // Only what was durable before the agent ended is there.
    let asked = flow.helper.requests.lock().unwrap()[0].messages[0].content[0].clone();
    assert_eq!(asked.text().map(str::len), Some(200_000));
}
