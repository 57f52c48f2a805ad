//! Tests `run --workflow`: the answer, failures, approvals, and a definition that changes
//! meanwhile.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    terminal::{on_a_terminal, plain},
};
use pretty_assertions::assert_eq;

const CONFIG: &str = r#"
[[agent]]
name = "writer"
description = "Writes."
tools = []

[[workflow]]
name = "flow"
[[workflow.node]]
id = "draft"
agent = "writer"
next = "publish"
[[workflow.node]]
id = "publish"
tool = "write_file"
input = { path = "'out.md'", content = "draft.text" }

[[workflow]]
name = "missing"
[[workflow.node]]
id = "read"
tool = "read_file"
input = { path = "'missing.txt'" }
on-error = "abort"

[[workflow]]
name = "lenient"
[[workflow.node]]
id = "read"
tool = "read_file"
input = { path = "'missing.txt'" }
on-error = "continue"
next = "again"
[[workflow.node]]
id = "again"
tool = "read_file"
input = { path = "'there.txt'" }

[[grants.dir]]
host = "."
mode = "read-write"
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env
}

fn written(env: &TestEnv) -> String {
    std::fs::read_to_string(env.work().join("out.md")).unwrap()
}

fn drafts() -> ChatServer {
    ChatServer::start(vec![Answer::text("Bees hum.")])
}

/// The approval comes from the terminal, and the answer goes to it.
#[test]
fn workflow_asks_and_answers_on_a_terminal() {
    let (env, server) = (env(), drafts());
    let ran = on_a_terminal(
        &env,
        &server,
        "run --model openai-compat:m --workflow flow go",
        "y\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    assert!(shown.contains("The node publish waits:"), "{shown}");
    let answer = "\"created\": true,\r\n  \"path\": \"out.md\",\r\n  \"size_bytes\": 9\r\n}\r\n";
    assert!(shown.contains(answer), "{shown}");
    assert_eq!(written(&env), "Bees hum.");
}

#[test]
fn decision_about_a_node_comes_from_another_process() {
    let (env, server) = (env(), drafts());
    let later = ["--permission-prompts", "later", "--workflow", "flow", "go"];
    let ran = ask(&env, &server, &later);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("The node publish is waiting."),
        "{}",
        ran.stderr
    );
    let shown = env.run(&["sessions", "show", "--events", "latest"]).stdout;
    let graph = "\ndraft (agent writer) done\n  publish (tool write_file) waiting\n";
    assert!(shown.ends_with(graph), "{shown}");

    let changed = CONFIG.replace("'out.md'", "'other.md'");
    env.configure(&changed);
    let resume = ["--resume", "latest", "--decide", "publish=approve"];
    let ran = ask(&env, &server, &resume);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "error: the workflow `flow` has changed since this run of it started; undo the change, or continue with \
             `--accept-changed`, which keeps the results so far"
        ),
        "{}",
        ran.stderr
    );

    env.configure(CONFIG);
    let ran = ask(&env, &server, &resume);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(written(&env), "Bees hum.");
    assert_eq!(server.requests().len(), 1);
    let shown = env.run(&["sessions", "show", "--events", "latest"]).stdout;
    let graph = "\ndraft (agent writer) done\n  publish (tool write_file) done\n";
    assert!(shown.ends_with(graph), "{shown}");
    let explained = env.run(&["explain", "latest"]).stdout;
    assert!(explained.contains("publish/call"), "{explained}");
}

#[test]
fn aborted_workflow_is_an_error_that_names_the_node() {
    let env = env();
    let ran = env.run(&["run", "--workflow", "missing", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(
        ran.stderr
            .contains("error: workflow-failed: the node `read` failed with"),
        "{}",
        ran.stderr
    );
    let ran = env.run(&["run", "--workflow", "none", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("error: unknown workflow `none`; the workflows are flow, missing, lenient"),
        "{}",
        ran.stderr
    );
}

/// A CI job can tell such a run from one in which nothing failed, by the exit code and by name.
#[test]
fn workflow_that_passes_over_a_failed_node_exits_with_7() {
    let env = env();
    std::fs::write(env.work().join("there.txt"), "Bees hum.").unwrap();
    let ran = env.run(&["run", "--workflow", "lenient", "go"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.stdout.contains("Bees hum."), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("The node read failed: "),
        "{}",
        ran.stderr
    );
    let json = [
        "run",
        "--workflow",
        "lenient",
        "--output-format",
        "json",
        "go",
    ];
    let ran = env.run(&json);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let outcome = &document["outcome"];
    let failed = outcome["summary"]["workflow"]["failed"].as_object();
    let failed: Vec<&String> = failed.unwrap().keys().collect();
    assert_eq!(
        (outcome["type"].as_str(), failed),
        (Some("done"), vec![&"read".to_owned()])
    );
    let listed = env.run(&["sessions", "list", "--json"]).json_lines();
    assert_eq!(listed[0]["status"], "done-with-errors");
    // The same run without the missing file.
    std::fs::write(env.work().join("missing.txt"), "Found.").unwrap();
    let ran = env.run(&["run", "--workflow", "lenient", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
