//! Tests `ask_user`, the tool with which the model asks the user.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn server() -> ChatServer {
    let questions = json!({ "questions": [
        { "question": "Which?", "choices": ["red", "green", "blue"], "multiple": true },
        { "question": "Why?", "choices": ["it is new", "it is old"] },
    ] });
    ChatServer::start(vec![
        Answer::calls(&[("ask_user", questions)]),
        Answer::text("That is all."),
    ])
}

/// The names of the tools in the first request.
fn offered(server: &ChatServer) -> Vec<Value> {
    let request = server.requests().remove(0);
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools
        .iter()
        .map(|tool| tool["function"]["name"].clone())
        .collect()
}

fn answers(server: &ChatServer) -> Value {
    serde_json::from_str(&server.tool_results().concat()).unwrap()
}

/// Each question ends a process, and another one brings the answer.
#[test]
fn questions_of_the_model_are_answered_by_other_processes() {
    let env = TestEnv::new();
    env.write("agent.toml", "");
    let server = server();
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let hint = "--decide call_0=choice:1\nInstead of `choice:1`, you can use choice:NUMBER[,NUMBER], respond:TEXT or \
        reject.";
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    let decide = |decision| {
        let args = ["--resume", "latest", "--decide", decision];
        ask(&env, &server, &args)
    };
    let ran = decide("call_0=choice:3,1");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let ran = decide("call_0=choice:1,2");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let why = "the question allows one of its 2 choices";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    let ran = decide("call_0=respond:I like it");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "That is all.\n"));
    let expected = json!({ "answers": [
        { "question": "Which?", "answer": ["blue", "red"] },
        { "question": "Why?", "answer": "I like it" },
    ] });
    assert_eq!(answers(&server), expected);
    let events = env.events();
    assert_eq!(of_kind(&events, "question-asked").len(), 2);
    assert_eq!(of_kind(&events, "call-settled").len(), 1);
    assert_eq!(of_kind(&events, "approval-requested").len(), 0);
}

#[test]
fn questions_of_the_model_are_asked_on_the_terminal() {
    let env = TestEnv::new();
    env.write("agent.toml", "");
    let server = server();
    let ran = on_a_terminal(&env, &server, "run --model openai-compat:m go", "2, 3\nc\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer = "Answer with the numbers of choices, such as 1,2, or in your own words";
    assert!(ran.stdout.contains(answer), "{}", ran.stdout);
    let expected = json!({ "answers": [
        { "question": "Which?", "answer": ["green", "blue"] },
        { "question": "Why?", "answer": null },
    ] });
    assert_eq!(answers(&server), expected);
}

/// Where no one can be asked, the model is not offered the tool.
#[test]
fn tool_is_offered_where_the_user_can_be_asked() {
    for (prompts, expected) in [("later", vec![json!("ask_user")]), ("none", vec![])] {
        let env = TestEnv::new();
        env.write("agent.toml", "");
        let server = ChatServer::start(vec![Answer::text("That is all.")]);
        let ran = ask(&env, &server, &["--permission-prompts", prompts, "go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let asks = |name: &Value| name == "ask_user";
        let offered: Vec<Value> = offered(&server).into_iter().filter(asks).collect();
        assert_eq!(offered, expected, "{prompts}");
    }
}
