//! OpenAI's own SDKs drive agents through `agent-host serve`. `openai_sdk/` has a script for each,
//! which take the same steps and have to print the same lines.

use agent_host_test_support::{
    Ran, TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    installed::{here, openai_packages, sdks},
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, process::Command};

/// The answers of the model to the steps, in order.
fn answers() -> Vec<Answer> {
    let weather = || Answer::calls(&[("get_weather", json!({"city": "Rome"}))]);
    vec![
        Answer::text("Hello."),
        Answer::text("Again."),
        Answer::text("A square."),
        Answer::calls(&[("read_file", json!({"path": "note.txt"}))]),
        Answer::text("It says hello."),
        Answer::text("Streamed."),
        Answer::text("Raw."),
        weather(),
        Answer::text("Sunny."),
        Answer::text("```json\n{\"count\": 2}\n```"),
        Answer::calls(&[("write_file", json!({"path": "a.txt", "content": "a"}))]),
        Answer::text("Chatted."),
        Answer::text("In chunks."),
        weather(),
        Answer::text("Sunny again."),
    ]
}

/// The lines that a script prints.
fn expected() -> Vec<Value> {
    let arguments = "{\"city\":\"Rome\"}";
    let events = [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    let events = events.map(|name| format!("response.{name}"));
    vec![
        json!([
            "models",
            ["agent-host", "clerk", "general-purpose"],
            "clerk"
        ]),
        json!(["text", "Hello.", "completed", 18, {"a": "b"}]),
        json!(["previous", "Again.", true]),
        json!(["read", "Again."]),
        json!(["image", "A square."]),
        json!(["tool inside", "It says hello."]),
        json!(["stream", "Streamed.", "Streamed.", "completed"]),
        json!(["events", events]),
        json!([
            "function",
            "function_call",
            "get_weather",
            arguments,
            "Sunny."
        ]),
        json!(["schema", {"count": 2}]),
        json!([
            "waiting",
            "incomplete",
            "This run is waiting: a call of `write_file` needs approval",
            "awaiting-confirmation"
        ]),
        json!(["chat", "Chatted.", "stop", 18]),
        json!(["chunks", "In chunks.", 18]),
        json!(["chat function", "get_weather", arguments, "Sunny again."]),
        json!(["unknown model", "NotFoundError", 404, "model_not_found"]),
        json!([
            "unknown model of a chat",
            "NotFoundError",
            404,
            "model_not_found"
        ]),
        json!([
            "unknown response",
            "NotFoundError",
            404,
            "response_not_found"
        ]),
        json!([
            "bad parameter",
            "BadRequestError",
            400,
            "unsupported_parameter"
        ]),
        json!(["bad token", "AuthenticationError", 401, "invalid_api_key"]),
        json!([
            "bad token of a stream",
            "AuthenticationError",
            401,
            "invalid_api_key"
        ]),
    ]
}

/// Takes the steps with an SDK.
fn drives_agents(mut sdk: Command, script: &str) {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    env.configure("[[agent]]\nname = \"clerk\"\ndescription = \"Keeps lists.\"\n");
    let model = ChatServer::start(answers());
    let server = ApiServer::start(&env, &model, &["--write"]);
    let image = format!("data:image/png;base64,{}", STANDARD.encode(png(8, 8)));
    let script = here("interop/openai_sdk").join(script);
    assert!(fs::exists(&script).unwrap());
    let output = sdk
        .arg(script)
        .args([&format!("http://{}/v1", server.address), TOKEN, &image])
        .output();
    let ran: Ran = output.unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json_lines(), expected());
    assert_eq!(model.requests().len(), answers().len());
}

#[test]
fn python() {
    if let Some(python) = sdks() {
        drives_agents(Command::new(python), "check.py");
    }
}

#[test]
fn javascript() {
    if let Some(packages) = openai_packages() {
        let mut node = Command::new(&packages.node);
        node.env("OPENAI_PACKAGES", &packages.directory);
        drives_agents(node, "check.mjs");
    }
}
