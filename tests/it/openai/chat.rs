//! `/v1/chat/completions`.

use super::*;
use pretty_assertions::assert_eq;

/// Each request is a session, which begins with what was said before.
#[test]
fn completion_continues_the_history_of_the_request() {
    let (env, model) = reading();
    let server = ApiServer::start(&env, &model, &[]);
    let completion = complete(
        &server,
        &json!({
            "model": "agent-host",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
                {"role": "assistant", "content": "Hi."},
                {"role": "user", "content": "Read the note"},
            ],
        }),
    );
    let session = session(&completion);
    let id = completion["id"].as_str().unwrap();
    let digits = session.replace('-', "");
    assert!(id.starts_with(&format!("chatcmpl-{digits}_")), "{id}");
    assert_eq!(
        completion,
        json!({
            "id": id,
            "object": "chat.completion",
            "created": completion["created"],
            "model": "agent-host",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "It says hello.", "refusal": null},
                "finish_reason": "stop",
                "logprobs": null,
            }],
            "usage": {
                "prompt_tokens": 22,
                "completion_tokens": 14,
                "total_tokens": 36,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
            "agent_host": {"session": session, "end": "done"},
        })
    );
    let requests = model.requests();
    let system = requests[0]["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("You are"), "{system}");
    let said = conversation(&requests[0]);
    assert!(said[0][1].to_string().contains("Be brief."), "{said}");
    assert_eq!(
        (&said[1], &said[2]),
        (
            &json!(["assistant", "Hi."]),
            &json!(["user", "Read the note"])
        )
    );
}

#[test]
fn completion_streams_in_chunks() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::text("Not this one.").cut(),
        Answer::text("This one."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let response = send(
        &server,
        "POST /v1/chat/completions",
        Some(&json!({
            "model": "agent-host",
            "messages": [{"role": "user", "content": "Say it"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })),
    );
    assert!(response.body.ends_with("data: [DONE]\n\n"));
    let chunks = data(&response);
    let (usage, chunks) = chunks.split_last().unwrap();
    assert_eq!(
        (&usage["choices"], &usage["usage"]["total_tokens"]),
        (&json!([]), &json!(18))
    );
    for chunk in chunks {
        assert_eq!(
            (
                &chunk["id"],
                &chunk["created"],
                &chunk["object"],
                &chunk["usage"]
            ),
            (
                &usage["id"],
                &usage["created"],
                &json!("chat.completion.chunk"),
                &Value::Null
            )
        );
    }
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(
        text,
        "Not this one.\n\n(The reply was interrupted here, and starts again.)\n\nThis one."
    );
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "stop"
    );
}
