//! The rules of the vendors for requests, by their documentation and the errors that they answer.

use serde_json::Value;
use std::collections::HashSet;

/// Checks a body, by the name of the service and of its wire format. The error says why the service
/// refuses it.
///
/// # Errors
/// The rule that the body breaks.
pub(crate) fn check(service: &str, wire: &str, body: &Value) -> Result<(), String> {
    match wire {
        "anthropic" => anthropic(body),
        "openai" => responses(body),
        "gemini" => gemini(body),
        "ollama" => ollama(body),
        "openai-compat" => {
            chat(body)?;
            match service {
                "mistral" => mistral(body),
                "azure" => without(body, "max_tokens"),
                _ => Ok(()),
            }
        }
        other => Err(format!("unknown wire format `{other}`")),
    }
}

fn ensure(is_right: bool, why: impl Into<String>) -> Result<(), String> {
    is_right.then_some(()).ok_or_else(|| why.into())
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn without(body: &Value, field: &str) -> Result<(), String> {
    ensure(
        body.get(field).is_none(),
        format!("Extra inputs are not permitted: {field}"),
    )
}

/// `^[a-zA-Z0-9_-]{1,64}$`, of OpenAI and Anthropic.
fn is_token(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The answers to calls follow them at once, each exactly once.
fn answers(calls: &[&str], results: &[&str]) -> Result<(), String> {
    let distinct: HashSet<&&str> = results.iter().collect();
    let is_complete = calls.iter().all(|call| distinct.contains(call));
    let is_exact = distinct.len() == results.len() && results.len() == calls.len();
    ensure(
        is_complete && is_exact,
        format!("calls {calls:?} have the results {results:?}"),
    )
}

/// The reference of Chat Completions at OpenAI, 2026.
fn chat(body: &Value) -> Result<(), String> {
    let mut messages = list(body, "messages").iter().peekable();
    while let Some(message) = messages.next() {
        match text(message, "role") {
            "assistant" => {
                let calls = list(message, "tool_calls");
                ensure(
                    !calls.is_empty() || message["content"].is_string(),
                    "no content",
                )?;
                for call in calls {
                    let name = text(&call["function"], "name");
                    ensure(is_token(name), format!("function.name: {name}"))?;
                    let arguments = text(&call["function"], "arguments");
                    let parsed: Result<Value, _> = serde_json::from_str(arguments);
                    ensure(
                        parsed.is_ok_and(|it| it.is_object()),
                        format!("arguments: {arguments}"),
                    )?;
                }
                let is_result = |it: &&&Value| text(it, "role") == "tool";
                let results: Vec<&str> = std::iter::from_fn(|| {
                    let next = messages.next_if(|it| is_result(&it))?;
                    Some(text(next, "tool_call_id"))
                })
                .collect();
                let calls: Vec<&str> = calls.iter().map(|call| text(call, "id")).collect();
                answers(&calls, &results)?;
            }
            "tool" => return Err("a result without a call".to_owned()),
            "user" => ensure(
                message["content"] != "" && message["content"] != Value::Array(vec![]),
                "empty content",
            )?,
            _ => {}
        }
    }
    Ok(())
}

/// `mistral-common` and the codes 3230 and 3280 of the API, 2026.
fn mistral(body: &Value) -> Result<(), String> {
    without(body, "stream_options")?;
    let mut before = "";
    for message in list(body, "messages") {
        let role = text(message, "role");
        let after_tool = before != "tool" || matches!(role, "tool" | "assistant");
        ensure(
            after_tool,
            format!("Unexpected role '{role}' after role '{before}'"),
        )?;
        let ids = list(message, "tool_calls")
            .iter()
            .map(|call| text(call, "id"));
        let ids = ids.chain(message["tool_call_id"].as_str());
        for id in ids {
            let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            ensure(
                is_short,
                format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."),
            )?;
        }
        before = role;
    }
    ensure(before != "assistant", "Expected last role User or Tool")
}

/// The reference of Messages at Anthropic, 2026.
fn anthropic(body: &Value) -> Result<(), String> {
    let mut calls: Vec<&str> = Vec::new();
    for (index, message) in list(body, "messages").iter().enumerate() {
        let is_user = index % 2 == 0;
        ensure(
            is_user == (text(message, "role") == "user"),
            "roles must alternate",
        )?;
        let content = list(message, "content");
        ensure(!content.is_empty(), "empty content")?;
        let of_kind =
            |kind: &'static str| content.iter().filter(move |it| text(it, "type") == kind);
        ensure(
            of_kind("text").all(|it| !text(it, "text").trim().is_empty()),
            "blank text",
        )?;
        let results: Vec<&str> = of_kind("tool_result")
            .map(|it| text(it, "tool_use_id"))
            .collect();
        let first = content.iter().take(results.len());
        ensure(
            first
                .into_iter()
                .all(|it| text(it, "type") == "tool_result"),
            "results come first",
        )?;
        answers(&calls, &results)?;
        for result in of_kind("tool_result").filter(|it| it["is_error"] == true) {
            let is_text = |it: &Value| text(it, "type") == "text";
            ensure(
                result["content"].is_string() || list(result, "content").iter().all(is_text),
                "is_error",
            )?;
        }
        calls = of_kind("tool_use").map(|it| text(it, "id")).collect();
        for call in of_kind("tool_use") {
            let (id, name) = (text(call, "id"), text(call, "name"));
            ensure(
                is_token(id) && is_token(name),
                format!("tool_use: {id} {name}"),
            )?;
            ensure(call["input"].is_object(), "input")?;
        }
    }
    Ok(())
}

/// The reference of Responses at OpenAI, 2026.
fn responses(body: &Value) -> Result<(), String> {
    let items = list(body, "input");
    let ids = |kind: &str| -> Vec<&str> {
        let found = items.iter().filter(|item| text(item, "type") == kind);
        found.map(|item| text(item, "call_id")).collect()
    };
    let calls = ids("function_call");
    for item in items
        .iter()
        .filter(|item| text(item, "type") == "function_call")
    {
        let (id, name) = (text(item, "call_id"), text(item, "name"));
        ensure(
            is_token(id) && is_token(name),
            format!("function_call: {id} {name}"),
        )?;
    }
    answers(&calls, &ids("function_call_output"))
}

/// The reference of `generateContent` at Google, 2026.
fn gemini(body: &Value) -> Result<(), String> {
    let mut calls = 0;
    for (index, content) in list(body, "contents").iter().enumerate() {
        let is_user = text(content, "role") == "user";
        ensure(is_user || index > 0, "the first content is the user's")?;
        let parts = list(content, "parts");
        ensure(!parts.is_empty(), "contents.parts must not be empty")?;
        let of_kind = |kind: &str| -> Vec<&Value> {
            parts.iter().filter_map(|part| part.get(kind)).collect()
        };
        let results = of_kind("functionResponse");
        ensure(
            results.len() == calls,
            "as many function responses as function calls",
        )?;
        for result in results {
            ensure(result["response"].is_object(), "response must be an object")?;
        }
        let called = of_kind("functionCall");
        ensure(
            called.iter().all(|call| is_token(text(call, "name"))),
            "functionCall.name",
        )?;
        calls = called.len();
    }
    Ok(())
}

/// The documentation of `/api/chat` at Ollama, 2026.
fn ollama(body: &Value) -> Result<(), String> {
    for message in list(body, "messages") {
        ensure(message["content"].is_string(), "content must be a string")?;
        for call in list(message, "tool_calls") {
            ensure(
                call["function"]["arguments"].is_object(),
                "arguments must be an object",
            )?;
        }
        if text(message, "role") == "tool" {
            ensure(!text(message, "tool_name").is_empty(), "tool_name")?;
        }
    }
    Ok(())
}
