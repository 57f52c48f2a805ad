//! The wires: how the program is sent to a server, and what the conversation of the story looks like there.

use super::story::{DENIED, MISSING, SHOWN};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// One wire.
pub(super) struct Wire {
    /// What the oracle calls it.
    pub(super) name: &'static str,
    /// For `--model`.
    pub(super) model: &'static str,
    /// The variables that lead the program to a server at this address.
    pub(super) variables: fn(SocketAddr) -> Vec<(&'static str, String)>,
    /// Where a reply is asked for.
    pub(super) path: &'static str,
    /// Under which key of a request the conversation is.
    pub(super) conversation: &'static str,
    /// What the story's reply and its results add to the conversation, given the thumbnail.
    pub(super) added: fn(&[u8]) -> Value,
}

pub(super) const OPENAI_CHAT: Wire = Wire {
    name: "openai_chat",
    model: "openai-compat:m",
    variables: |address| vec![("OPENAI_COMPAT_BASE_URL", format!("http://{address}/v1"))],
    path: "/v1/chat/completions",
    conversation: "messages",
    added: |png| {
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let result = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
        json!([
            {"role": "assistant", "content": "I look.", "tool_calls": [
                call("c1", "read_file", r#"{"path":"a.txt"}"#),
                call("c2", "image_thumbnail", r#"{"max_width":8,"path":"p.png"}"#),
                call("c3", "read_file", r#"{"path":"../outside.txt"}"#),
                call("c4", "read_file", r#"{"path":"gone.txt"}"#),
            ]},
            result("c1", "alpha\n"),
            result("c2", &format!("{SHOWN}\n[file 1: image/png, {} bytes, `p-thumbnail.png`; it is in the user message after the tool results]", png.len())),
            result("c3", DENIED),
            result("c4", &json!({"error": MISSING}).to_string()),
            {"role": "user", "content": [
                {"type": "text", "text": "[file 1, from the result of `image_thumbnail`, call c2]"},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", STANDARD.encode(png))}},
            ]},
        ])
    },
};
