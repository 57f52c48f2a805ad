//! Tests our server with third-party clients: the official Python SDK over both transports and both
//! lifecycles of the protocol, and the inspector's command line.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

use agent_host_test_support::{
    Ran, TestEnv,
    installed::{here, mcp_packages, mcp_sdk},
    mcp::{Served, TOKEN, TOKEN_VARIABLE, serve},
    program,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{
    io::{Seek as _, Write as _},
    process::{Command, Stdio},
};

/// The served components.
const GUESTS: [&str; 2] = ["mcp-suite", "conformance"];

/// The tools of the second component, in order.
const NAMES: [&str; 29] = [
    "give_text",
    "give_json",
    "give_content",
    "give_image",
    "give_file",
    "give_error",
    "give_error_json",
    "deny",
    "repeat",
    "add",
    "typed",
    "who",
    "report",
    "report_unmeasured",
    "give_pieces",
    "ask_question",
    "fill_form",
    "read_context",
    "remember",
    "change_and_end",
    "artifact",
    "http",
    "stream_http",
    "print",
    "count",
    "spin",
    "crash",
    "grow",
    "recurse",
];

/// The inspector's exit code for a result that is an error.
const IS_ERROR: i32 = 5;

/// An image of one pixel, in base64.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// How a client negotiates the protocol version.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Era {
    /// With the handshake.
    Legacy,
    /// The newest version that both support, which has no handshake.
    Modern,
}

/// A call, the user's answer, and the expected result.
struct Case {
    call: Value,
    result: Value,
    /// Expected notifications and questions; missing ones are empty.
    meanwhile: Value,
}

impl Case {
    /// A call without questions.
    fn new(name: &str, arguments: Value, result: Value) -> Self {
        Self::answered(name, arguments, "accept", result)
    }

    fn answered(name: &str, arguments: Value, answer: &str, result: Value) -> Self {
        Self {
            call: json!({ "name": name, "arguments": arguments, "answer": answer }),
            result,
            meanwhile: json!({}),
        }
    }

    fn meanwhile(self, meanwhile: Value) -> Self {
        Self { meanwhile, ..self }
    }

    /// The client's output line for the call.
    fn line(&self) -> Value {
        let mut line = json!({ "progress": [], "logs": [], "asked": [] });
        for (key, value) in self.meanwhile.as_object().unwrap() {
            line[key] = value.clone();
        }
        line["result"] = self.result.clone();
        // The SDK adds this to every result.
        line["result"]["resultType"] = json!("complete");
        line
    }
}

/// A result of the union's variant `output`, with these content blocks.
fn result(output: &str, content: Value) -> Value {
    let is_error = !["text", "json", "content"].contains(&output);
    json!({ "content": content, "isError": is_error, "_meta": { "agent-host/output": output } })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// One call for each kind of result and each event during a call.
fn cases() -> Vec<Case> {
    let image = json!({ "type": "image", "data": DOT, "mimeType": "image/png" });
    let mut sum = result("json", json!([text(r#"{"count":3,"sum":6}"#)]));
    sum["structuredContent"] = json!({ "sum": 6, "count": 3 });
    let mut state = result("json", json!([text("{}")]));
    state["structuredContent"] = json!({});
    vec![
        Case::new(
            "test_simple_text",
            json!({}),
            result("text", json!([text("This is a simple text response for testing.")])),
        ),
        Case::new("test_image_content", json!({}), result("content", json!([image]))),
        Case::new(
            "test_multiple_content_types",
            json!({}),
            result(
                "content",
                json!([
                    text("Multiple content types test:"),
                    image,
                    {
                        "type": "resource",
                        "resource": {
                            "uri": "agent-host:///parts/2/mixed.json",
                            "mimeType": "application/json",
                            "text": r#"{"test":"data","value":123}"#,
                        },
                        "_meta": { "agent-host/filename": "mixed.json" },
                    },
                ]),
            ),
        ),
        Case::new("add", json!({ "numbers": [1, 2, 3] }), sum),
        Case::new(
            "test_error_handling",
            json!({}),
            result(
                "error-text",
                json!([text("This tool intentionally returns an error for testing")]),
            ),
        ),
        Case::new("test_tool_with_progress", json!({}), result("text", json!([text("done")])))
            .meanwhile(json!({
                "progress": [[0.0, 1.0, "begun"], [0.5, 1.0, "half done"], [1.0, 1.0, "done"]],
            })),
        Case::new("test_tool_with_logging", json!({}), result("text", json!([text("logged")])))
            .meanwhile(json!({ "logs": [
                log("Tool execution started"),
                log("Tool processing data"),
                log("Tool execution completed"),
            ] })),
        Case::new(
            "test_input_required_result_multi_round",
            json!({}),
            result("text", json!([text("an answer likes an answer")])),
        )
        .meanwhile(json!({ "asked": [
            question("Step 1: What is your name?"),
            question("Step 2: What is your favorite color?"),
        ] })),
        Case::new(
            "deny",
            json!({ "reason": "not on a Sunday" }),
            result(
                "execution-denied",
                json!([text("Tool call execution denied. not on a Sunday")]),
            ),
        ),
        Case::new("remember", remembered(), state).meanwhile(json!({ "asked": [approval()] })),
        Case::answered(
            "remember",
            remembered(),
            "decline",
            result(
                "execution-denied",
                json!([
                    text("Tool call execution denied. This call needs the user's approval (rule effect.effectful), and the client's user rejected it."),
                ]),
            ),
        )
        .meanwhile(json!({ "asked": [approval()] })),
    ]
}

fn log(line: &str) -> Value {
    json!({ "level": "info", "logger": "test_tool_with_logging", "data": line })
}

fn remembered() -> Value {
    json!({ "key": "size", "value": 1 })
}

/// The form of a question with a free-text answer.
fn question(prompt: &str) -> Value {
    json!({
        "mode": "form",
        "message": format!(
            "The tool test_input_required_result_multi_round asks you, in its own words:\n│ {prompt}\n\
             Your answer goes to the tool test_input_required_result_multi_round and approves nothing."
        ),
        "requestedSchema": {
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        },
    })
}

/// The form of a call that needs approval.
fn approval() -> Value {
    json!({
        "mode": "form",
        "message": "remember  may change things\n│ key: size\n│ value: 1\nSandboxed; at most it can read: files in WORK \
                    (read-only); no network.\nAllow this call? All of its arguments are shown (rule effect.effectful, arguments \
                    sha256:e9ece91056ca2c55feeb39bde3a51ddd5f7c61cbf24722d9fcb3b55dc6c74682).",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": { "type": "string", "title": "Run it?", "enum": ["approve", "reject"] },
            },
            "required": ["decision"],
        },
    })
}

/// Runs the SDK's client on a server and compares everything received.
fn talks(target: &[String], env: &TestEnv, era: Era) {
    let Some(python) = mcp_sdk() else {
        return;
    };
    let cases = cases();
    let mut calls = tempfile::tempfile().unwrap();
    for case in &cases {
        writeln!(calls, "{}", case.call).unwrap();
    }
    calls.rewind().unwrap();
    let mut command = Command::new(python);
    env.prepare(command.arg("-B").arg(here("interop/mcp_clients/client.py")))
        .arg(if era == Era::Legacy { "legacy" } else { "auto" })
        .args(target)
        .env(TOKEN_VARIABLE, TOKEN)
        .stdin(Stdio::from(calls));
    let mut ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let work = env.work().canonicalize().unwrap();
    ran.stdout = ran.stdout.replace(&work.display().to_string(), "WORK");
    let mut lines = ran.json_lines().into_iter();
    let server = lines.next().unwrap();
    let version = if era == Era::Legacy {
        "2025-11-25"
    } else {
        "2026-07-28"
    };
    assert_eq!(server["protocol"], version);
    assert_eq!(server["server"]["name"], "agent-host");
    knows_the_tools(&server["tools"]);
    let (lines, logs) = without_logs(lines);
    let (expected, expected_logs) = without_logs(cases.iter().map(Case::line));
    assert_eq!(lines, expected);
    assert_eq!(logs, expected_logs);
}

/// The lines, and the log messages that came with all of them. Over HTTP the protocol's library
/// sends log messages on a separate stream, so one may arrive after the result of its call.
fn without_logs(lines: impl Iterator<Item = Value>) -> (Vec<Value>, Vec<Value>) {
    let mut logs = Vec::new();
    let lines = lines.map(|mut line| {
        if let Some(Value::Array(told)) = line.get_mut("logs").map(Value::take) {
            logs.extend(told);
        }
        line
    });
    (lines.collect(), logs)
}

/// The expected list of tools; some are compared in full.
fn knows_the_tools(tools: &Value) {
    let tools: Map<String, Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone()))
        .collect();
    // The tools of both components and the built-in ones.
    assert_eq!(tools.len(), 18 + NAMES.len() + 9, "{:?}", tools.keys());
    let read_only = json!({ "readOnlyHint": true, "openWorldHint": false });
    let effectful =
        json!({ "readOnlyHint": false, "idempotentHint": false, "openWorldHint": false });
    let expected = [
        json!({
            "name": "test_simple_text",
            "title": "Simple text",
            "description": "Returns a text.",
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "annotations": read_only,
        }),
        json!({
            "name": "add",
            "description": "Adds integers and counts them.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "numbers": {
                        "type": "array",
                        "items": { "type": "integer" },
                        "description": "The numbers to add, of 64 bits with a sign.",
                    },
                },
                "required": ["numbers"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "sum": { "type": "integer" },
                    "count": { "type": "integer", "minimum": 0 },
                },
                "required": ["sum", "count"],
            },
            "annotations": read_only,
        }),
        json!({
            "name": "remember",
            "description": "Merges one entry into the shared state, and gives the state from before.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "key": { "type": "string", "description": "The name in the state." },
                    "value": { "description": "Any JSON." },
                },
                "required": ["key", "value"],
                "additionalProperties": false,
            },
            "annotations": effectful,
        }),
    ];
    for tool in expected {
        assert_eq!(tools[tool["name"].as_str().unwrap()], tool);
    }
}

/// Runs the program's own server as a child of the client.
fn command() -> Vec<String> {
    let mut target = vec![program().to_owned()];
    target.extend(serve(&GUESTS));
    target
}

#[test]
fn python_sdk_over_stdio() {
    for era in [Era::Legacy, Era::Modern] {
        talks(&command(), &TestEnv::new(), era);
    }
}

#[test]
fn python_sdk_over_http() {
    let env = TestEnv::new();
    let served = Served::start(&env, &GUESTS);
    for era in [Era::Legacy, Era::Modern] {
        talks(std::slice::from_ref(&served.url), &env, era);
    }
}

/// The inspector connects with the entry that `mcp config` prints.
#[test]
fn inspector_by_the_printed_entry() {
    let Some(packages) = mcp_packages() else {
        return;
    };
    let env = TestEnv::new();
    let config = format!(
        "cache-dir = {:?}\n[[tool]]\nname = \"conformance\"\ncomponent = {:?}\n",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/agent-host"),
        here("guests/dist/conformance.wasm"),
    );
    env.write("agent.toml", config);
    let entry = env.run(&["mcp", "config", "--config", "agent.toml"]);
    assert_eq!(entry.code, Some(0), "{}", entry.stderr);
    env.write("mcp.json", &entry.stdout);
    for era in ["legacy", "modern"] {
        let inspect = |arguments: &[&str]| -> Ran {
            let script = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
            let mut command = packages.script(None, script);
            command.args(["--cli", "--config", "mcp.json", "--server", "agent-host"]);
            command.args(["--protocol-era", era]).args(arguments);
            // Without it, the inspector would look for a desktop keyring.
            let command = env.prepare(&mut command);
            let output = command.env("MCP_INSPECTOR_SECRET_STORE", "memory").output();
            output.unwrap().into()
        };
        // `--strict`: schemas that some provider or client refuses are an error.
        let listed = inspect(&["--method", "tools/list", "--strict"]);
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        let listed = listed.json();
        let tools = listed["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, NAMES);

        let call = |tool: &str, argument: &str| {
            let call = ["--method", "tools/call", "--tool-name", tool];
            inspect(&[&call[..], &["--tool-arg", argument]].concat())
        };
        let called = call("give_text", "text=hello");
        assert_eq!(called.code, Some(0), "{}", called.stderr);
        assert_eq!(called.json(), result("text", json!([text("hello")])));
        let failed = call("give_error", "message=no");
        assert_eq!(failed.code, Some(IS_ERROR), "{}", failed.stderr);
        assert_eq!(failed.json(), result("error-text", json!([text("no")])));
    }
}
