//! Traces that the program sends, decoded with OpenTelemetry's own protobuf for Python.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    http::Received,
    installed::{here, otlp},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufReader, Write as _},
    net::TcpListener,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

const CONFIG: &str = r#"
agents = ["clerk"]

[[agent]]
name = "clerk"
description = "Reads files."
tools = ["read_file"]

[prices."openai-compat:m"]
input = 100
output = 1000

[[grants.dir]]
host = "."
mode = "read-write"
"#;

/// A collector that takes every request.
struct Collector {
    endpoint: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = Received::read(&mut reader) {
                    log.lock().unwrap().push(request);
                    let taken = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    // The client may be gone.
                    let _ = stream.write_all(taken.as_bytes());
                }
            }
        });
        Self { endpoint, requests }
    }

    /// The spans so far, in the order in which they ended.
    fn spans(&self, python: &PathBuf, env: &TestEnv) -> Vec<Value> {
        let requests = self.requests.lock().unwrap().clone();
        let files = requests.iter().enumerate().map(|(number, request)| {
            assert_eq!(request.target(), "/v1/traces");
            assert_eq!(
                request.field("content-type"),
                Some("application/x-protobuf")
            );
            assert_eq!(request.field("x-team"), Some("blue"));
            let file = env.outside().join(format!("request-{number}"));
            fs::write(&file, &request.body).unwrap();
            file
        });
        let files: Vec<PathBuf> = files.collect();
        let decode = here("interop/telemetry/decode.py");
        let output = Command::new(python).arg(decode).args(files).output();
        let ran = Ran::from(output.unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json_lines()
    }

    fn run(&self, env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
        self.run_below(env, server, "", args)
    }

    /// Runs with a `TRACEPARENT`.
    fn run_below(&self, env: &TestEnv, server: &ChatServer, parent: &str, args: &[&str]) -> Ran {
        env.command(&[&["run", "--model", "openai-compat:m"], args].concat())
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.endpoint)
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
            .env("OTEL_SERVICE_NAME", "tests")
            .env("TRACEPARENT", parent)
            .output()
            .unwrap()
            .into()
    }
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    &span["attributes"][name]
}

/// The span with this name; the only one, or the first one.
fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {spans:#?}"))
}

fn sessions(env: &TestEnv) -> Vec<Value> {
    env.run(&["sessions", "list", "--json"]).json_lines()
}

/// A session with an agent: each span has its place, and only model calls have tokens.
#[test]
fn trace_has_the_spans_of_a_session_and_its_agents() {
    let Some(python) = otlp() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("list.txt", "bread");
    let server = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({ "instructions": "see to the list" }))]),
        Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]),
        Answer::text("There is bread on it."),
        Answer::calls(&[("read_file", json!({ "path": "/etc/hostname" }))]),
        Answer::text("The list is seen to."),
    ]);
    let collector = Collector::start();
    let ran = collector.run(&env, &server, &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The list is seen to.\n"),
        "{ran:?}"
    );
    let mut spans = collector.spans(&python, &env);
    let listed = sessions(&env);
    let (session, child) = (&listed[0]["session"], &listed[1]["session"]);
    // The order is that in which they ended, in each of the sessions.
    spans.sort_by_key(|span| attribute(span, "gen_ai.conversation.id") == child);
    let (call, root, clerk) = (&spans[1]["id"], &spans[5]["id"], &spans[9]["id"]);
    let none = json!("");
    let expected = [
        ("chat m", root, session),
        ("execute_tool agent_clerk", root, session),
        ("chat m", root, session),
        ("execute_tool read_file", root, session),
        ("chat m", root, session),
        ("invoke_agent", &none, session),
        ("chat m", clerk, child),
        ("execute_tool read_file", clerk, child),
        ("chat m", clerk, child),
        ("invoke_agent clerk", call, child),
    ];
    let places = spans.iter().map(|span| {
        let name = span["name"].as_str().unwrap();
        (
            name,
            &span["parent"],
            attribute(span, "gen_ai.conversation.id"),
        )
    });
    assert_eq!(places.collect::<Vec<_>>(), expected);
    for span in &spans {
        let of = [&span["service"], &span["scope"], &span["trace"]];
        assert_eq!(
            of,
            [&json!("tests"), &json!("agent-host"), &spans[0]["trace"]]
        );
        assert!(
            span["start_ms"].as_u64() <= span["end_ms"].as_u64(),
            "{span}"
        );
    }
    assert_eq!(
        (
            &spans[0]["kind"],
            &spans[0]["status"],
            &spans[0]["attributes"]
        ),
        (
            &json!("client"),
            &json!("unset"),
            &json!({
                "gen_ai.operation.name": "chat",
                "gen_ai.conversation.id": session,
                "gen_ai.provider.name": "openai-compat",
                "gen_ai.request.model": "m",
                "gen_ai.response.model": "m",
                "gen_ai.response.finish_reasons": ["tool_call"],
                "gen_ai.usage.input_tokens": 11,
                "gen_ai.usage.output_tokens": 7,
                "agent_host.cost_micros": 8100,
            })
        )
    );
    let read = &spans[7];
    assert_eq!(
        (&read["kind"], &read["status"]),
        (&json!("internal"), &json!("unset"))
    );
    assert_eq!(
        (
            attribute(read, "gen_ai.tool.name"),
            attribute(read, "agent_host.effect")
        ),
        (&json!("read_file"), &json!("read-only"))
    );
    assert_eq!(attribute(&spans[9], "gen_ai.agent.name"), "clerk");
    assert_eq!(attribute(&spans[5], "agent_host.outcome"), "done");
    // Tokens are on the model calls alone, and their sum is the journal's.
    let has_usage = |span: &&Value| {
        let attributes = span["attributes"].as_object().unwrap();
        attributes
            .keys()
            .any(|key| key.starts_with("gen_ai.usage.") || key.contains("cost"))
    };
    let with_usage: Vec<&Value> = spans.iter().filter(has_usage).collect();
    assert!(with_usage.iter().all(|span| span["name"] == "chat m"));
    let cost = with_usage
        .iter()
        .map(|span| attribute(span, "agent_host.cost_micros").as_u64().unwrap());
    assert_eq!(Some(cost.sum::<u64>()), listed[0]["cost_micros"].as_u64());
    // Nothing that was said.
    let sent: String = spans.iter().map(Value::to_string).collect();
    for said in ["bread", "see to the list", "list.txt", "hostname", "\"go\""] {
        assert!(!sent.contains(said), "{said}: {sent}");
    }
}

/// The process that resumes a session sends the spans that it ended, in the trace of the first one.
#[test]
fn trace_continues_in_a_resumed_session() {
    let Some(python) = otlp() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(CONFIG);
    let write = json!({ "path": "note.txt", "content": "hello" });
    let server = ChatServer::start(vec![
        Answer::calls(&[("write_file", write)]),
        Answer::text("Done."),
    ]);
    let first = Collector::start();
    let ran = first.run(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let second = Collector::start();
    let ran = second.run(
        &env,
        &server,
        &["--resume", "latest", "--decide", "call_0=approve"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (before, after) = (first.spans(&python, &env), second.spans(&python, &env));
    let names =
        |spans: &[Value]| -> Vec<Value> { spans.iter().map(|span| span["name"].clone()).collect() };
    assert_eq!(names(&before), ["chat m"]);
    assert_eq!(
        names(&after),
        ["execute_tool write_file", "chat m", "invoke_agent"]
    );
    let run = named(&after, "invoke_agent");
    for span in before.iter().chain(&after[..2]) {
        assert_eq!(
            (&span["trace"], &span["parent"]),
            (&run["trace"], &run["id"])
        );
    }
    assert!(run["start_ms"].as_u64() <= before[0]["start_ms"].as_u64());
    assert_eq!(
        after[0]["events"],
        json!([
            "agent_host.approval.requested",
            "agent_host.approval.decided"
        ])
    );
}

/// Content is sent where it was chosen, and cut; the parent is that of the environment.
#[test]
fn trace_has_content_by_choice_and_a_remote_parent() {
    let Some(python) = otlp() else {
        return;
    };
    let env = TestEnv::new();
    let collector = Collector::start();
    // The variable goes before the key.
    let telemetry = "[telemetry]\nendpoint = \"http://127.0.0.1:1\"\ncontent = true\n";
    env.configure(format!("{CONFIG}{telemetry}"));
    env.write("long.txt", "é".repeat(5000));
    let denied = json!({ "path": "note.txt", "content": "hello" });
    let server = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({ "path": "long.txt" }))]),
        Answer::calls(&[("write_file", denied)]),
        Answer::text("Long."),
    ]);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let args = ["--permission-prompts", "none", "go"];
    let ran = collector.run_below(&env, &server, parent, &args);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let spans = collector.spans(&python, &env);
    let run = named(&spans, "invoke_agent");
    assert_eq!(
        (
            &run["trace"],
            &run["parent"],
            attribute(run, "gen_ai.input.messages")
        ),
        (
            &json!("4bf92f3577b34da6a3ce929d0e0e4736"),
            &json!("00f067aa0ba902b7"),
            &json!("[{\"parts\":[{\"content\":\"go\",\"type\":\"text\"}],\"role\":\"user\"}]")
        )
    );
    let read = named(&spans, "execute_tool read_file");
    assert_eq!(
        attribute(read, "gen_ai.tool.call.arguments"),
        "{\"path\":\"long.txt\"}"
    );
    let result = attribute(read, "gen_ai.tool.call.result").as_str().unwrap();
    assert!((4095..=4096).contains(&result.len()), "{}", result.len());
    let write = named(&spans, "execute_tool write_file");
    assert_eq!(
        (&write["status"], attribute(write, "error.type")),
        (&json!("unset"), &json!("execution-denied"))
    );
    let server = ChatServer::start(vec![Answer::text("Nothing.")]);
    let unsampled = Collector::start();
    let ran = unsampled.run_below(&env, &server, &parent.replace("-01", "-00"), &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(unsampled.requests.lock().unwrap().len(), 0);
}
