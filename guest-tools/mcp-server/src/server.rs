//! The messages of the server, whichever way they come.

use crate::tools::{self, Session};
use serde_json::{Value, json};
use std::io;

/// The revision of the protocol: <https://modelcontextprotocol.io/specification/2025-06-18>.
pub(crate) const PROTOCOL: &str = "2025-06-18";

/// The codes of JSON-RPC errors.
const PARSE_ERROR: i64 = -32_700;
const METHOD_NOT_FOUND: i64 = -32_601;

/// Sends one message to the client.
pub(crate) type Send<'a> = dyn FnMut(&Value) -> io::Result<()> + 'a;

/// Answers one message; a notification has no answer.
pub(crate) fn answer(session: &mut Session, message: &[u8], send: &mut Send<'_>) -> io::Result<()> {
    let message: Value = match serde_json::from_slice(message) {
        Ok(message) => message,
        Err(error) => {
            let error = json!({"code": PARSE_ERROR, "message": error.to_string()});
            return send(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
    };
    let method = message.get("method").and_then(Value::as_str);
    let (Some(id), Some(method)) = (message.get("id"), method) else {
        return Ok(());
    };
    let result = match method {
        "initialize" => Some(json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mcp-server", "version": env!("CARGO_PKG_VERSION")},
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": tools::list()})),
        "tools/call" => Some(session.call(message.get("params"), send)?),
        _ => None,
    };
    send(&match result {
        Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        None => {
            let message = format!("no method `{method}`");
            let error = json!({"code": METHOD_NOT_FOUND, "message": message});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    })
}
