//! Traces and metrics that the program sends, decoded with OpenTelemetry's own protobuf for Python.

mod collector;

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    http::Received,
    installed::{here, otlp},
    of_kind,
};
use collector::Collector;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{BufReader, Write as _},
    net::TcpListener,
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
    // The model is told the span of each request, those of the agent's session, too.
    let chats = spans.iter().filter(|span| span["name"] == "chat m");
    let told = server.received().into_iter();
    let told = told.map(|request| request.field("traceparent").unwrap().to_owned());
    assert_eq!(
        told.collect::<BTreeSet<_>>(),
        chats.map(traceparent).collect()
    );
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
    assert_eq!(unsampled.requests_to("/v1/traces").len(), 0);
}

/// The header that names a span.
fn traceparent(span: &Value) -> String {
    let [trace, id] = ["trace", "id"].map(|field| span[field].as_str().unwrap());
    format!("00-{trace}-{id}-01")
}

/// The figures of a point whose attribute has this value.
fn with<'a>(metric: &'a Value, name: &str, value: &str) -> &'a Value {
    let mut points = metric["points"].as_array().unwrap().iter();
    let found = points.find(|point| point["attributes"][name] == value);
    found.unwrap_or_else(|| panic!("{name} {value}: {metric}"))
}

/// Metrics at the end of a run: those of the conventions and ours, with the figures of the journal.
#[test]
fn metrics_have_the_figures_of_the_journal() {
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
        Answer::text("The list is seen to."),
    ]);
    let collector = Collector::start();
    let ran = collector.run(&env, &server, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let metrics = collector.metrics(&python, &env);
    for metric in &metrics {
        assert_eq!(metric["service"], "tests");
        assert_eq!(metric["schema"], "https://opentelemetry.io/schemas/1.41.0");
    }
    let total = &env.run(&["stats", "--json"]).json()["total"];
    let tokens = named(&metrics, "gen_ai.client.token.usage");
    assert_eq!(
        (&tokens["kind"], &tokens["unit"]),
        (&json!("histogram"), &json!("{token}"))
    );
    let input = with(tokens, "gen_ai.token.type", "input");
    assert_eq!(
        input["attributes"],
        json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai-compat",
            "gen_ai.request.model": "m",
            "gen_ai.token.type": "input",
        })
    );
    let output = with(tokens, "gen_ai.token.type", "output");
    assert_eq!(input["sum"].as_f64(), total["input_tokens"].as_f64());
    assert_eq!(output["sum"].as_f64(), total["output_tokens"].as_f64());
    let duration = named(&metrics, "gen_ai.client.operation.duration");
    assert_eq!(duration["unit"], "s");
    let requests = with(duration, "gen_ai.request.model", "m");
    assert_eq!(requests["count"], total["model_calls"]);
    let calls = named(&metrics, "agent_host.tool.calls");
    let read = with(calls, "gen_ai.tool.name", "read_file");
    assert_eq!(
        read,
        &json!({
            "attributes": {
                "gen_ai.tool.name": "read_file",
                "agent_host.effect": "read-only",
                "agent_host.outcome": "success",
            },
            "value": 1,
        })
    );
    let turns = named(&metrics, "agent_host.turns");
    assert_eq!(with(turns, "gen_ai.agent.name", "clerk")["value"], 1);
    let cost = named(&metrics, "agent_host.cost_dollars");
    let dollars = cost["points"][0]["value"].as_f64().unwrap();
    let micros = (dollars * 1e6).round();
    assert_eq!(Some(micros), total["cost_micros"].as_f64());
    // No attribute names a session, and nothing was said in one.
    let sent: String = metrics.iter().map(Value::to_string).collect();
    for listed in sessions(&env) {
        assert!(
            !sent.contains(listed["session"].as_str().unwrap()),
            "{sent}"
        );
    }
    for said in ["bread", "see to the list"] {
        assert!(!sent.contains(said), "{said}: {sent}");
    }
}

/// Model servers and MCP servers are told the span of a request; the requests of tools have nothing
/// of it, and without telemetry no server is told.
#[test]
fn traceparent_reaches_models_and_mcp_servers_alone() {
    let Some(python) = otlp() else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let fetched = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&fetched);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            log.lock().unwrap().extend(Received::read(&mut reader));
            let page = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
            // The client may be gone.
            let _ = stream.write_all(page.as_bytes());
        }
    });
    let script = here("it/mcp_client/server.py");
    let command = json!(["python3", script, "tells-meta"]);
    let config = format!(
        "[[mcp]]\nname = \"s\"\ncommand = {command}\n\
         [[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {}\nmethods = [\"GET\"]\n",
        address.port()
    );
    let run = |collector: Option<&Collector>| {
        let env = TestEnv::new();
        env.configure(&config);
        let server = ChatServer::start(vec![
            Answer::calls(&[
                ("fetch", json!({ "url": format!("http://{address}/") })),
                ("s_act", json!({})),
            ]),
            Answer::text("Done."),
        ]);
        let args = ["--allow", "s_act", "--allow", "fetch", "go"];
        let ran = match collector {
            Some(collector) => collector.run(&env, &server, &args),
            None => env
                .command(&[&["run", "--model", "openai-compat:m"], &args[..]].concat())
                .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
                .output()
                .unwrap()
                .into(),
        };
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let events = env.events();
        let settled = of_kind(&events, "call-settled");
        let meta = settled[1]["output"]["value"].as_str().unwrap();
        let meta: Value = serde_json::from_str(meta).unwrap();
        let asked = server.received();
        let asked = asked
            .iter()
            .map(|asked| asked.field("traceparent").map(str::to_owned));
        (env, asked.collect::<Vec<_>>(), meta["traceparent"].clone())
    };
    let collector = Collector::start();
    let (env, asked, told) = run(Some(&collector));
    let spans = collector.spans(&python, &env);
    let chats = spans.iter().filter(|span| span["name"] == "chat m");
    assert_eq!(
        asked,
        chats
            .map(|chat| Some(traceparent(chat)))
            .collect::<Vec<_>>()
    );
    assert_eq!(told, traceparent(named(&spans, "execute_tool s_act")));

    let (_, asked, told) = run(None);
    assert_eq!((asked, told), (vec![None, None], Value::Null));

    let fetched = fetched.lock().unwrap();
    assert_eq!(fetched.len(), 2);
    for request in fetched.iter() {
        let head = request.head.to_lowercase();
        assert!(
            !head.contains("trace") && !head.contains("baggage"),
            "{head}"
        );
    }
}
