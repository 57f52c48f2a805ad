//! An MCP server that speaks over its standard streams: a JSON message per line. It is an ordinary
//! program; built for `wasm32-wasip2`, `agent-host` runs it in the sandbox:
//!
//! ```toml
//! [[mcp]]
//! name = "notes"
//! component = "mcp-server.wasm"
//! ```

mod tools;

use serde_json::{Value, json};
use std::io::{self, BufRead as _, Write as _};
use tools::Session;

/// The revision of the protocol: <https://modelcontextprotocol.io/specification/2025-06-18>.
const PROTOCOL: &str = "2025-06-18";

/// The codes of JSON-RPC errors.
const PARSE_ERROR: i64 = -32_700;
const METHOD_NOT_FOUND: i64 = -32_601;

fn main() -> io::Result<()> {
    let mut session = Session::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            answer(&mut session, &line)?;
        }
    }
    Ok(())
}

/// Answers one message; a notification has no answer.
fn answer(session: &mut Session, line: &str) -> io::Result<()> {
    let message: Value = match serde_json::from_str(line) {
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
        "tools/call" => Some(session.call(message.get("params"))?),
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

/// Sends one message.
pub(crate) fn send(message: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, message)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
