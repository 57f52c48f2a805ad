//! The wires: the program's settings for each provider's API, and the form of the conversation
//! there.

use super::story::{DENIED, MISSING, SAID, SHOWN, THOUGHT};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// One wire.
pub(super) struct Wire {
    /// Its name in the oracle.
    pub(super) name: &'static str,
    /// The value of `--model`.
    pub(super) model: &'static str,
    /// The variable with the server's address, and the path below it.
    pub(super) base_url: (&'static str, &'static str),
    /// The variable with the key.
    pub(super) key: &'static str,
    /// The path of a model request.
    pub(super) target: &'static str,
    /// The key of the conversation in a request.
    pub(super) conversation: &'static str,
    /// Whether the server counts tokens here.
    pub(super) counts: bool,
    /// The messages that the reply and its results add to the conversation, given the thumbnail,
    /// the messages found there, and the ids that the server generates.
    pub(super) added: fn(&[u8], &[Value]) -> Value,
}

impl Wire {
    /// The variables for a server at this address.
    pub(super) fn variables(&self, server: SocketAddr) -> [(&'static str, String); 2] {
        let (variable, path) = self.base_url;
        [
            (variable, format!("http://{server}{path}")),
            (self.key, "the-key".to_owned()),
        ]
    }
}

/// The calls of the story: id, tool, arguments.
pub(super) fn calls() -> [(&'static str, &'static str, Value); 4] {
    [
        ("c1", "read_file", json!({"path": "a.txt"})),
        (
            "c2",
            "image_thumbnail",
            json!({"max_width": 8, "path": "p.png"}),
        ),
        ("c3", "read_file", json!({"path": "../outside.txt"})),
        ("c4", "read_file", json!({"path": "gone.txt"})),
    ]
}

/// An image as a data URL.
fn data_url(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(png))
}

/// An image in the result of the thumbnail call, on a wire that has it elsewhere.
fn marker(png: &[u8]) -> String {
    format!(
        "{SHOWN}\n[file 1: image/png, {} bytes, `p-thumbnail.png`; it is in the user message after the tool results]",
        png.len()
    )
}

/// The reference to an image that is elsewhere.
fn named(call: &str) -> String {
    format!("[file 1, from the result of `image_thumbnail`, call {call}]")
}

pub(super) const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    model: "anthropic:claude-sonnet-4-5",
    base_url: ("ANTHROPIC_BASE_URL", ""),
    key: "ANTHROPIC_API_KEY",
    target: "/v1/messages",
    conversation: "messages",
    counts: true,
    added: |png, _| {
        let said = [
            json!({"type": "thinking", "thinking": THOUGHT, "signature": "aimock-placeholder-signature"}),
            json!({"type": "text", "text": SAID}),
        ];
        let calls = calls().map(
            |(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        );
        let content = [&said[..], &calls[..]].concat();
        let picture =
            json!({"type": "base64", "media_type": "image/png", "data": STANDARD.encode(png)});
        json!([
            {"role": "assistant", "content": content},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "alpha\n"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [
                    {"type": "text", "text": SHOWN},
                    {"type": "image", "source": picture},
                ]},
                {"type": "tool_result", "tool_use_id": "c3", "content": DENIED},
                {"type": "tool_result", "tool_use_id": "c4", "content": MISSING, "is_error": true},
            ]},
        ])
    },
};

pub(super) const OPENAI_RESPONSES: Wire = Wire {
    name: "openai_responses",
    model: "openai:gpt-5",
    base_url: ("OPENAI_BASE_URL", "/v1"),
    key: "OPENAI_API_KEY",
    target: "/v1/responses",
    conversation: "input",
    counts: true,
    added: |png, found| {
        let id = |place: usize| found[place]["id"].as_str().unwrap();
        let thought = [json!({"type": "summary_text", "text": THOUGHT})];
        let encrypted = STANDARD.encode(format!("aimock-encrypted-reasoning:{}", id(0)));
        let said = [json!({"type": "output_text", "text": SAID, "annotations": []})];
        let result = |id: &str, output: &Value| json!({"type": "function_call_output", "call_id": id, "output": output});
        let mut added = vec![
            json!({"type": "reasoning", "id": id(0), "summary": thought, "encrypted_content": encrypted}),
            json!({"type": "message", "id": id(1), "role": "assistant", "status": "completed", "content": said}),
        ];
        for (place, (call, name, input)) in (2..).zip(calls()) {
            let arguments = input.to_string();
            added.push(json!({
                "type": "function_call", "id": id(place), "call_id": call, "name": name, "arguments": arguments,
                "status": "completed",
            }));
        }
        let shown = json!([
            {"type": "input_text", "text": SHOWN},
            {"type": "input_image", "detail": "auto", "image_url": data_url(png)},
        ]);
        added.extend([
            result("c1", &json!("alpha\n")),
            result("c2", &shown),
            result("c3", &json!(DENIED)),
            result("c4", &json!(json!({"error": MISSING}).to_string())),
        ]);
        Value::Array(added)
    },
};

pub(super) const OPENAI_CHAT: Wire = Wire {
    name: "openai_chat",
    model: "openai-compat:o3",
    base_url: ("OPENAI_COMPAT_BASE_URL", "/v1"),
    key: "OPENAI_COMPAT_API_KEY",
    target: "/v1/chat/completions",
    conversation: "messages",
    counts: true,
    added: |png, _| {
        let calls = calls().map(|(id, name, input)| {
            let arguments = input.to_string();
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        });
        let result = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
        json!([
            {"role": "assistant", "content": SAID, "reasoning_content": THOUGHT, "tool_calls": calls},
            result("c1", "alpha\n"),
            result("c2", &marker(png)),
            result("c3", DENIED),
            result("c4", &json!({"error": MISSING}).to_string()),
            {"role": "user", "content": [
                {"type": "text", "text": named("c2")},
                {"type": "image_url", "image_url": {"url": data_url(png)}},
            ]},
        ])
    },
};

pub(super) const GEMINI: Wire = Wire {
    name: "gemini",
    model: "gemini:gemini-3-pro",
    base_url: ("GEMINI_BASE_URL", ""),
    key: "GEMINI_API_KEY",
    target: "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    conversation: "contents",
    counts: true,
    added: |png, _| {
        let mut parts = vec![json!({"text": SAID})];
        for (id, name, input) in calls() {
            parts.push(json!({"functionCall": {"id": id, "name": name, "args": input}}));
        }
        // aimock signs no thought, and without a signature Gemini refuses the first call of a turn.
        parts[1]["thoughtSignature"] = json!("skip_thought_signature_validator");
        let result = |id: &str, response: &Value| json!({"functionResponse": {"id": id, "name": "read_file", "response": response}});
        let note = format!(
            "[image/png, {} bytes, `p-thumbnail.png`; it is part 1 of this result]",
            png.len()
        );
        let picture = json!({"mimeType": "image/png", "data": STANDARD.encode(png)});
        let shown = json!({
            "id": "c2",
            "name": "image_thumbnail",
            "response": {"output": format!("{SHOWN}\n{note}")},
            "parts": [{"inlineData": picture}],
        });
        json!([
            {"role": "model", "parts": parts},
            {"role": "user", "parts": [
                result("c1", &json!({"output": "alpha\n"})),
                {"functionResponse": shown},
                result("c3", &json!({"error": DENIED})),
                result("c4", &json!({"error": MISSING})),
            ]},
        ])
    },
};

pub(super) const OLLAMA: Wire = Wire {
    name: "ollama",
    model: "ollama:qwen3",
    base_url: ("OLLAMA_HOST", ""),
    key: "OLLAMA_API_KEY",
    target: "/api/chat",
    conversation: "messages",
    counts: false,
    added: |png, _| {
        let calls =
            calls().map(|(_, name, input)| json!({"function": {"name": name, "arguments": input}}));
        let result = |name: &str, content: &str| json!({"role": "tool", "tool_name": name, "content": content});
        json!([
            {"role": "assistant", "content": SAID, "tool_calls": calls},
            result("read_file", "alpha\n"),
            result("image_thumbnail", &marker(png)),
            result("read_file", DENIED),
            result("read_file", &json!({"error": MISSING}).to_string()),
            {"role": "user", "content": named("call-2"), "images": [STANDARD.encode(png)]},
        ])
    },
};
