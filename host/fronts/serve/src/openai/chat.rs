//! `/v1/chat/completions`: a run of an agent as a completion.
//!
//! The client holds the conversation and sends it whole, so that each request is a session of its
//! own that begins with it. Results of the client's functions go to the session of their calls.

use super::{
    chat_chunks::{chunks, finish_reason},
    conversation::{RequestInput, messages},
    error::ApiError,
    fields::with,
    live::Live,
    models::{self, model_of},
    outcome::{ResponseItem, ResponseOutcome, ResponseState},
    parameters,
    responses::{key_of, server_of},
    start::ResponseRequest,
    tools::{answer_schema, functions},
};
use crate::{Service, access::Caller, problem::Problem, routes::JsonObject};
use axum::{
    Json,
    extract::State as Extract,
    response::{IntoResponse as _, Response},
};
use http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The text between the texts of two replies.
pub(super) const BETWEEN: &str = "\n\n";

/// The body of a request. `rest` is checked against the table of parameters.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ChatCompletionRequest")]
pub(super) struct Body {
    model: String,
    messages: Vec<Value>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    response_format: Option<Value>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

/// Creates a completion: runs an agent until it ends or waits. A client that disconnects cancels
/// the run, unless it can have the answer again under an idempotency key.
pub(super) async fn create(
    Extract(service): Extract<Service>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<JsonObject<Body>, Problem>,
) -> Result<Response, ApiError> {
    let body = body?.0;
    parameters::check(&body.rest)?;
    let key = key_of(&caller, &headers, &body)?;
    let input = RequestInput::from_entries(messages(body.messages)?)?;
    let request = ResponseRequest {
        caller,
        agent: models::agent(service.host.config(), &body.model)?,
        previous: None,
        functions: functions(body.tools.unwrap_or_default(), body.tool_choice.as_ref())?,
        schema: answer_schema("response_format", body.response_format.as_ref())?,
        note: Map::new(),
        is_kept: key.is_some(),
        key,
        server: server_of(&headers),
    };
    let mut live = request.start(&service, input).await?;
    if body.stream.unwrap_or(false) {
        let options = body.stream_options.unwrap_or_default();
        let has_usage = options.include_usage.unwrap_or(false);
        return Ok(chunks(live, has_usage).into_response());
    }
    live.finish().await;
    completion(&live).map(|completion| Json(completion).into_response())
}

/// Returns the fields that a completion and its chunks have.
pub(super) fn head(outcome: &ResponseOutcome, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", outcome.run),
        "object": object,
        "created": outcome.created_at(),
        "model": model_of(outcome.agent.as_deref()),
    })
}

fn completion(live: &Live) -> Result<Value, ApiError> {
    let outcome = live.outcome();
    if let Some(error) = failure(outcome) {
        return Err(error);
    }
    let (mut texts, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for item in &outcome.items {
        match item {
            ResponseItem::Reasoning(text) => reasoning.push(text.as_str()),
            ResponseItem::Message { text, .. } => texts.push(text.clone()),
            ResponseItem::Call {
                call_id,
                name,
                arguments,
            } => calls.push(json!({
                "id": outcome.run.call(call_id),
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            })),
        }
    }
    texts.extend(outcome.waiting(live.server()));
    let text = (!texts.is_empty()).then(|| texts.join(BETWEEN));
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if !reasoning.is_empty() {
        message = with(message, "reasoning_content", json!(reasoning.join(BETWEEN)));
    }
    if !calls.is_empty() {
        message = with(message, "tool_calls", json!(calls));
    }
    let completion = head(outcome, "chat.completion");
    let choices = json!([{
        "index": 0,
        "message": message,
        "finish_reason": finish_reason(outcome),
        "logprobs": null,
    }]);
    let completion = with(completion, "choices", choices);
    let completion = with(completion, "usage", usage(outcome));
    Ok(with(completion, "agent_host", outcome.details()))
}

/// Returns the error of a run without an answer.
pub(super) fn failure(outcome: &ResponseOutcome) -> Option<ApiError> {
    match outcome.state() {
        ResponseState::Failed => outcome.error().map(ApiError::from),
        ResponseState::Cancelled => {
            Some(ApiError::interrupted("cancelled", "the run was cancelled"))
        }
        ResponseState::Open => {
            let message = "the server stopped before the run ended, or the token was revoked; the rest is in the \
                run's session";
            Some(ApiError::interrupted("interrupted", message))
        }
        ResponseState::Completed
        | ResponseState::Waiting
        | ResponseState::Length
        | ResponseState::Refused => None,
    }
}

/// Returns the tokens of the run.
pub(super) fn usage(outcome: &ResponseOutcome) -> Value {
    let tokens = outcome.tokens();
    json!({
        "prompt_tokens": tokens.input_tokens,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": tokens.input_tokens.saturating_add(tokens.output_tokens),
        "prompt_tokens_details": {"cached_tokens": tokens.cached_input_tokens},
    })
}
