mod answers;
mod extras;
mod faults;
mod recorded;
mod schemas;

use super::*;
use crate::{
    RequestExtras, Timeouts,
    testing::server::{Answer, TestServer},
};
use agent_host_types::{
    message::{Message, Role},
    model::{StopReason, Usage},
    output::{ContentPart, FileData, FilePart},
};
use serde_json::json;
use std::{sync::Mutex, time::Duration};

const KEY: &str = "sk-sesame-123";

/// Repeats at once.
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
        extras: RequestExtras::default(),
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
        answer_schema: None,
    }
}

/// A delta as a string.
fn owned(delta: ModelDelta<'_>) -> String {
    match delta {
        ModelDelta::Text(text) => text.to_owned(),
        ModelDelta::Reasoning(text) => format!("({text})"),
        ModelDelta::Restarted => "<restarted>".to_owned(),
        ModelDelta::Note(text) => format!("<{text}>"),
        ModelDelta::Waiting { error, wait } => format!("<{wait:?} after {}>", error.message),
    }
}

/// Asks once. Returns the reply and the deltas but the waits, which are random.
async fn ask(
    model: &dyn Model,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| {
        if !matches!(delta, ModelDelta::Waiting { .. }) {
            shown.lock().unwrap().push(owned(delta));
        }
    };
    let reply = model.respond(request, &sink).await;
    (reply, shown.into_inner().unwrap())
}

/// The events of a short answer.
fn events(text: &str) -> String {
    let begin = json!({"id": "r1", "choices": [{"index": 0, "delta": {"content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {begin}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

fn event_stream(body: impl Into<String>) -> Answer {
    Answer::new(200).body(body.into(), "text/event-stream; charset=utf-8")
}

fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        response_id: Some("r1".to_owned()),
        ..ModelReply::default()
    }
}

/// A server with this answer at the only path that the model asks.
async fn serve(answer: Answer) -> TestServer {
    TestServer::at("/v1/chat/completions", answer).await
}

fn base_url(server: &TestServer) -> String {
    format!("{}/v1", server.url)
}
