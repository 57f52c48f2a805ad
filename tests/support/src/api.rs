//! `agent-host serve`, and a client of its API over plain sockets.

use super::{Ran, TestEnv, chat::ChatServer, running::Running};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

/// The token of the servers.
pub const TOKEN: &str = "a-token-that-only-this-test-knows";

/// The variable that the program reads it from.
pub const VARIABLE: &str = "AGENT_HOST_SERVE_TOKEN";

/// A server and its address. It ends when this is dropped.
pub struct ApiServer {
    /// The program.
    pub running: Running,
    /// Host and port.
    pub address: String,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The header, in lower case.
    pub head: String,
    /// The body, as text.
    pub body: String,
    /// The body.
    pub bytes: Vec<u8>,
}

/// A stream of server-sent events.
pub struct EventStream(BufReader<TcpStream>);

/// A server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEvent {
    /// The name of the event.
    pub event: String,
    /// The id, for an event of the journal.
    pub id: Option<u64>,
    /// The data.
    pub data: Value,
}

impl Response {
    /// Parses the body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the status and the code of a problem.
    pub fn problem(&self) -> (u16, String) {
        assert!(
            self.head.contains("content-type: application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }
}

impl ApiServer {
    /// Starts a server on a free port of loopback, with the model of a chat server.
    pub fn start(env: &TestEnv, model: &ChatServer, args: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", TOKEN, env, model, args)
    }

    /// Starts a server of the project of one environment in the directory of another one, as on
    /// another machine that has the same configuration.
    pub fn start_elsewhere(project: &TestEnv, directory: &TestEnv, model: &ChatServer) -> Self {
        let config = project.work().join("agent.toml").display().to_string();
        Self::start(directory, model, &["--config", &config])
    }

    /// Starts a server on an address, with a token of its own.
    pub fn start_at(
        address: &str,
        token: &str,
        env: &TestEnv,
        model: &ChatServer,
        args: &[&str],
    ) -> Self {
        let own = ["serve", "--http", address, "--model", "openai-compat:m"];
        let mut command = env.command(&[&own, args].concat());
        command
            .env("OPENAI_COMPAT_BASE_URL", &model.base_url)
            .env(VARIABLE, token);
        let mut running = Running::start(&mut command);
        let line = running.stderr.line_with("http://");
        let (_, rest) = line.split_once("http://").unwrap();
        let (address, _) = rest.split_once("/api/v1").unwrap();
        Self {
            address: address.to_owned(),
            running,
        }
    }

    fn send(&self, token: &str, request: &str, fields: &str, body: &str) -> TcpStream {
        let token = match token {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let text = format!(
            "{request} HTTP/1.0\r\nHost: {}\r\n{token}{fields}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Sends a request, such as `GET /sessions`, below the path of the API. An empty token stands
    /// for none.
    pub fn request(&self, token: &str, request: &str, body: Option<&str>) -> Response {
        self.request_with(token, request, "", body)
    }

    /// Sends a request with further header fields, each of which ends its line.
    pub fn request_with(
        &self,
        token: &str,
        request: &str,
        fields: &str,
        body: Option<&str>,
    ) -> Response {
        let (method, path) = request.split_once(' ').unwrap();
        self.raw(token, &format!("{method} /api/v1{path}"), fields, body)
    }

    /// Sends a request for any address of the server.
    pub fn raw(&self, token: &str, request: &str, fields: &str, body: Option<&str>) -> Response {
        let fields = match body {
            Some(_) => format!("{fields}Content-Type: application/json\r\n"),
            None => fields.to_owned(),
        };
        self.with_body(token, request, &fields, body.unwrap_or_default())
    }

    /// Sends a request with a body of any type, which its fields name.
    pub fn with_body(&self, token: &str, request: &str, fields: &str, body: &str) -> Response {
        let mut stream = self.send(token, request, fields, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let mut ends = answer.windows(4);
        let head = ends.position(|four| four == b"\r\n\r\n").unwrap();
        let bytes = answer.split_off(head + 4);
        let head = String::from_utf8(answer).unwrap();
        Response {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        }
    }

    /// Reads with the token of the server.
    pub fn get(&self, path: &str) -> Response {
        self.request(TOKEN, &format!("GET {path}"), None)
    }

    /// Posts JSON with the token of the server.
    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.request(TOKEN, &format!("POST {path}"), Some(&body.to_string()))
    }

    /// Creates a session with a message, and returns its id.
    pub fn create(&self, message: &str) -> String {
        let created = self.post("/sessions", &json!({ "message": message }));
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["session"].as_str().unwrap().to_owned()
    }

    /// Opens the stream of a session's events, after the one with this id.
    pub fn events(&self, session: &str, last: Option<u64>) -> EventStream {
        self.events_as(TOKEN, session, last)
    }

    /// Opens the stream with a token.
    pub fn events_as(&self, token: &str, session: &str, last: Option<u64>) -> EventStream {
        let fields = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
        let request = format!("GET /api/v1/sessions/{session}/events");
        let mut reader = BufReader::new(self.send(token, &request, &fields, ""));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.contains(" 200 "), "{head}");
        EventStream(reader)
    }

    /// Signals the server to end, and waits for it.
    pub fn end(self) -> Ran {
        self.running.signal(Signal::TERM);
        self.running.end()
    }
}

impl EventStream {
    /// Reads events until one of the journal has this kind, that one included.
    pub fn until(&mut self, kind: &str) -> Vec<ServerEvent> {
        self.until_that(|event| event.data["event"]["kind"] == kind)
    }

    /// Reads events until something that is not in the journal has this kind, that one included.
    pub fn until_live(&mut self, kind: &str) -> Vec<ServerEvent> {
        self.until_that(|event| event.data["live"] == kind)
    }

    fn until_that(&mut self, is_last: impl Fn(&ServerEvent) -> bool) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        loop {
            let event = self
                .next()
                .unwrap_or_else(|| panic!("the stream ended: {events:#?}"));
            let is_last = is_last(&event);
            events.push(event);
            if is_last {
                return events;
            }
        }
    }
}

impl Iterator for EventStream {
    type Item = ServerEvent;

    /// Reads the next event; `None` at the end of the stream.
    fn next(&mut self) -> Option<ServerEvent> {
        let (mut event, mut id, mut data) = (String::new(), None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event),
                Some(("id", number)) => id = Some(number.parse().unwrap()),
                Some(("data", json)) => data = Some(serde_json::from_str(json).unwrap()),
                _ => {}
            }
            if line.trim_end().is_empty()
                && let Some(data) = data.take()
            {
                return Some(ServerEvent { event, id, data });
            }
        }
    }
}
