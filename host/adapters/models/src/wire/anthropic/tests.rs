//! The wire over HTTP.

use crate::{
    Provider,
    testing::server::{self, Answer, TestServer},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, StopReason, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

async fn ask(answer: Answer) -> (TestServer, Result<ModelReply, ModelError>) {
    server::ask(Provider::Anthropic, "m", "/v1/messages", answer).await
}

#[tokio::test]
async fn exchange_matches_wire() {
    let stream = include_str!("streams/refusal.sse");
    let answer = Answer::stream(stream);
    let (server, reply) = ask(answer).await;
    let expected = ModelReply {
        text: "I".to_owned(),
        stop_reason: Some(StopReason::Refusal),
        usage: Usage {
            input_tokens: 5,
            output_tokens: 2,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        response_id: Some("msg_3".to_owned()),
        ..ModelReply::default()
    };
    assert_eq!(reply, Ok(expected));

    let requests = server.received();
    assert_eq!(requests.len(), 1);
    let header = |name: &str| requests[0].header(name);
    assert_eq!(
        [
            "x-api-key",
            "anthropic-version",
            "authorization",
            "content-type"
        ]
        .map(header),
        [
            Some("sesame"),
            Some("2026-10-21"),
            None,
            Some("application/json")
        ]
    );
    let text = json!({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}});
    assert_eq!(
        requests[0].json(),
        json!({
            "model": "m",
            "max_tokens": 32_000,
            "messages": [{"role": "user", "content": [text]}],
            "stream": true,
        })
    );
}

#[tokio::test]
async fn server_message_is_quoted_for_any_status() {
    let body = |tag: &str| json!({"type": "error", "error": {"type": tag, "message": "not now"}});
    for (status, tag, kind) in [
        (200, "rate_limit_error", ModelErrorKind::RateLimited),
        (400, "invalid_request_error", ModelErrorKind::InvalidRequest),
        (401, "authentication_error", ModelErrorKind::Unauthorized),
        (529, "overloaded_error", ModelErrorKind::Server),
    ] {
        let (_server, reply) = ask(Answer::new(status).json(&body(tag))).await;
        let error = reply.unwrap_err();
        assert_eq!(error.kind, kind, "{status}");
        assert!(
            error.message.ends_with(" It says: \"not now\""),
            "{status}: {error}"
        );
    }
}
