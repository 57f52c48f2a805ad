//! The wire over HTTP.

use crate::{
    Provider,
    testing::server::{self, Answer, TestServer},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, StopReason, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

async fn ask(answer: Answer) -> (TestServer, Result<ModelReply, ModelError>) {
    server::ask(Provider::OpenAi, "m", "/v1/responses", answer).await
}

fn reply() -> ModelReply {
    ModelReply {
        text: "Grüße 🙂".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        usage: Usage {
            input_tokens: 11,
            output_tokens: 5,
            cached_input_tokens: 4,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        response_id: Some("resp_1".to_owned()),
        ..ModelReply::default()
    }
}

#[tokio::test]
async fn exchange_matches_wire() {
    let stream = include_str!("streams/text.sse");
    let answer = Answer::stream(stream);
    let (server, answered) = ask(answer).await;
    assert_eq!(answered, Ok(reply()));
    let requests = server.received();
    assert_eq!(requests.len(), 1);
    let header = |name: &str| requests[0].header(name).unwrap();
    assert_eq!(
        ["authorization", "content-type"].map(header),
        ["Bearer sesame", "application/json"]
    );
    assert_eq!(
        requests[0].json(),
        json!({
            "model": "m",
            "input": [{"type": "message", "role": "user", "content": "hi"}],
            "include": ["reasoning.encrypted_content"],
            "store": false,
            "stream": true,
        })
    );
}

#[tokio::test]
async fn unstreamed_response_is_decoded() {
    let content = json!([{"type": "output_text", "text": "Grüße 🙂", "annotations": []}]);
    let body = json!({
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": null,
        "incomplete_details": null,
        "output": [{"type": "message", "role": "assistant", "status": "completed", "content": content}],
        "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5},
    });
    let (_server, answered) = ask(Answer::new(200).json(&body)).await;
    let expected = ModelReply {
        raw: Some(body),
        ..reply()
    };
    assert_eq!(answered, Ok(expected));
}

#[tokio::test]
async fn server_message_is_quoted_for_any_status() {
    let error = |kind: &str| json!({"error": {"type": kind, "message": "not now", "code": null}});
    let unfinished = ": it ended before the model's stop reason.";
    let quoted = " It says: \"not now\"";
    for (status, body, kind, expected) in [
        (
            200,
            error("rate_limit_error"),
            ModelErrorKind::RateLimited,
            quoted,
        ),
        (200, error("server_error"), ModelErrorKind::Server, quoted),
        (
            400,
            error("invalid_request_error"),
            ModelErrorKind::InvalidRequest,
            quoted,
        ),
        (
            401,
            error("invalid_request_error"),
            ModelErrorKind::Unauthorized,
            quoted,
        ),
        (503, error("server_error"), ModelErrorKind::Server, quoted),
        (
            200,
            json!({"status": "in_progress", "output": []}),
            ModelErrorKind::Protocol,
            unfinished,
        ),
    ] {
        let (_server, answered) = ask(Answer::new(status).json(&body)).await;
        let error = answered.unwrap_err();
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(
            error.message.ends_with(expected),
            "{status} {body}: {error}"
        );
    }
}
