//! `agent-host mcp --http`, and a client that posts raw messages.

use super::{
    Ran, TestEnv,
    mcp_client::{call, initialize},
    running::Running,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

pub const TOKEN: &str = "a-token-that-only-this-test-knows";
pub const VARIABLE: &str = "AGENT_HOST_MCP_TOKEN";

/// A server and its address.
pub struct Server {
    pub running: Running,
    /// Host and port.
    pub address: String,
}

/// An answer: status, session id if it starts one, and body, or the last message of its stream.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub session: Option<String>,
    pub body: String,
}

impl Server {
    /// Starts a server on a free port of loopback, with this token in its environment.
    pub fn start(env: &TestEnv, args: &[&str], variable: Option<&str>) -> Self {
        let args = [&["mcp", "--http", "127.0.0.1:0"], args].concat();
        let mut command = env.command(&args);
        if let Some(token) = variable {
            command.env(VARIABLE, token);
        }
        Self::of(&mut command)
    }

    /// Starts the server that a command describes, on a free port.
    pub fn of(command: &mut Command) -> Self {
        let mut running = Running::start(command);
        let line = running.stderr.line_with("http://");
        let (_, rest) = line.split_once("http://").unwrap();
        let (address, _) = rest.split_once("/mcp ").unwrap();
        Self {
            address: address.to_owned(),
            running,
        }
    }

    /// Posts a message with a token, on a new connection.
    pub fn post(&self, token: &str, session: Option<&str>, message: &Value) -> Answer {
        let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
        self.post_with(token, &session, message)
    }

    /// Posts a message with further header fields, each with its line end.
    pub fn post_with(&self, token: &str, fields: &str, message: &Value) -> Answer {
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{fields}\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let field = |name| head.lines().find_map(|line| line.strip_prefix(name));
        let mut events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            session: field("mcp-session-id: ").map(str::to_owned),
            body: events.next_back().unwrap_or(body).to_owned(),
        }
    }

    /// Starts a session and returns its id.
    pub fn begin(&self, token: &str) -> String {
        let answer = self.post(token, None, &initialize("2025-11-25", json!({})));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.session.unwrap()
    }

    /// The result of a call.
    pub fn call(&self, token: &str, session: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.post(token, Some(session), &call(1, tool, arguments));
        assert_eq!(answer.status, 200, "{answer:?}");
        let message: Value = serde_json::from_str(&answer.body).unwrap();
        message["result"].clone()
    }

    /// Signals the server to end, and waits for it.
    pub fn end(self) -> Ran {
        self.running.signal(Signal::TERM);
        self.running.end()
    }
}
