use super::*;
use crate::testing::server::{Answer, TestServer};
use pretty_assertions::assert_eq;
use serde_json::json;

fn endpoint(server: &TestServer, base: &str) -> Endpoint {
    Endpoint {
        base_url: format!("{}{base}", server.url),
        key: Some("sk-sesame-123".into()),
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    }
}

/// Each provider is asked at its own place, with its own header for the key, and its own form is
/// read.
#[tokio::test]
async fn list_request_differs_by_provider() {
    let by_id = json!({ "data": [{ "id": "a" }, { "id": "b" }], "has_more": false });
    let cases = [
        (
            Provider::Anthropic,
            "",
            "/v1/models?limit=1000",
            by_id.clone(),
            ["a", "b"],
        ),
        (
            Provider::OpenAi,
            "/v1",
            "/v1/models",
            by_id.clone(),
            ["a", "b"],
        ),
        (
            Provider::OpenAiCompat,
            "/v1",
            "/v1/models",
            by_id,
            ["a", "b"],
        ),
        (
            Provider::Gemini,
            "",
            "/v1beta/models?pageSize=1000",
            json!({ "models": [{ "name": "models/a", "displayName": "A" }, { "name": "models/b" }] }),
            ["a", "b"],
        ),
        (
            Provider::Ollama,
            "",
            "/api/tags",
            json!({ "models": [{ "name": "a:latest", "model": "a:latest" }, { "name": "b:1b" }] }),
            ["a:latest", "b:1b"],
        ),
    ];
    for (provider, base, place, body, expected) in cases {
        let server = TestServer::sequence([Answer::new(200).json(&body)]).await;
        let listed = provider.list_models(endpoint(&server, base)).await.unwrap();
        assert_eq!(listed.names, expected, "{provider:?}");
        let requests = server.received();
        assert_eq!(requests.len(), 1, "{provider:?}");
        let uri = requests[0].uri.to_string();
        assert_eq!((requests[0].method.as_str(), uri.as_str()), ("GET", place));
        let sent = requests[0].headers.values();
        let with_key = sent.filter(|value| value.to_str().unwrap().contains("sk-sesame-123"));
        assert_eq!(with_key.count(), 1, "{provider:?}");
    }
}

#[test]
fn model_name_without_tag_is_in_list() {
    let list = ModelList {
        names: vec!["llama3.2:latest".to_owned(), "qwen3:8b".to_owned()],
    };
    for (model, found) in [
        ("llama3.2", true),
        ("llama3.2:latest", true),
        ("qwen3:8b", true),
        ("qwen3", false),
        ("llama3", false),
        ("", false),
    ] {
        assert_eq!(list.has(model), found, "{model}");
    }
}

#[tokio::test]
async fn list_failure_says_why() {
    use ModelErrorKind as Kind;
    let html = "<html><title>Welcome</title></html>";
    for (status, body, kind, says) in [
        (
            401,
            r#"{"error":{"message":"no sk-sesame-123"}}"#,
            Kind::Unauthorized,
            "THE_KEY",
        ),
        (404, html, Kind::NotFound, "does not list its models"),
        (500, "", Kind::Server, "failed (500)"),
        (200, html, Kind::Protocol, "not a list of models"),
        (
            200,
            r#"{"models": 1}"#,
            Kind::Protocol,
            "not a list of models",
        ),
        (302, "", Kind::Protocol, "redirects"),
    ] {
        let server = TestServer::sequence([Answer::new(status).text(body)]).await;
        let error = Provider::OpenAi
            .list_models(endpoint(&server, "/v1"))
            .await
            .unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(!error.message.contains("sk-sesame-123"), "{error}");
        let methods: Vec<_> = server
            .received()
            .into_iter()
            .map(|request| request.method)
            .collect();
        assert_eq!(methods, ["GET"], "{error}");
    }
}
