//! The metrics of `agent-host serve`, held to the checks of Prometheus' own program.

use agent_host_test_support::{
    Ran, TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    installed::promtool,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Checks metrics; an empty text for no fault.
fn check(promtool: &str, text: &str) -> (Option<i32>, String) {
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let ran = Ran::from(child.wait_with_output().unwrap());
    (ran.code, format!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn promtool_finds_no_fault_in_the_metrics() {
    let Some(promtool) = promtool() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("[[grants.dir]]\nhost = \".\"\n");
    let model = ChatServer::start(vec![
        Answer::calls(&[
            ("read_file", json!({"path": "none.txt"})),
            ("in\"ven\\ted\n", json!({})),
        ]),
        Answer::text("Done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    stream.until("turn-ended");
    let metrics = server.raw(TOKEN, "GET /metrics", "", None);
    let clean = (Some(0), String::new());
    assert_eq!(check(promtool, &metrics.body), clean, "{}", metrics.body);
    // Each kind of metric was there to be checked.
    for kind in ["counter", "gauge", "histogram"] {
        let kind = format!(" {kind}\n");
        assert!(metrics.body.contains(&kind), "{}", metrics.body);
    }
    // It does find faults.
    let faulty = metrics.body.replace("_total", "");
    assert_eq!(check(promtool, &faulty).0, Some(3));
}
