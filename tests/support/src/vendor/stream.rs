//! Replies as streams of each wire format.

use serde_json::{Value, json};

/// A reply before it is encoded.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub text: String,
    pub calls: Vec<SaidCall>,
    /// The tokens that the service counts in the request.
    pub input_tokens: u64,
}

/// A call of a reply. Formats without ids leave the id out.
#[derive(Clone, Debug)]
pub struct SaidCall {
    pub id: String,
    pub name: String,
    pub input: Value,
}

/// Returns the stream of a reply in a wire format, by frames.
pub fn frames(wire: &str, said: &Said) -> Vec<String> {
    match wire {
        "anthropic" => events(&anthropic(said)),
        "openai" => events(&responses(said)),
        "gemini" => data(&gemini(said)),
        "ollama" => {
            let lines = ollama(said).into_iter();
            lines.map(|line| format!("{line}\n")).collect()
        }
        _ => {
            let mut frames = data(&chat(said));
            frames.push("data: [DONE]\n\n".to_owned());
            frames
        }
    }
}

/// Server-sent events that are named by the type in their data.
fn events(values: &[Value]) -> Vec<String> {
    let event = |value: &Value| {
        let name = value["type"].as_str().unwrap();
        format!("event: {name}\ndata: {value}\n\n")
    };
    values.iter().map(event).collect()
}

fn data(values: &[Value]) -> Vec<String> {
    let event = |value: &Value| format!("data: {value}\n\n");
    values.iter().map(event).collect()
}

/// The text in two parts.
fn halves(text: &str) -> Vec<&str> {
    let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let parts = [head, tail].into_iter();
    parts.filter(|part| !part.is_empty()).collect()
}

fn anthropic(said: &Said) -> Vec<Value> {
    let mut sent = vec![json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
        "stop_reason": null, "usage": { "input_tokens": said.input_tokens, "output_tokens": 1 },
    }})];
    let mut index = 0;
    let mut block = |block: Value, deltas: Vec<Value>| {
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        sent.push(start);
        for delta in deltas {
            let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            sent.push(delta);
        }
        sent.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !said.text.is_empty() {
        let parts = halves(&said.text).into_iter();
        let deltas = parts.map(|text| json!({ "type": "text_delta", "text": text }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for SaidCall { id, name, input } in &said.calls {
        let input = input.to_string();
        let parts = halves(&input).into_iter();
        let deltas = parts.map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
        let call = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        block(call, deltas.collect());
    }
    let reason = if said.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    sent.push(json!({
        "type": "message_delta", "usage": { "output_tokens": 7 },
        "delta": { "stop_reason": reason, "stop_sequence": null },
    }));
    sent.push(json!({ "type": "message_stop" }));
    sent
}

fn responses(said: &Said) -> Vec<Value> {
    let response = |status: &str| json!({ "id": "resp_1", "status": status, "output": [] });
    let mut sent = vec![json!({ "type": "response.created", "response": response("in_progress") })];
    let mut item = |mut item: Value, kind: &str, field: &str, parts: Vec<&str>| {
        let whole = parts.concat();
        item["id"] = json!(format!("item_{}", sent.len()));
        let index = sent.len();
        sent.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
        );
        for part in parts {
            sent.push(json!({
                "type": format!("response.{kind}.delta"), "output_index": index, "content_index": 0,
                "delta": part,
            }));
        }
        if kind == "output_text" {
            item["content"] = json!([{ "type": "output_text", "text": whole, "annotations": [] }]);
        } else {
            item[field] = json!(whole);
        }
        sent.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    };
    if !said.text.is_empty() {
        let message = json!({ "type": "message", "role": "assistant" });
        item(message, "output_text", "text", halves(&said.text));
    }
    for SaidCall { id, name, input } in &said.calls {
        let call = json!({ "type": "function_call", "call_id": id, "name": name, "arguments": "" });
        let input = input.to_string();
        item(call, "function_call_arguments", "arguments", halves(&input));
    }
    let mut completed = response("completed");
    completed["usage"] = json!({ "input_tokens": said.input_tokens, "output_tokens": 3 });
    sent.push(json!({ "type": "response.completed", "response": completed }));
    sent
}

fn chat(said: &Said) -> Vec<Value> {
    let choice = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let mut sent = vec![choice(json!({ "role": "assistant" }), Value::Null)];
    for text in halves(&said.text) {
        sent.push(choice(json!({ "content": text }), Value::Null));
    }
    for (index, SaidCall { id, name, input }) in said.calls.iter().enumerate() {
        let call = json!({ "index": index, "id": id, "type": "function",
            "function": { "name": name, "arguments": "" } });
        sent.push(choice(json!({ "tool_calls": [call] }), Value::Null));
        for part in halves(&input.to_string()) {
            let part = json!({ "index": index, "function": { "arguments": part } });
            sent.push(choice(json!({ "tool_calls": [part] }), Value::Null));
        }
    }
    let reason = if said.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    sent.push(choice(json!({}), json!(reason)));
    sent.push(json!({ "choices": [], "usage": { "prompt_tokens": said.input_tokens, "completion_tokens": 7 } }));
    sent
}

fn gemini(said: &Said) -> Vec<Value> {
    let content = |parts: Value| json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }] });
    let mut sent = Vec::new();
    for text in halves(&said.text) {
        sent.push(content(json!([{ "text": text }])));
    }
    for SaidCall { name, input, .. } in &said.calls {
        let call = json!({ "functionCall": { "name": name, "args": input } });
        sent.push(content(json!([call])));
    }
    let mut last = content(json!([{ "text": "" }]));
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] =
        json!({ "promptTokenCount": said.input_tokens, "candidatesTokenCount": 2 });
    sent.push(last);
    sent
}

fn ollama(said: &Said) -> Vec<Value> {
    let line = |text: &str| {
        json!({ "model": "m", "created_at": "2026-01-01T00:00:00Z", "done": false,
            "message": { "role": "assistant", "content": text } })
    };
    let mut sent: Vec<Value> = halves(&said.text).into_iter().map(line).collect();
    for SaidCall { name, input, .. } in &said.calls {
        let mut called = line("");
        let call = json!({ "function": { "name": name, "arguments": input } });
        called["message"]["tool_calls"] = json!([call]);
        sent.push(called);
    }
    let mut last = line("");
    last["done"] = json!(true);
    last["done_reason"] = json!("stop");
    last["prompt_eval_count"] = json!(said.input_tokens);
    last["eval_count"] = json!(4);
    sent.push(last);
    sent
}
