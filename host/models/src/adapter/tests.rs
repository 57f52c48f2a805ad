mod answers;
mod faults;
mod raw;
mod recorded;

use super::*;
use crate::Timeouts;
use agent_host_types::{
    message::{Message, Role},
    model::{StopReason, Usage},
    output::{ContentPart, FileData, FilePart},
};
use serde_json::{Value, json};
use std::{sync::Mutex, time::Duration};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

const KEY: &str = "sk-sesame-123";

/// Repeats at once, so that no test waits.
const EAGER: RetryPolicy = RetryPolicy {
    retries: 2,
    first_wait: Duration::from_micros(1),
    longest_wait: Duration::from_micros(1),
    total_wait: Duration::from_secs(1),
};

fn endpoint(base_url: &str, key: Option<&str>) -> Endpoint {
    Endpoint {
        base_url: base_url.to_owned(),
        key: key.map(Into::into),
        key_source: "THE_KEY".to_owned(),
        timeouts: Timeouts::default(),
    }
}

fn model(endpoint: Endpoint) -> HttpModel {
    let provider = Provider::OpenAiCompat;
    HttpModel::new(provider, "m1", endpoint, provider.capabilities())
        .unwrap()
        .with_retry(EAGER)
}

fn request() -> ModelRequest {
    ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "hi")],
        tools: vec![],
    }
}

/// A delta as an owned text.
fn owned(delta: ModelDelta<'_>) -> String {
    match delta {
        ModelDelta::Text(text) => text.to_owned(),
        ModelDelta::Reasoning(text) => format!("({text})"),
        ModelDelta::Restarted => "<restarted>".to_owned(),
        ModelDelta::Note(text) => format!("<{text}>"),
    }
}

/// Asks once; the reply and what was shown.
async fn ask(
    model: &dyn Model,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| shown.lock().unwrap().push(owned(delta));
    let reply = model.respond(request, &sink).await;
    (reply, shown.into_inner().unwrap())
}

/// The events of a short answer.
fn events(text: &str) -> String {
    let begin = json!({"id": "r1", "choices": [{"index": 0, "delta": {"content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {begin}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

fn event_stream(body: String) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream; charset=utf-8")
}

fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        response_id: Some("r1".to_owned()),
        ..ModelReply::default()
    }
}

/// Mounts an answer for the only path that the adapter knows.
async fn mount(server: &MockServer, answer: ResponseTemplate, times: Option<u64>) {
    let mut mock = Mock::given(matchers::method("POST"))
        .and(matchers::path("/v1/chat/completions"))
        .respond_with(answer);
    if let Some(times) = times {
        mock = mock.up_to_n_times(times);
    }
    mock.mount(server).await;
}

fn base_url(server: &MockServer) -> String {
    format!("{}/v1", server.uri())
}

async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}
