//! Functions of a client.

use super::*;
use agent_host_test_support::of_kind;
use pretty_assertions::assert_eq;

fn weather() -> Value {
    json!({
        "name": "get_weather",
        "description": "Returns the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    })
}

/// A model that reads a file, calls the client's function twice, and then answers.
fn model() -> (TestEnv, ChatServer) {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let model = ChatServer::start(vec![
        Answer::calls_with_ids(&[
            ("a", ("get_weather", json!({"city": "Rome"}))),
            ("b", ("read_file", json!({"path": "note.txt"}))),
            ("c", ("get_weather", json!({"city": "Oslo"}))),
        ]),
        Answer::text("Both are fine."),
    ]);
    (env, model)
}

fn response_tool() -> Value {
    let mut tool = weather();
    tool["type"] = json!("function");
    tool["strict"] = json!(true);
    tool
}

#[test]
fn function_runs_at_the_client() {
    let (env, model) = model();
    let server = ApiServer::start(&env, &model, &[]);
    let body = json!({"model": "agent-host", "input": "Weather?", "tools": [response_tool()]});
    let response = respond(&server, &body);
    let call = |id: &str| format!("call_{}_{id}", session(&response).replace('-', ""));
    let run = response["id"]
        .as_str()
        .unwrap()
        .strip_prefix("resp_")
        .unwrap();
    let item = |index: usize, id: &str, arguments: &str| {
        json!({
            "type": "function_call",
            "id": format!("fc_{run}_{index}"),
            "call_id": call(id),
            "name": "get_weather",
            "arguments": arguments,
            "status": "completed",
        })
    };
    assert_eq!(
        response["output"],
        json!([
            item(0, "a", "{\"city\":\"Rome\"}"),
            item(1, "c", "{\"city\":\"Oslo\"}")
        ])
    );
    assert_eq!(response["status"], "completed");
    assert_eq!(read(&server, &response), response);

    // A result of every call, with or without what stood before.
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": call(id), "output": text});
    let submit = |outputs: &[Value]| {
        let input: Vec<Value> = response["output"]
            .as_array()
            .unwrap()
            .iter()
            .chain(outputs)
            .cloned()
            .collect();
        let body = json!({"model": "agent-host", "input": input, "tools": [response_tool()]});
        send(&server, "POST /v1/responses", Some(&body))
    };
    assert_eq!(
        error(&submit(&[output("a", "sunny")])),
        (409, "not_waiting".into())
    );
    let elsewhere = json!({"type": "function_call_output", "call_id": "call_1", "output": ""});
    assert_eq!(error(&submit(&[elsewhere])), (404, "call_not_found".into()));
    let second = submit(&[output("c", "snow"), output("a", "sunny")]).json();
    assert_eq!(
        texts(&second),
        [("final_answer".into(), "Both are fine.".into())]
    );
    assert_eq!(session(&second), session(&response));
    assert_eq!(model.tool_results(), ["sunny", "hello", "snow"]);
    let names = |request: &Value| {
        let tools = request["tools"].as_array().unwrap().iter();
        tools
            .filter(|tool| tool["function"]["name"] == "get_weather")
            .count()
    };
    assert_eq!(
        model.requests().iter().map(names).collect::<Vec<_>>(),
        [1, 1]
    );
    let again = submit(&[output("c", "snow"), output("a", "sunny")]);
    assert_eq!(error(&again), (409, "not_waiting".into()));
    assert_eq!(of_kind(&env.events(), "input-received").len(), 1);
}

#[test]
fn function_of_a_chat_runs_at_the_client() {
    let (env, model) = model();
    let server = ApiServer::start(&env, &model, &[]);
    let mut body = json!({
        "model": "agent-host",
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"type": "function", "function": weather()}],
        "tool_choice": "auto",
    });
    let first = complete(&server, &body);
    let choice = &first["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null)
    );
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls[1]["function"]["arguments"], "{\"city\":\"Oslo\"}");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(choice["message"].clone());
    for (call, text) in calls.iter().zip(["sunny", "snow"]) {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": text}));
    }
    let second = complete(&server, &body);
    assert_eq!(second["choices"][0]["message"]["content"], "Both are fine.");
    assert_eq!(model.tool_results(), ["sunny", "hello", "snow"]);
}

/// Each piece of a call is in the stream.
#[test]
fn calls_are_streamed() {
    let (env, model) = model();
    let server = ApiServer::start(&env, &model, &[]);
    let body = json!({
        "model": "agent-host",
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"type": "function", "function": weather()}],
        "stream": true,
    });
    let chunks = data(&send(&server, "POST /v1/chat/completions", Some(&body)));
    let deltas: Vec<Value> = chunks
        .iter()
        .map(|chunk| chunk["choices"][0]["delta"].clone())
        .collect();
    let id = deltas[1]["tool_calls"][0]["id"]
        .as_str()
        .unwrap()
        .strip_suffix("_a")
        .unwrap();
    let call = |index: usize, call: &str, arguments: &str| {
        json!({"tool_calls": [{
            "index": index,
            "id": format!("{id}_{call}"),
            "type": "function",
            "function": {"name": "get_weather", "arguments": arguments},
        }]})
    };
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": "", "refusal": null}),
            call(0, "a", "{\"city\":\"Rome\"}"),
            call(1, "c", "{\"city\":\"Oslo\"}"),
            json!({}),
        ]
    );
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "tool_calls");
}
