//! `GET /metrics` of `agent-host serve`: figures that are the journal's, and a bounded number of
//! names. `tests/interop/metrics.rs` holds the text to Prometheus' own checks.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const CONFIG: &str = r#"
[prices."openai-compat:m"]
input = 100
output = 1000

[[grants.dir]]
host = "."
mode = "read-write"
"#;

/// Reads the metrics once nothing runs: the last event of a run comes before its end.
fn read(server: &ApiServer) -> String {
    loop {
        let metrics = server.raw(TOKEN, "GET /metrics", "", None);
        assert_eq!(metrics.status, 200, "{metrics:?}");
        let media_type = "content-type: text/plain; version=0.0.4";
        assert!(metrics.head.contains(media_type), "{metrics:?}");
        if metrics
            .body
            .contains("agent_host_sessions{state=\"running\"} 0\n")
        {
            return metrics.body;
        }
    }
}

/// The sum of a metric's values whose labels have this text.
fn sum(text: &str, metric: &str, labels: &str) -> f64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(metric);
        rest.is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(labels)
    });
    let values = lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    values.sum()
}

#[test]
fn metrics_are_the_figures_of_the_journal() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("list.txt", "bread");
    let invented = format!("tool_{}", "x".repeat(200));
    let note = json!({"path": "note.txt", "content": "hello"});
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "list.txt"}))]),
        Answer::calls(&[
            ("read_file", json!({"path": "none.txt"})),
            (&invented, json!({})),
        ]),
        Answer::text("Done."),
        Answer::calls(&[("write_file", note)]),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    for _ in 0..3 {
        stream.until("turn-ended");
    }
    let waiting = server.create("write");
    server.events(&waiting, None).until("turn-ended");

    let text = read(&server);
    let stats = env.run(&["stats", "--json"]).json();
    // The route has what the command prints.
    assert_eq!(server.get("/stats").json(), stats);
    let by_tool = env
        .run(&["stats", "--json", "--by", "tool", "--since", "7d"])
        .json();
    assert_eq!(server.get("/stats?by=tool&since=7d").json(), by_tool);
    let refused = server.get("/stats?since=soon").problem();
    assert_eq!(refused, (400, "invalid-request".to_owned()));
    let total = &stats["total"];
    let tokens = |kind: &str| {
        let kind = format!("gen_ai_token_type=\"{kind}\"");
        json!(sum(&text, "gen_ai_client_token_usage_sum", &kind) as u64)
    };
    assert_eq!(
        [&tokens("input"), &tokens("output")],
        [&total["input_tokens"], &total["output_tokens"]]
    );
    let dollars = sum(&text, "agent_host_cost_dollars_total", "");
    assert_eq!(json!((dollars * 1e6).round() as u64), total["cost_micros"]);
    let count = |metric: &str, labels: &str| json!(sum(&text, metric, labels) as u64);
    let requests = count("gen_ai_client_operation_duration_seconds_count", "");
    assert_eq!(requests, total["model_calls"]);
    let calls = "agent_host_tool_calls_total";
    assert_eq!(count(calls, ""), total["tool_calls"]);
    assert_eq!(
        count(calls, "agent_host_outcome=\"failed\""),
        total["failed"]
    );
    assert_eq!(
        [total["model_calls"].clone(), total["tool_calls"].clone()],
        [json!(4), json!(3)]
    );
    let read = r#"agent_host_effect="read-only",agent_host_outcome="success",gen_ai_tool_name="read_file""#;
    assert_eq!(count(calls, read), 1);
    // The name of a tool that the model invented is no label.
    assert_eq!(count(calls, "gen_ai_tool_name=\"(other)\""), 1);
    assert!(!text.contains(&invented), "{text}");
    let turns = "agent_host_turns_total";
    assert_eq!(count(turns, "gen_ai_agent_name=\"(top level)\""), 4);
    assert_eq!(count(turns, "agent_host_outcome=\"done\""), 1);
    assert!(
        sum(
            &text,
            "agent_host_journal_barrier_duration_seconds_count",
            ""
        ) >= 4.0
    );

    assert_eq!(count("agent_host_sessions", "state=\"done\""), 1);
    assert_eq!(
        count("agent_host_sessions", "state=\"waiting-for-approval\""),
        1
    );
    assert_eq!(count("agent_host_waiting_approvals", ""), 1);
    // The stream of the first session is still open.
    assert!(sum(&text, "agent_host_event_readers", "") >= 1.0);
    for id in [&session, &waiting] {
        assert!(!text.contains(id.as_str()), "{text}");
    }
}
