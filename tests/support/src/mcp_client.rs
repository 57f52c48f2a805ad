//! A client that writes raw messages and reads the server's one by one.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

use crate::{Ran, TestEnv, running::Running};
use serde_json::{Value, json};
use std::process::Command;

/// A server process and the connection to it.
pub struct Client {
    pub running: Running,
}

impl Client {
    /// Starts the server without sending a message.
    pub fn silent(env: &TestEnv, args: &[&str]) -> Self {
        Self::of(&mut env.command(&[&["mcp"], args].concat()))
    }

    /// Starts the server that a command describes, without sending a message.
    pub fn of(command: &mut Command) -> Self {
        Self {
            running: Running::start(command),
        }
    }

    /// Starts the server and initializes it, as a client with these capabilities.
    pub fn start(env: &TestEnv, args: &[&str], capabilities: Value) -> Self {
        Self::silent(env, args).initialized(capabilities)
    }

    /// Initializes the connection, as a client with these capabilities.
    pub fn initialized(mut self, capabilities: Value) -> Self {
        let answer = self.ask(initialize("2025-11-25", capabilities));
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    pub fn send(&mut self, message: &Value) {
        self.running.types(&format!("{message}\n"));
    }

    /// The next message. Any other output on stdout fails the test.
    pub fn next(&mut self) -> Value {
        let line = self.running.stdout.next_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request, and returns the next message.
    pub fn ask(&mut self, request: Value) -> Value {
        self.send(&request);
        self.next()
    }

    /// Closes the client's side. The server's output can still be read.
    pub fn close_input(&mut self) {
        self.running.close_stdin();
    }

    /// Closes the connection, and waits for the server to exit.
    pub fn close(mut self) -> Ran {
        self.close_input();
        self.running.end()
    }
}

pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A request of the lifecycle without a handshake.
pub fn stateless(mut request: Value) -> Value {
    request["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "7" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    request
}

pub fn initialize(version: &str, capabilities: Value) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": { "name": "raw", "version": "7" },
    });
    request(0, "initialize", params)
}

pub fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(
        id,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

/// A response with this result.
pub fn response(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// A response with this error.
pub fn error(id: u64, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The result of a call with these texts.
pub fn texts(tag: &str, texts: &[&str]) -> Value {
    let is_error = matches!(tag, "error-text" | "error-json" | "execution-denied");
    let content: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    json!({ "content": content, "isError": is_error, "_meta": { "agent-host/output": tag } })
}
