//! Tests the settings of models' replies through the program: what reaches the server, and what the
//! user is told.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const SETTINGS: &str = r#"
[settings]
effort = "low"
temperature = 0.25
cache-lifetime = "1h"
extra-body = { top_k = 40 }

[settings.models."openai-compat:*"]
seed = 7
"#;

#[test]
fn settings_and_effort_option_reach_the_server() {
    for (args, effort) in [(&["hi"][..], "low"), (&["hi", "--effort", "high"], "high")] {
        let env = TestEnv::new();
        env.write("agent.toml", SETTINGS);
        let server = ChatServer::start(vec![Answer::text("Hello.")]);
        let args = [&["--config", "agent.toml"], args].concat();
        let ran = ask(&env, &server, &args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Hello.\n"),
            "{}",
            ran.stderr
        );
        let request = &server.requests()[0];
        let sent = ["reasoning_effort", "temperature", "seed", "top_k"].map(|key| &request[key]);
        assert_eq!(sent, [&json!(effort), &json!(0.25), &json!(7), &json!(40)]);
    }
}

#[test]
fn setting_that_is_not_sent_is_told_once() {
    let env = TestEnv::new();
    env.write("agent.toml", SETTINGS);
    env.write("a.txt", "alpha\n");
    let server = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({ "path": "a.txt" }))]),
        Answer::text("Alpha."),
    ]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "read a.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "the setting `cache-lifetime` is not sent to m: OpenAI accepts `24h`";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{}", ran.stderr);
}

/// Forced in a request that does not offer it, the tool would be the provider's error.
#[test]
fn tool_choice_that_is_not_offered_is_refused() {
    let search = "search-tools-from = 1\n";
    let cases = [
        (
            "",
            "read_fil",
            "which is not one of its tools; did you mean `read_file`?",
        ),
        ("tool = []\n", "read_file", "but it has no tools; remove it"),
        (
            search,
            "read_file",
            "which the model can call only after searching for it; set `search-tools-from = 0`",
        ),
    ];
    for (more, tool, says) in cases {
        let env = TestEnv::new();
        let toml = format!("{more}[settings]\ntool-choice = {{ tool = {tool:?} }}\n");
        env.write("agent.toml", toml);
        let server = ChatServer::start(vec![Answer::text("Hello.")]);
        let ran = ask(&env, &server, &["--config", "agent.toml", "hi"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let says = format!("`tool-choice` makes the model `openai-compat:m` call `{tool}`, {says}");
        assert!(ran.stderr.contains(&says), "{}", ran.stderr);
        assert_eq!(server.requests().len(), 0);
    }
}

#[test]
fn tool_choice_that_is_offered_is_sent() {
    for (more, tool) in [
        ("", "read_file"),
        ("search-tools-from = 1\n", "search_tools"),
    ] {
        let env = TestEnv::new();
        let toml = format!("{more}[settings]\ntool-choice = {{ tool = {tool:?} }}\n");
        env.write("agent.toml", toml);
        let server = ChatServer::start(vec![Answer::text("Hello.")]);
        let ran = ask(&env, &server, &["--config", "agent.toml", "hi"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let sent = &server.requests()[0]["tool_choice"]["function"]["name"];
        assert_eq!(sent, tool);
    }
}

#[test]
fn unknown_effort_is_refused_with_the_levels() {
    let env = TestEnv::new();
    let ran = env.run(&["run", "--effort", "huge", "hi"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let levels = "write one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`";
    assert!(ran.stderr.contains(levels), "{}", ran.stderr);
}
