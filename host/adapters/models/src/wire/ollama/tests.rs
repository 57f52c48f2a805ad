//! The wire over HTTP.

use crate::{
    Provider,
    testing::server::{self, Answer, TestServer},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, StopReason, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

async fn ask(answer: Answer) -> (TestServer, Result<ModelReply, ModelError>) {
    server::ask(Provider::Ollama, "m", "/api/chat", answer).await
}

#[tokio::test]
async fn exchange_matches_wire() {
    let stream = include_str!("streams/text.ndjson");
    let expected = ModelReply {
        text: "Grüße 🙂".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        usage: Usage {
            input_tokens: 26,
            output_tokens: 4,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        ..ModelReply::default()
    };
    // The second is how some gateways send it.
    for media_type in ["application/x-ndjson", "application/json"] {
        let answer = Answer::new(200).body(stream, media_type);
        let (server, answered) = ask(answer).await;
        assert_eq!(answered, Ok(expected.clone()), "{media_type}");
        let requests = server.received();
        assert_eq!(requests.len(), 1);
        let header = |name: &str| requests[0].header(name).unwrap();
        assert_eq!(
            ["authorization", "content-type"].map(header),
            ["Bearer sesame", "application/json"]
        );
        assert_eq!(
            requests[0].json(),
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true})
        );
    }
}

#[tokio::test]
async fn unstreamed_response_is_decoded() {
    let body = json!({"message": {"role": "assistant", "content": "Hello"}, "done": true, "done_reason": "stop"});
    let text = serde_json::to_string_pretty(&body).unwrap();
    let answer = Answer::new(200).body(text, "application/json");
    let (_server, answered) = ask(answer).await;
    let expected = ModelReply {
        text: "Hello".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        raw: Some(body),
        ..ModelReply::default()
    };
    assert_eq!(answered, Ok(expected));
}

#[tokio::test]
async fn server_message_is_quoted_for_any_status() {
    for (status, kind) in [
        (200, ModelErrorKind::Server),
        (400, ModelErrorKind::InvalidRequest),
        (401, ModelErrorKind::Unauthorized),
        (404, ModelErrorKind::NotFound),
        (500, ModelErrorKind::Server),
    ] {
        let body = json!({"error": "not now"});
        let (_server, answered) = ask(Answer::new(status).json(&body)).await;
        let error = answered.unwrap_err();
        assert_eq!(error.kind, kind, "{status}");
        assert!(
            error.message.ends_with(" It says: \"not now\""),
            "{status}: {error}"
        );
    }
}
