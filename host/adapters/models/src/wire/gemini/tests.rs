//! The wire over HTTP.

use super::*;
use crate::{
    Provider,
    testing::server::{self, Answer, TestServer},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, StopReason, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};

const MODEL: &str = "gemini-3-pro";

async fn ask(answer: Answer) -> (TestServer, Result<ModelReply, ModelError>) {
    server::ask(
        Provider::Gemini,
        MODEL,
        "/v1beta/models/gemini-3-pro:streamGenerateContent",
        answer,
    )
    .await
}

#[tokio::test]
async fn exchange_matches_wire() {
    let stream = include_str!("streams/signed-at-the-end.sse");
    let answer = Answer::stream(stream);
    let (server, reply) = ask(answer).await;
    let parts = json!([
        {"type": "text", "bytes": 9},
        {"type": "text", "bytes": 0, "signature": "ZW5k"},
    ]);
    let stored = json!({"model": MODEL, "parts": parts});
    let expected = ModelReply {
        text: "It is so.".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        usage: Usage {
            input_tokens: 7,
            output_tokens: 3,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        response_id: Some("r1".to_owned()),
        metadata: Map::from_iter([("gemini".to_owned(), stored)]),
        ..ModelReply::default()
    };
    assert_eq!(reply, Ok(expected));

    let requests = server.received();
    assert_eq!(requests.len(), 1);
    let header = |name: &str| requests[0].header(name);
    assert_eq!(
        ["x-goog-api-key", "authorization", "content-type"].map(header),
        [Some("sesame"), None, Some("application/json")]
    );
    assert_eq!(
        requests[0].json(),
        json!({
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
        })
    );
}

#[tokio::test]
async fn server_message_is_quoted_for_any_status() {
    let error = |code: u16, reason: &str| json!({"error": {"code": code, "message": "not now", "details": [{"reason": reason}]}});
    for (status, body, kind) in [
        (200, error(429, ""), ModelErrorKind::RateLimited),
        (400, error(400, ""), ModelErrorKind::InvalidRequest),
        (
            400,
            error(400, "API_KEY_INVALID"),
            ModelErrorKind::Unauthorized,
        ),
        (
            400,
            json!([error(400, "API_KEY_INVALID")]),
            ModelErrorKind::Unauthorized,
        ),
        (403, error(403, ""), ModelErrorKind::Unauthorized),
        (503, json!([error(503, "")]), ModelErrorKind::Server),
    ] {
        let (_server, reply) = ask(Answer::new(status).json(&body)).await;
        let error = reply.unwrap_err();
        assert_eq!(error.kind, kind, "{body}");
        assert!(
            error.message.ends_with(" It says: \"not now\""),
            "{body}: {error}"
        );
        let names_key = error.message.contains("Check the key in THE_KEY.");
        assert_eq!(
            names_key,
            kind == ModelErrorKind::Unauthorized,
            "{body}: {error}"
        );
    }
}

#[test]
fn model_name_is_in_path() {
    for (model, expected) in [
        (
            "gemini-3-pro",
            "v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        ),
        (
            "models/gemini-3-pro",
            "v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        ),
        (
            "tunedModels/mine",
            "v1beta/tunedModels/mine:streamGenerateContent?alt=sse",
        ),
        (
            "a?b#c%",
            "v1beta/models/a%3Fb%23c%25:streamGenerateContent?alt=sse",
        ),
    ] {
        assert_eq!(reply_path(model), expected);
    }
}
