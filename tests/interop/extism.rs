//! Plugins of the Extism ABI: the same calls through Extism's own host and through this one give the
//! same results.

use agent_host_test_support::{
    TestEnv, http,
    installed::{extism_python, here},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

#[test]
fn functions_in_both_hosts_have_the_same_results() {
    let Some(python) = extism_python() else {
        return;
    };
    let env = TestEnv::new();
    let plugin = here("guests/extism/functions.wasm");
    let url = format!("http://127.0.0.1:{}/", http::page("text/plain", "hello"));
    let long = "aé".repeat(5_000);
    let calls = [
        ("count_vowels", "banana"),
        ("count_vowels", ""),
        ("reverse", "abc"),
        ("count_vowels", &long),
        ("configured", "greeting"),
        ("configured", "missing"),
        ("count_up", ""),
        ("log", "line"),
        ("fail", "rain"),
        ("wasi", ""),
        ("get", &url),
    ];
    let theirs = theirs(&python, &plugin, &json!(calls));
    let grant = format!("http:GET={url}");
    for ((function, input), theirs) in calls.iter().zip(&theirs) {
        let input = json!({"input": input}).to_string();
        let grants = ["--grant", "env:greeting=hi", "--grant", &grant];
        let call = ["call", plugin.to_str().unwrap(), function, &input];
        let ours = env.run(&[&call[..], &grants].concat());
        match (&theirs["output"], &theirs["error"]) {
            (Value::String(output), _) => {
                // Extism's Python does not give plugins the header fields of a response.
                let output = &output.replace("200 none ", "200 text/plain ");
                assert_eq!(
                    value(&ours.stdout),
                    value(output),
                    "{function}: {}",
                    ours.stderr
                );
            }
            (_, Value::String(error)) => {
                assert!(
                    ours.stderr.contains(error),
                    "{function}: {error} {}",
                    ours.stderr
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn tools_of_hyper_mcp_in_both_hosts_have_the_same_results() {
    let Some(python) = extism_python() else {
        return;
    };
    let env = TestEnv::new();
    let plugin = here("guests/extism/tools.wasm");
    let tools = [
        ("greet", json!({"name": "Ann"})),
        ("sum", json!({"numbers": [1, 2.5]})),
        ("ask", json!({})),
        ("refuse", json!({})),
    ];
    let calls = tools.iter().map(|(name, arguments)| {
        let request = json!({"name": name, "arguments": arguments});
        let call = json!({"request": request, "context": {"id": "call-1", "_meta": {}}});
        json!(["call_tool", call.to_string()])
    });
    let theirs = theirs(&python, &plugin, &calls.collect());
    for ((name, arguments), theirs) in tools.iter().zip(&theirs) {
        let plugin = plugin.to_str().unwrap();
        let ours = env.run(&["call", plugin, name, &arguments.to_string()]);
        let result = value(theirs["output"].as_str().unwrap());
        let blocks = result["content"].as_array().unwrap().iter();
        let texts: Vec<&str> = blocks
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        let said = format!("{}{}", ours.stdout, ours.stderr);
        assert_eq!(
            result["isError"] == true,
            ours.code != Some(0),
            "{name}: {said}"
        );
        match &result["structuredContent"] {
            Value::Null => assert!(said.contains(&texts.join("\n")), "{name}: {said}"),
            structured => assert_eq!(&value(&ours.stdout), structured, "{name}"),
        }
    }
}

/// The results of calls in Extism's host.
fn theirs(python: &Path, plugin: &PathBuf, calls: &Value) -> Vec<Value> {
    let mut child = Command::new(python)
        .arg(here("interop/extism/calls.py"))
        .arg(plugin)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(calls.to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A result as JSON, or as text.
fn value(text: &str) -> Value {
    let text = text.trim_end();
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
