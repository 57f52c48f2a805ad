//! Tests `agent-host mcp --http` from the network. The admission checks and bounds are tested
//! beside `host/mcp/src/http.rs`.

use crate::{
    mcp::client::{call, error, initialize, texts},
    support::{Ran, TestEnv, of_kind, running::Running},
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

const TOKEN: &str = "a-token-that-only-this-test-knows";
const VARIABLE: &str = "AGENT_HOST_MCP_TOKEN";

/// A server and its address.
pub(crate) struct Server {
    pub(crate) running: Running,
    /// Host and port.
    address: String,
}

/// An answer: status, session id if it starts one, and body, or the last message of its stream.
#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

impl Server {
    /// Starts a server on a free port of loopback, with this token in its environment.
    fn start(env: &TestEnv, args: &[&str], variable: Option<&str>) -> Self {
        let args = [&["mcp", "--http", "127.0.0.1:0"], args].concat();
        let mut command = env.command(&args);
        if let Some(token) = variable {
            command.env(VARIABLE, token);
        }
        Self::of(&mut command)
    }

    /// Starts the server that a command describes, on a free port.
    pub(crate) fn of(command: &mut Command) -> Self {
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
    fn post(&self, token: &str, session: Option<&str>, message: &Value) -> Answer {
        let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
        self.post_with(token, &session, message)
    }

    /// Posts a message with further header fields, each with its line end.
    pub(crate) fn post_with(&self, token: &str, fields: &str, message: &Value) -> Answer {
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
    fn begin(&self, token: &str) -> String {
        let answer = self.post(token, None, &initialize("2025-11-25", json!({})));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.session.unwrap()
    }

    /// The result of a call.
    fn call(&self, token: &str, session: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.post(token, Some(session), &call(1, tool, arguments));
        assert_eq!(answer.status, 200, "{answer:?}");
        let message: Value = serde_json::from_str(&answer.body).unwrap();
        message["result"].clone()
    }

    /// Signals the server to end, and waits for it.
    fn end(self) -> Ran {
        self.running.signal(Signal::TERM);
        self.running.end()
    }
}

/// A token file that only its owner can read.
fn token_file(env: &TestEnv, mode: u32) -> String {
    let file = env.write("token", format!("{TOKEN}\n"));
    fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn http_session_is_a_journal_session() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let file = token_file(&env, 0o600);
    let server = Server::start(&env, &["--token-file", &file], None);
    let sessions = [server.begin(TOKEN), server.begin(TOKEN)];
    for session in &sessions {
        let read = server.call(TOKEN, session, "read_file", json!({"path": "note.txt"}));
        assert_eq!(read, texts("text", &["hello"]));
    }
    // A tool that can read the directory does not find the token in it.
    let hidden = server.call(TOKEN, &sessions[0], "read_file", json!({"path": "token"}));
    assert_eq!(hidden["isError"], true, "{hidden}");
    assert!(!hidden.to_string().contains(TOKEN), "{hidden}");
    let ran = server.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(!ran.stderr.contains(TOKEN), "{}", ran.stderr);
    let listed = env.run(&["sessions", "list"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stdout);
    let events = env.events();
    assert!(!of_kind(&events, "call-settled").is_empty(), "{events:?}");
}

#[test]
fn second_initialize_in_a_session_is_refused() {
    let env = TestEnv::new();
    let server = Server::start(&env, &[], Some(TOKEN));
    let session = server.begin(TOKEN);
    let again = initialize("2025-11-25", json!({}));
    let answer = server.post(TOKEN, Some(&session), &again);
    let why = "the connection is initialized already; open another one to begin anew";
    assert_eq!(answer.status, 200, "{answer:?}");
    let message: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(message, error(0, -32600, why));
    // Without the session id, it starts another session.
    assert_ne!(server.begin(TOKEN), session);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn token_comes_from_file_variable_or_is_generated() {
    let env = TestEnv::new();
    let file = token_file(&env, 0o600);
    let other = "the-token-of-the-variable";
    for (args, variable, right, wrong) in [
        (vec!["--token-file", &file], Some(other), TOKEN, other),
        (vec![], Some(other), other, TOKEN),
    ] {
        let server = Server::start(&env, &args, variable);
        server.begin(right);
        let refused = server.post(wrong, None, &initialize("2025-11-25", json!({})));
        assert_eq!(
            (refused.status, refused.body.as_str()),
            (
                401,
                "the token is not the server's; ask its operator for it"
            )
        );
        let ran = server.end();
        assert_eq!(ran.code, Some(0));
        assert!(!ran.stderr.contains("the token, made"), "{}", ran.stderr);
    }
    // A generated token is shown, even when the log is off.
    let mut server = Server::start(&env, &[], None);
    let line = server.running.stderr.line_with("made for this run alone: ");
    let (_, made) = line.trim_end().split_once("alone: ").unwrap();
    server.begin(made);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn unservable_configuration_is_refused() {
    let env = TestEnv::new();
    let open = token_file(&env, 0o644);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let any = "127.0.0.1:0";
    let cases: [(Vec<&str>, i32, &str); 6] = [
        (
            vec!["--http", any, "--token-file", &open],
            2,
            "others than its owner may open it (mode 0644)",
        ),
        (
            vec!["--http", any, "--token-file", "absent"],
            2,
            "cannot read the token from absent",
        ),
        (vec!["--token-file", &open], 2, "--http <ADDR>"),
        (
            vec!["--http", any, "--allow-host", "http://x"],
            2,
            "this is no host",
        ),
        (
            vec!["--http", any, "--allow-origin", "null"],
            2,
            "this is no origin",
        ),
        (vec!["--http", &taken], 1, "cannot listen at"),
    ];
    for (args, code, says) in cases {
        let args = [vec!["mcp"], args].concat();
        let mut command = env.command(&args);
        let ran = Running::start(command.env(VARIABLE, "0123456789abcdef")).end();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), ""),
            "{args:?}"
        );
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn public_address_prints_a_warning() {
    let env = TestEnv::new();
    let args = ["mcp", "--http", "0.0.0.0:0", "--quiet"];
    let mut running = Running::start(env.command(&args).env(VARIABLE, TOKEN));
    running.stderr.until("the traffic is not encrypted");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}
