//! Tools of MCP servers that are left out or offered in part are named by `doctor`, `inspect` and
//! `lock`, and the other tools are used.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    has_python,
    installed::here,
};
use pretty_assertions::assert_eq;
use serde_json::json;

const TASK: &str = "tool `task`: it runs only as a task, and agent-host does not run tasks yet; the tool is left out";
const LEFT_OUT: &str = "tool `bare`: missing field `inputSchema`; the tool is left out";

#[test]
fn unusable_mcp_tool_is_named_and_disables_no_other() {
    if !has_python() {
        return;
    }
    let env = TestEnv::new();
    let command = json!(["python3", here("it/mcp_client/server.py"), "mixed"]);
    // An approval may name a tool that is left out.
    let toml = format!(
        "tool = []\n[[mcp]]\nname = \"s\"\ncommand = {command}\n[mcp.approvals]\nloops = \"always\"\n"
    );
    env.write("agent.toml", toml);
    let config = ["--config", "agent.toml"];

    let called = env.run(&[&["call", "s", "act", "{}", "--json"][..], &config].concat());
    assert_eq!(called.code, Some(0), "{}", called.stderr);
    assert_eq!(called.json(), json!({"type": "text", "value": "did it"}));

    let warnings = [LEFT_OUT, TASK].map(|note| format!("the MCP server `s`: {note}"));
    for command in [&["doctor"][..], &["inspect", "s"], &["lock"]] {
        let ran = env.run(&[command, &config].concat());
        for warning in &warnings {
            assert!(ran.stderr.contains(warning), "{command:?}: {}", ran.stderr);
        }
    }
    let doctor = env.run(&[&["doctor"][..], &config].concat());
    let line = format!("MCP tool       s: {LEFT_OUT}");
    assert!(doctor.stdout.contains(&line), "{}", doctor.stdout);
    let inspected = env.run(&[&["inspect", "s", "--json"][..], &config].concat());
    assert_eq!(inspected.json()["notes"][0], LEFT_OUT);
    assert_eq!(inspected.json()["notes"].as_array().unwrap().len(), 7);
    let shown = env.run(&[&["inspect", "s"][..], &config].concat());
    assert!(shown.stdout.contains(LEFT_OUT), "{}", shown.stdout);
}

/// A tool that a server adds is a change that the operator has to accept, so it is announced.
#[test]
fn added_mcp_tool_is_announced_once_and_not_offered() {
    if !has_python() {
        return;
    }
    let env = TestEnv::new();
    let command = json!(["python3", here("it/mcp_client/server.py"), "grows"]);
    let toml =
        format!("tool = []\n[[mcp]]\nname = \"s\"\ncommand = {command}\nread-only = [\"act\"]\n");
    env.write("agent.toml", toml);
    let call = || Answer::calls(&[("s_act", json!({}))]);
    let server = ChatServer::start(vec![call(), call(), call(), Answer::text("Done.")]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "act"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        (server.requests().len(), server.tool_results()),
        (4, vec!["did it".to_owned()])
    );
    let announced =
        "the MCP server `s` added these tools while in use, so they are not offered yet: s_more.";
    assert_eq!(ran.stderr.matches(announced).count(), 1, "{}", ran.stderr);
}
