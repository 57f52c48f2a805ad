//! `/v1/responses`: a run of an agent as a response.

use super::{
    chat::BETWEEN,
    conversation::{RequestInput, items},
    error::ApiError,
    fields::with,
    ids::RunId,
    live::Live,
    models::{self, model_of},
    outcome::{ResponseItem, ResponseOutcome, ResponseState},
    parameters,
    response_events::events,
    start::{ResponseRequest, no_response},
    tools::{answer_schema, functions},
};
use crate::{
    Service,
    access::Caller,
    create::idempotency_key,
    problem::{Problem, ProblemCode},
    routes::{JsonObject, Path},
};
use agent_host_types::id::Digest;
use axum::{
    Json,
    extract::State as Extract,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Uri, header::HOST};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The most entries of `metadata`, and the longest key and value, in bytes.
const METADATA: (usize, usize, usize) = (16, 256, 2048);

/// The body of a request. `rest` is checked against the table of parameters.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ResponseRequest")]
pub(super) struct Body {
    model: String,
    input: Value,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    text: Option<Text>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The form of the answer.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ResponseText")]
struct Text {
    #[serde(default)]
    format: Option<Value>,
    #[serde(default)]
    verbosity: Option<Value>,
}

/// Creates a response: runs an agent until it ends or waits.
pub(super) async fn create(
    Extract(service): Extract<Service>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<JsonObject<Body>, Problem>,
) -> Result<Response, ApiError> {
    let body = body?.0;
    parameters::check(&body.rest)?;
    let key = key_of(&caller, &headers, &body)?;
    let agent = models::agent(service.host.config(), &body.model)?;
    let (is_stored, is_streamed) = (body.store.unwrap_or(true), body.stream.unwrap_or(false));
    let previous = body.previous_response_id.as_deref();
    let previous = previous.map(|id| {
        let unknown = || no_response("previous_response_not_found").at("previous_response_id");
        RunId::parse(id).ok_or_else(unknown)
    });
    let metadata = body.metadata.unwrap_or_default();
    check_metadata(&metadata)?;
    let note = json!({"metadata": metadata, "previous": body.previous_response_id});
    let format = body.text.as_ref().and_then(|text| text.format.as_ref());
    let input = RequestInput::from_entries(items(body.input, body.instructions)?)?;
    let request = ResponseRequest {
        caller,
        agent,
        previous: previous.transpose()?,
        functions: functions(body.tools.unwrap_or_default(), body.tool_choice.as_ref())?,
        schema: answer_schema("text.format", format)?,
        note: note.as_object().cloned().unwrap_or_default(),
        // Under its key the answer of any request can be had again.
        is_kept: is_stored || key.is_some(),
        key,
        server: server_of(&headers),
    };
    let mut live = request.start(&service, input).await?;
    if is_streamed {
        return Ok(events(live, is_stored).into_response());
    }
    live.finish().await;
    Ok(Json(response(&live, is_stored)).into_response())
}

/// Reads a response, also one that runs.
pub(super) async fn read(
    Extract(service): Extract<Service>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, ApiError> {
    let query = uri.query().unwrap_or_default();
    if query.split('&').any(|pair| pair == "stream=true") {
        let message = "a stored response can only be read whole; its session has an event stream";
        return Err(ApiError::unsupported("stream", message));
    }
    let unknown = || no_response("response_not_found");
    let run = RunId::parse(&id).ok_or_else(unknown)?;
    match service.visible(&caller, run.session).await {
        Err(problem) if problem.code == ProblemCode::NotFound => return Err(unknown()),
        visible => visible?,
    };
    let outcome = match ResponseOutcome::read(&service, run).await {
        Err(error) if error.code() == "not_found" => None,
        outcome => outcome?,
    };
    let outcome = outcome.ok_or_else(unknown)?;
    let is_running = !outcome.is_over() && service.runs.is_running_anywhere(run.session).await;
    Ok(Json(to_json(
        &outcome,
        true,
        is_running,
        &server_of(&headers),
    )))
}

/// Returns the host and the port by which a client knows the server.
pub(super) fn server_of(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or_default().to_owned()
}

/// Returns the idempotency key of a request, with the digest of its body.
pub(super) fn key_of<T: Serialize>(
    caller: &Caller,
    headers: &HeaderMap,
    body: &T,
) -> Result<Option<(String, Digest)>, ApiError> {
    let Some(key) = idempotency_key(headers)? else {
        return Ok(None);
    };
    let digest = Digest::of_json(body).map_err(|error| ApiError::invalid(error.to_string()))?;
    Ok(Some((caller.own_key(key), digest)))
}

fn check_metadata(metadata: &Map<String, Value>) -> Result<(), ApiError> {
    let (entries, key_bytes, value_bytes) = METADATA;
    let fits = |(key, value): (&String, &Value)| {
        key.len() <= key_bytes
            && value
                .as_str()
                .is_some_and(|value| value.len() <= value_bytes)
    };
    match metadata.len() <= entries && metadata.iter().all(fits) {
        true => Ok(()),
        false => Err(ApiError::invalid(format!(
            "`metadata` can have at most {entries} strings of at most {value_bytes} bytes, with keys of at most {key_bytes} bytes"
        ))
        .at("metadata")),
    }
}

/// Returns a response that has ended, as far as it got.
pub(super) fn response(live: &Live, is_stored: bool) -> Value {
    to_json(live.outcome(), is_stored, false, live.server())
}

/// Returns the JSON of a response.
pub(super) fn to_json(
    outcome: &ResponseOutcome,
    is_stored: bool,
    is_running: bool,
    server: &str,
) -> Value {
    let run = outcome.run;
    let mut output = Vec::new();
    let mut has_message = false;
    for (index, item) in outcome.items.iter().enumerate() {
        output.push(item_json(run, index, item, has_message));
        has_message |= matches!(item, ResponseItem::Message { .. });
    }
    if let Some(text) = outcome.waiting(server).filter(|_| !is_running) {
        let text = apart(&text, has_message);
        output.push(message(run, output.len(), &text, "completed", false));
    }
    let (status, reason) = match outcome.state() {
        _ if is_running => ("in_progress", None),
        ResponseState::Completed => ("completed", None),
        ResponseState::Open | ResponseState::Waiting => ("incomplete", None),
        ResponseState::Length => ("incomplete", Some("max_output_tokens")),
        ResponseState::Refused => ("incomplete", Some("content_filter")),
        ResponseState::Cancelled => ("cancelled", None),
        ResponseState::Failed => ("failed", None),
    };
    let error = outcome.error().map(|error| {
        let error = ApiError::from(error);
        // OpenAI has a closed list of codes here; ours is in `agent_host`.
        let code = match error.code() {
            "rate_limit_exceeded" => "rate_limit_exceeded",
            _ => "server_error",
        };
        json!({"code": code, "message": error.message()})
    });
    let code = outcome
        .error()
        .map(|error| ApiError::from(error).code().to_owned());
    let details = with(outcome.details(), "code", json!(code));
    let tokens = outcome.tokens();
    json!({
        "id": run.response(is_stored),
        "object": "response",
        "created_at": outcome.created_at(),
        "status": status,
        "error": error,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "instructions": null,
        "max_output_tokens": null,
        "metadata": outcome.note.get("metadata").cloned().unwrap_or_else(|| json!({})),
        "model": model_of(outcome.agent.as_deref()),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": outcome.note.get("previous"),
        "store": is_stored,
        "temperature": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "usage": {
            "input_tokens": tokens.input_tokens,
            "input_tokens_details": {
                "cached_tokens": tokens.cached_input_tokens,
                "cache_write_tokens": tokens.cache_write_tokens,
            },
            "output_tokens": tokens.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens.input_tokens.saturating_add(tokens.output_tokens),
        },
        "agent_host": details,
    })
}

/// Returns the text of a message. One after another begins with an empty line, since the SDKs join
/// the texts of a response as they are (`output_text`).
pub(super) fn apart(text: &str, has_message: bool) -> Cow<'_, str> {
    match has_message {
        true => format!("{BETWEEN}{text}").into(),
        false => text.into(),
    }
}

fn item_json(run: RunId, index: usize, item: &ResponseItem, has_message: bool) -> Value {
    match item {
        ResponseItem::Reasoning(text) => reasoning(run, index, text),
        ResponseItem::Message {
            text,
            is_commentary,
        } => {
            let text = apart(text, has_message);
            message(run, index, &text, "completed", *is_commentary)
        }
        ResponseItem::Call {
            call_id,
            name,
            arguments,
        } => function_call(run, index, &run.call(call_id), name, arguments, "completed"),
    }
}

/// Returns an item with what the model shows of its reasoning.
pub(super) fn reasoning(run: RunId, index: usize, text: &str) -> Value {
    let summary = match text.is_empty() {
        true => json!([]),
        false => json!([{"type": "summary_text", "text": text}]),
    };
    json!({"type": "reasoning", "id": item_id("rs", run, index), "summary": summary})
}

/// Returns an item with text of the agent.
pub(super) fn message(
    run: RunId,
    index: usize,
    text: &str,
    status: &str,
    is_commentary: bool,
) -> Value {
    let content = match status {
        "in_progress" => json!([]),
        _ => json!([output_text(text)]),
    };
    let phase = match is_commentary {
        true => "commentary",
        false => "final_answer",
    };
    json!({
        "type": "message",
        "id": item_id("msg", run, index),
        "role": "assistant",
        "status": status,
        "phase": phase,
        "content": content,
    })
}

/// Returns a part of text.
pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// Returns an item with a call that the client runs.
pub(super) fn function_call(
    run: RunId,
    index: usize,
    call_id: &str,
    name: &str,
    arguments: &str,
    status: &str,
) -> Value {
    json!({
        "type": "function_call",
        "id": item_id("fc", run, index),
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    })
}

pub(super) fn item_id(kind: &str, run: RunId, index: usize) -> String {
    format!("{kind}_{run}_{index}")
}
