//! Client libraries of several languages, releases and agent frameworks against our server, over
//! stdio and HTTP: each lists the tools, makes the same calls, and shows what it makes of them.

use agent_host_test_support::{
    Ran, TestEnv,
    installed::{here, mcp_python, mcp_servers},
    mcp::{Served, TOKEN, TOKEN_VARIABLE, serve},
    program,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Seek as _, Write as _},
    process::{Command, Stdio},
};

/// The served component.
const GUESTS: [&str; 1] = ["conformance"];

/// The number of its tools, and of the built-in ones.
const TOOLS: usize = 29 + 9;

/// An image of one pixel, in base64.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The text of the denied call.
const DENIED: &str = "Tool call execution denied. not on a Sunday";

/// The error of arguments that do not fit, for a tool with an output schema.
const INVALID: &str = r#"{"code":"invalid-input","message":"The arguments do not fit the tool's schema; the tool did not run. `/path`: 1 is not of type \"string\""}"#;

/// The denial of a path outside of the grants.
const OUTSIDE: &str = "Tool call execution denied. read /workspace/../outside was refused: it leaves the granted directory (rule default-deny). \
    The tool then said: `../outside` may not be read: the operator's grants do not allow it; work inside the granted \
    directory, and say so if the task needs more";

/// The calls: a text, JSON, an image, a denial and an error; and a failure and a denial of tools with
/// output schemas, which those of an error do not fit.
fn calls() -> [Value; 7] {
    [
        json!({ "name": "give_text", "arguments": { "text": "hello" } }),
        json!({ "name": "add", "arguments": { "numbers": [1, 2, 3] } }),
        json!({ "name": "give_image", "arguments": {} }),
        json!({ "name": "deny", "arguments": { "reason": "not on a Sunday" } }),
        json!({ "name": "give_error", "arguments": { "message": "no" } }),
        json!({ "name": "list_directory", "arguments": { "path": 1 } }),
        json!({ "name": "read_file", "arguments": { "path": "../outside" } }),
    ]
}

/// Runs a client on our server over both transports, and compares what it prints of each call.
fn talks(client: impl Fn() -> Option<Command>, results: &[Value; 7]) {
    let env = TestEnv::new();
    let served = Served::start(&env, &GUESTS);
    let mut spawned = vec![program().to_owned()];
    spawned.extend(serve(&GUESTS));
    for target in [spawned, vec![served.url.clone()]] {
        let Some(mut client) = client() else {
            return;
        };
        let mut input = tempfile::tempfile().unwrap();
        for call in calls() {
            writeln!(input, "{call}").unwrap();
        }
        input.rewind().unwrap();
        let output = env
            .prepare(client.args(&target))
            .env(TOKEN_VARIABLE, TOKEN)
            .stdin(Stdio::from(input))
            .output();
        let ran: Ran = output.unwrap().into();
        assert_eq!(ran.code, Some(0), "{target:?}: {}", ran.stderr);
        let lines = ran.json_lines();
        let [names, found @ .., closed] = &lines[..] else {
            panic!("{target:?}: {lines:?}");
        };
        let names = names.as_array().unwrap();
        assert_eq!(names.len(), TOOLS, "{names:?}");
        assert!(calls().iter().all(|call| names.contains(&call["name"])));
        assert_eq!(found, results, "{target:?}");
        assert_eq!(closed, "closed");
    }
}

/// A Python library of one list of packages.
fn python(packages: &str, library: &str, results: &[Value; 7]) {
    talks(
        || {
            let mut command = Command::new(mcp_python(packages)?);
            let script = here("interop/mcp_clients/adapters.py");
            command.arg("-B").arg(script).arg(library);
            Some(command)
        },
        results,
    );
}

/// A release of the TypeScript SDK.
fn typescript(release: &str) {
    talks(
        || {
            let packages = mcp_servers()?;
            let script = format!("client-{release}.mjs");
            let copy = packages.directory.join(&script);
            fs::copy(here("interop/mcp_clients/typescript.mjs"), &copy).unwrap();
            let mut command = Command::new(packages.node);
            command.arg(copy).arg(release);
            Some(command)
        },
        &wire(),
    );
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "image", "data": DOT, "mimeType": "image/png" })
}

/// The results as they are on the wire, which the official SDKs return.
fn wire() -> [Value; 7] {
    let result = |output: &str, content: Value| {
        let is_error = !["text", "json", "content"].contains(&output);
        json!({
            "content": [content], "isError": is_error, "_meta": { "agent-host/output": output },
        })
    };
    let mut sum = result("json", text(r#"{"count":3,"sum":6}"#));
    sum["structuredContent"] = json!({ "sum": 6, "count": 3 });
    [
        result("text", text("hello")),
        sum,
        result("content", image()),
        result("execution-denied", text(DENIED)),
        result("error-text", text("no")),
        result("error-json", text(INVALID)),
        result("execution-denied", text(OUTSIDE)),
    ]
}

/// The results as FastMCP returns or raises them.
fn of_fastmcp() -> [Value; 7] {
    let result = |content: Value, structured: Value| json!({ "content": [content], "structured": structured });
    [
        result(text("hello"), Value::Null),
        result(
            text(r#"{"count":3,"sum":6}"#),
            json!({ "sum": 6, "count": 3 }),
        ),
        result(image(), Value::Null),
        raised("ToolError", DENIED),
        raised("ToolError", "no"),
        raised("ToolError", INVALID),
        raised("ToolError", OUTSIDE),
    ]
}

fn raised(exception: &str, message: &str) -> Value {
    json!({ "raised": exception, "message": message })
}

fn data_url() -> String {
    format!("data:image/png;base64,{DOT}")
}

#[test]
fn typescript_sdk_1() {
    typescript("1");
}

#[test]
fn typescript_sdk_2() {
    typescript("2");
}

#[test]
fn python_sdk_1() {
    python("sdk-1", "mcp", &wire());
}

#[test]
fn fastmcp_2_3_and_4() {
    for packages in ["fastmcp-2", "sdk-1", "sdk-2"] {
        python(packages, "fastmcp", &of_fastmcp());
    }
}

/// It returns values, and asks the model to try again after an error.
#[test]
fn pydantic_ai() {
    let results = [
        json!("hello"),
        json!({ "sum": 6, "count": 3 }),
        json!(data_url()),
        raised("ModelRetry", DENIED),
        raised("ModelRetry", "no"),
        raised("ModelRetry", INVALID),
        raised("ModelRetry", OUTSIDE),
    ];
    python("sdk-1", "pydantic_ai", &results);
}

/// It gives the content to the model, an error as any other text.
#[test]
fn openai_agents() {
    let results = [
        text("hello"),
        text(r#"{"count":3,"sum":6}"#),
        json!({ "type": "image", "image_url": data_url() }),
        text(DENIED),
        text("no"),
        text(INVALID),
        text(OUTSIDE),
    ];
    python("sdk-1", "agents", &results);
}

#[test]
fn langchain() {
    let message = |status: &str, content: Value, artifact: Value| json!({ "status": status, "content": [content], "artifact": artifact });
    let picture = json!({ "type": "image", "base64": DOT, "mime_type": "image/png" });
    let sum = json!({ "structured_content": { "sum": 6, "count": 3 } });
    let results = [
        message("success", text("hello"), Value::Null),
        message("success", text(r#"{"count":3,"sum":6}"#), sum),
        message("success", picture, Value::Null),
        message("error", text(DENIED), Value::Null),
        message("error", text("no"), Value::Null),
        message("error", text(INVALID), Value::Null),
        message("error", text(OUTSIDE), Value::Null),
    ];
    python("sdk-1", "langchain", &results);
}
