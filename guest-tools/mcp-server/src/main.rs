//! An MCP server that speaks over its standard streams: a JSON message per line. It is an ordinary
//! program; built for `wasm32-wasip2`, `agent-host` runs it in the sandbox:
//!
//! ```toml
//! [[mcp]]
//! name = "notes"
//! component = "mcp-server.wasm"
//! ```

mod server;
mod tools;

use serde_json::Value;
use std::io::{self, BufRead as _, Write as _};
use tools::Session;

fn main() -> io::Result<()> {
    let mut session = Session::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            server::answer(&mut session, line.as_bytes(), &mut send)?;
        }
    }
    Ok(())
}

/// Sends one message.
fn send(message: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, message)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
