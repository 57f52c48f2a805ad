//! MCP servers that run in the sandbox: one in Python, and one in JavaScript that handles HTTP
//! requests; and the official client, with each form of the one in Rust, which is tested in `it`.

use agent_host_test_support::{
    Ran, TestEnv,
    installed::{compiler_from_npm, component_of_python, here, mcp_sdk},
    program,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::{Seek as _, Write as _},
    process::{Command, Stdio},
};

#[test]
fn server_in_python_runs_in_the_sandbox() {
    let env = TestEnv::new();
    let server = env.work().join("server.wasm");
    if component_of_python("mcp_component", "server", &server).is_none() {
        return;
    }
    env.write("data/a.txt", "granted");
    env.write("b.txt", "not granted");
    env.configure(
        "tool = []\n[[mcp]]\nname = \"p\"\ncomponent = \"server.wasm\"\n[[mcp.grants.dir]]\nhost = \"data\"\n",
    );
    for (tool, arguments, code, expected) in [
        ("add", r#"{"a":1,"b":2}"#, 0, "3\n"),
        ("read", r#"{"path":"a.txt"}"#, 0, "granted\n"),
        ("read", r#"{"path":"../b.txt"}"#, 1, ""),
        ("exit", "{}", 1, ""),
    ] {
        let ran = env.run(&["call", "p", tool, arguments]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), expected),
            "{tool}: {}",
            ran.stderr
        );
        let ended = ran.stderr.contains("it ended itself with exit code");
        assert_eq!(ended, tool == "exit", "{}", ran.stderr);
    }
}

/// Its engine answers one request for each instance, so it has no state.
#[test]
fn server_in_javascript_answers_requests_in_the_sandbox() {
    let Some(compiler) = compiler_from_npm() else {
        return;
    };
    let env = TestEnv::new();
    let built = Command::new("node")
        .arg(here("interop/mcp_component/build_http.mjs"))
        .args([compiler, env.work().join("server.wasm")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    env.configure(
        "tool = []\n[[mcp]]\nname = \"j\"\ncomponent = \"server.wasm\"\n[mcp.limits]\nmemory-bytes = \"256MiB\"\n",
    );
    let shown = env.run(&["inspect", "j", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert_eq!(
        shown.json()["component"]["form"],
        "a handler of HTTP requests (wasi:http/incoming-handler@0.2)"
    );
    for (tool, arguments, expected) in [("add", r#"{"a":1,"b":2}"#, "3\n"), ("count", "{}", "1\n")]
    {
        let ran = env.run(&["call", "j", tool, arguments]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), expected),
            "{tool}: {}",
            ran.stderr
        );
    }
}

/// The official client hears the same from each form of a server.
#[test]
fn official_client_gets_the_same_from_each_form() {
    let Some(python) = mcp_sdk() else {
        return;
    };
    let heard = ["mcp-server", "mcp-server-http", "mcp-server-async"].map(|server| {
        let env = TestEnv::new();
        let component = here("guests/dist").join(server).with_extension("wasm");
        env.configure(format!(
            "tool = []\n[[mcp]]\nname = \"s\"\ncomponent = {component:?}\n\
             tools = [\"echo\", \"count\", \"steps\", \"variable\"]\napproval = \"never\"\n\
             [sandbox]\nwasi = \"0.3\"\n"
        ));
        let mut calls = tempfile::tempfile().unwrap();
        for (name, arguments) in [
            ("s_echo", json!({"text": "hello"})),
            ("s_count", json!({})),
            ("s_steps", json!({})),
            ("s_variable", json!({"name": "PATH"})),
            ("s_count", json!({})),
        ] {
            let call = json!({"name": name, "arguments": arguments, "answer": "accept"});
            writeln!(calls, "{call}").unwrap();
        }
        calls.rewind().unwrap();
        let mut command = Command::new(&python);
        env.prepare(command.arg("-B").arg(here("interop/mcp_clients/client.py")))
            .arg("auto")
            .arg(program())
            .arg("mcp")
            .stdin(Stdio::from(calls));
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut lines = ran.json_lines();
        // Which of the quick reports are shown depends on time.
        for line in &mut lines {
            line.as_object_mut().unwrap().remove("progress");
        }
        lines
    });
    let texts = |lines: &[Value]| -> Vec<Value> {
        let lines = lines.iter().skip(1);
        lines
            .map(|line| line["result"]["content"][0]["text"].clone())
            .collect()
    };
    let missing = "environment variable not found";
    assert_eq!(texts(&heard[0]), ["hello", "2", "done", missing, "5"]);
    assert_eq!(heard[1], heard[0]);
    assert_eq!(heard[2], heard[0]);
}
