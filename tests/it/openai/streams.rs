//! Responses as they happen.

use super::*;
use pretty_assertions::assert_eq;

fn stream(server: &ApiServer, body: &Value) -> Vec<Value> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    data(&send(server, "POST /v1/responses", Some(&body)))
}

fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["type"].as_str().unwrap());
    names
        .map(|name| name.strip_prefix("response.").unwrap())
        .collect()
}

/// The events of an item of text that arrived in two parts.
const MESSAGE: [&str; 7] = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
];

#[test]
fn text_streams_as_it_arrives() {
    let (env, model) = reading();
    let server = ApiServer::start(&env, &model, &[]);
    let events = stream(&server, &json!({"model": "agent-host", "input": "Read it"}));
    let expected = [&["created", "in_progress"], &MESSAGE[..], &["completed"]].concat();
    assert_eq!(names(&events), expected);
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    let last = events.last().unwrap()["response"].clone();
    assert_eq!(read(&server, &last), last);
    let begun = &events[0]["response"];
    assert_eq!(
        (
            &begun["id"],
            &begun["status"],
            &begun["model"],
            &begun["created_at"],
            &begun["output"]
        ),
        (
            &last["id"],
            &json!("in_progress"),
            &json!("agent-host"),
            &last["created_at"],
            &json!([])
        )
    );
    let id = &last["output"][0]["id"];
    assert_eq!(
        events[4],
        json!({
            "type": "response.output_text.delta",
            "sequence_number": 4,
            "item_id": id,
            "output_index": 0,
            "content_index": 0,
            "delta": "It says",
            "logprobs": [],
        })
    );
    assert_eq!(events[8]["item"], last["output"][0]);
}

/// Each reply has its items: text before calls is commentary, and reasoning is a summary.
#[test]
fn commentary_and_reasoning_are_items() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let read_it = || {
        let calls = [("read_file", json!({"path": "note.txt"}))];
        Answer::calls(&calls).with("content", "Let me look.")
    };
    let said = || Answer::reasoned("A note.", "It says hello.");
    let model = ChatServer::start(vec![
        read_it(),
        said(),
        read_it(),
        said(),
        read_it(),
        said(),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let events = stream(&server, &json!({"model": "agent-host", "input": "Read it"}));
    let text = [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ];
    let reasoning = [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ];
    let (first, last) = (["created", "in_progress"], ["completed"]);
    let expected = [&first[..], &text, &reasoning, &text, &last].concat();
    assert_eq!(names(&events), expected);
    let last = events.last().unwrap()["response"].clone();
    assert_eq!(
        texts(&last),
        [
            ("commentary".into(), "Let me look.".into()),
            ("final_answer".into(), "\n\nIt says hello.".into())
        ]
    );
    let deltas = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .map(|event| event["delta"].as_str().unwrap());
    assert_eq!(
        deltas.collect::<String>(),
        "Let me look.\n\nIt says hello.",
        "`output_text` of the SDKs"
    );
    assert_eq!(
        last["output"][1]["summary"],
        json!([{"type": "summary_text", "text": "A note."}])
    );
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(json!(done), last["output"]);
    assert_eq!(read(&server, &last), last);

    let mut chat = json!({"model": "agent-host", "messages": [{"role": "user", "content": "go"}]});
    let completion = complete(&server, &chat);
    let message = json!({
        "role": "assistant",
        "content": "Let me look.\n\nIt says hello.",
        "refusal": null,
        "reasoning_content": "A note.",
    });
    assert_eq!(completion["choices"][0]["message"], message);
    chat["stream"] = json!(true);
    let chunks = data(&send(&server, "POST /v1/chat/completions", Some(&chat)));
    let joined = |name: &str| -> String {
        let deltas = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0]["delta"][name]);
        deltas.filter_map(Value::as_str).collect()
    };
    assert_eq!(json!(joined("content")), message["content"]);
    assert_eq!(
        json!(joined("reasoning_content")),
        message["reasoning_content"]
    );
}

/// The reasoning before calls is not mixed with that of the next reply.
#[test]
fn reasoning_of_each_reply_is_an_item() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let read_it = Answer::calls(&[("read_file", json!({"path": "note.txt"}))]);
    let model = ChatServer::start(vec![
        read_it.with("reasoning_content", "A file."),
        Answer::reasoned("A note.", "It says hello."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let events = stream(&server, &json!({"model": "agent-host", "input": "Read it"}));
    let output = &events.last().unwrap()["response"]["output"];
    let texts: Vec<&Value> = output
        .as_array()
        .unwrap()
        .iter()
        .map(|item| match item["type"].as_str() {
            Some("reasoning") => &item["summary"][0]["text"],
            _ => &item["content"][0]["text"],
        })
        .collect();
    assert_eq!(
        json!(texts),
        json!(["A file.", "A note.", "It says hello."])
    );
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(&json!(done), output);
}

/// A reply that breaks off is closed as incomplete, and the response does not have it.
#[test]
fn broken_reply_is_no_part_of_the_response() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::text("Not this one.").cut(),
        Answer::text("This one."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let events = stream(&server, &json!({"model": "agent-host", "input": "Say it"}));
    let done: Vec<[&Value; 3]> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| {
            let item = &event["item"];
            [
                &event["output_index"],
                &item["status"],
                &item["content"][0]["text"],
            ]
        })
        .collect();
    assert_eq!(
        json!(done),
        json!([
            [0, "incomplete", "Not this one."],
            [1, "completed", "This one."]
        ])
    );
    let last = &events.last().unwrap()["response"];
    assert_eq!(texts(last), [("final_answer".into(), "This one.".into())]);
}

/// A model's failure after the beginning ends the stream.
#[test]
fn failure_ends_the_stream() {
    let env = TestEnv::new();
    let refusal = json!({"error": {"message": "no such key"}});
    let model = ChatServer::start(vec![Answer::status("401 Unauthorized", &refusal)]);
    let server = ApiServer::start(&env, &model, &[]);
    let events = stream(&server, &json!({"model": "agent-host", "input": "hi"}));
    assert_eq!(names(&events), ["created", "in_progress", "failed"]);
    let last = &events[2]["response"];
    assert_eq!(
        (
            &last["status"],
            &last["error"]["code"],
            &last["agent_host"]["code"]
        ),
        (
            &json!("failed"),
            &json!("server_error"),
            &json!("model_unauthorized")
        )
    );
    assert!(
        last["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no such key")
    );
}
