//! `agent-host acp`, and the client's side of the protocol as plain lines.

use super::{Ran, TestEnv, chat::ChatServer, running::Running};
use serde_json::{Value, json};

/// A client with the program that it started.
pub struct AcpClient {
    /// The program.
    pub running: Running,
    next: u64,
    /// The messages of the agent that were read and not taken.
    pub heard: Vec<Value>,
}

impl AcpClient {
    /// Starts the program with the model of a chat server; nothing is sent yet.
    pub fn start(env: &TestEnv, model: &ChatServer, args: &[&str]) -> Self {
        let mut command = env.command(&[&["acp", "--model", "openai-compat:m"], args].concat());
        command.env("OPENAI_COMPAT_BASE_URL", &model.base_url);
        Self {
            running: Running::start(&mut command),
            next: 0,
            heard: Vec::new(),
        }
    }

    /// Starts the program, and makes the handshake.
    pub fn connect(env: &TestEnv, model: &ChatServer, args: &[&str]) -> Self {
        Self::connect_as(env, model, args, &json!({}))
    }

    /// Starts the program, and makes the handshake with these capabilities of the client.
    pub fn connect_as(
        env: &TestEnv,
        model: &ChatServer,
        args: &[&str],
        capabilities: &Value,
    ) -> Self {
        let mut client = Self::start(env, model, args);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let made = client.call("initialize", &params);
        assert_eq!(made["protocolVersion"], 1, "{made}");
        client
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.running.types(&format!("{message}\n"));
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, and returns its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Waits for the next message of the agent.
    pub fn read(&mut self) -> Value {
        let line = self.running.stdout.next_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Waits for a message, and keeps those before it.
    pub fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is_wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Waits for the response to a request, which may have come before that of another one.
    pub fn response(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        match self.heard.iter().position(is_it) {
            Some(index) => self.heard.remove(index),
            None => self.until(is_it),
        }
    }

    /// Waits for a request of the agent.
    pub fn asked(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method)
    }

    /// Sends a request, and returns its result.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let response = self.response(id);
        assert_eq!(response.get("error"), None, "{method}: {response}");
        response["result"].clone()
    }

    /// Sends a request, and returns the number and the `data` of its error.
    pub fn refused(&mut self, method: &str, params: &Value) -> (i64, Value) {
        let id = self.request(method, params);
        error_of(&self.response(id))
    }

    /// Starts a session in the working directory.
    pub fn session(&mut self, env: &TestEnv) -> String {
        let made = self.call("session/new", &json!({"cwd": env.work(), "mcpServers": []}));
        made["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt of one text, and returns the id of the request.
    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            &json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// Waits for the stop reason of a prompt.
    pub fn stop_reason(&mut self, id: u64) -> String {
        let response = self.response(id);
        let reason = response["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    /// Takes the updates that were read.
    pub fn updates(&mut self) -> Vec<Value> {
        let heard = std::mem::take(&mut self.heard);
        let updates = heard
            .into_iter()
            .filter(|message| message["method"] == "session/update");
        updates
            .map(|mut message| message["params"]["update"].take())
            .collect()
    }

    /// Closes its input, and waits for the end.
    pub fn end(mut self) -> Ran {
        self.running.close_stdin();
        self.running.end()
    }
}

/// The number and the `data` of an error response.
pub fn error_of(response: &Value) -> (i64, Value) {
    let error = &response["error"];
    let number = error["code"].as_i64();
    (
        number.unwrap_or_else(|| panic!("{response}")),
        error["data"].clone(),
    )
}

/// The texts of updates of one kind, joined.
pub fn text_of(updates: &[Value], kind: &str) -> String {
    let chunks = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == kind);
    chunks
        .filter_map(|chunk| chunk["content"]["text"].as_str())
        .collect()
}
