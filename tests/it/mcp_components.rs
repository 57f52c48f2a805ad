//! Tests MCP servers that run in the sandbox, with the server of `guest-tools/mcp-server` in both of
//! its forms: calls, grants, bounds, restarts and pins.

use agent_host_test_support::{Ran, TestEnv, chat::results_of, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;

const SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/mcp-server.wasm"
);

/// The same server as a handler of HTTP requests.
const HTTP_SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/mcp-server-http.wasm"
);

/// A test directory with the server `s` in the sandbox, with these further lines.
fn place(more: &str) -> TestEnv {
    place_of(SERVER, more)
}

fn place_of(server: &str, more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("server.wasm", fs::read(server).unwrap());
    env.configure(format!(
        "tool = []\n[[mcp]]\nname = \"s\"\ncomponent = \"server.wasm\"\napproval = \"never\"\n{more}\n"
    ));
    env
}

fn call(env: &TestEnv, tool: &str, input: &Value) -> Ran {
    env.run(&["call", "s", tool, &input.to_string(), "--json"])
}

#[test]
fn component_server_answers_calls() {
    for server in [SERVER, HTTP_SERVER] {
        answers_calls(&place_of(server, ""));
    }
}

fn answers_calls(env: &TestEnv) {
    for (tool, input, code, output) in [
        (
            "echo",
            json!({"text": "hello"}),
            0,
            json!({"type": "text", "value": "hello"}),
        ),
        (
            "steps",
            json!({}),
            0,
            json!({"type": "text", "value": "done"}),
        ),
        (
            "variable",
            json!({"name": "PATH"}),
            1,
            json!({"type": "error-text", "value": "environment variable not found"}),
        ),
    ] {
        let ran = call(env, tool, &input);
        assert_eq!(
            (ran.code, ran.json()),
            (Some(code), output),
            "{tool}: {}",
            ran.stderr
        );
    }
    let lock = fs::read_to_string(env.work().join("agent.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let pinned = lock["mcp"]["s"]["server"].as_str().unwrap();
    assert!(pinned.starts_with("sha256:"), "{pinned}");
    // Arguments that do not fit are refused here.
    let ran = call(env, "echo", &json!({}));
    assert_eq!(ran.code, Some(2));
}

/// One instance answers all calls of a session, and reports progress during them.
#[test]
fn component_server_keeps_its_state_and_reports_progress() {
    for server in [SERVER, HTTP_SERVER] {
        let results = results_of(
            &place_of(server, ""),
            &[
                ("s_count", json!({})),
                ("s_steps", json!({})),
                ("s_count", json!({})),
            ],
        );
        assert_eq!(results, ["1", "done", "3"]);
    }
}

#[test]
fn component_server_reaches_what_it_is_granted() {
    for server in [SERVER, HTTP_SERVER] {
        reaches_what_it_is_granted(server);
    }
}

fn reaches_what_it_is_granted(server: &str) {
    let env = place_of(
        server,
        "[[mcp.grants.dir]]\nhost = \"data\"\n[[mcp.grants.env]]\nname = \"API_TOKEN\"\nvalue = \"tok-correct-horse\"",
    );
    env.write("data/a.txt", "granted");
    env.write("b.txt", "not granted");
    let calls = [
        ("s_read", json!({"path": "a.txt"})),
        ("s_read", json!({"path": "../b.txt"})),
        ("s_write", json!({"path": "a.txt", "text": "x"})),
        ("s_variable", json!({"name": "API_TOKEN"})),
    ];
    let results = results_of(&env, &calls);
    assert_eq!(results[0], "granted");
    assert!(!results[1].contains("not granted"), "{results:?}");
    assert_eq!(results[3], "[secret:s.API_TOKEN]");
    assert_eq!(fs::read(env.work().join("data/a.txt")).unwrap(), b"granted");
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    let verdicts = settled.iter().map(|call| {
        let audit = call["audit"].as_array().unwrap().iter();
        audit
            .map(|entry| entry["verdict"].as_str().unwrap())
            .collect()
    });
    let verdicts: Vec<Vec<&str>> = verdicts.collect();
    assert_eq!(
        verdicts,
        [
            vec!["allowed", "allowed"],
            vec!["allowed", "denied"],
            vec!["allowed", "denied"],
            vec!["allowed"],
        ]
    );
    assert_eq!(settled[0]["accounting"]["hosts"], Value::Null);
}

/// A crash, a loop and too much memory end the instance; the next call has a new one.
#[test]
fn component_server_starts_again_after_it_ended() {
    for server in [SERVER, HTTP_SERVER] {
        starts_again_after_it_ended(server);
    }
}

fn starts_again_after_it_ended(server: &str) {
    let env = place_of(
        server,
        "deadline-ms = 500\n[mcp.limits]\nmemory-bytes = \"32MiB\"",
    );
    let calls = [
        ("s_crash", json!({})),
        ("s_count", json!({})),
        ("s_allocate", json!({"mib": 64})),
        ("s_count", json!({})),
    ];
    let results = results_of(&env, &calls);
    for (result, says) in results.iter().step_by(2).zip([
        "the tool `crash` was called",
        "it needed more memory than the 33554432 bytes allowed for one call (limit `memory-bytes`)",
    ]) {
        assert!(result.contains("tool-unavailable"), "{result}");
        assert!(result.contains(says), "{result}");
    }
    assert_eq!([&results[1], &results[3]], ["1", "1"]);
}

#[test]
fn component_server_that_computes_or_floods_times_out() {
    for (server, tool) in [
        (SERVER, "s_spin"),
        (SERVER, "s_flood"),
        (HTTP_SERVER, "s_spin"),
        (HTTP_SERVER, "s_flood"),
    ] {
        let env = place_of(server, "deadline-ms = 500");
        let results = results_of(&env, &[(tool, json!({})), ("s_count", json!({}))]);
        let says = "did not answer within 500 ms, so the call was cancelled";
        assert!(results[0].contains(says), "{tool}: {results:?}");
        // Another instance answers.
        assert_eq!(results[1], "1", "{tool}");
    }
}

/// Another component does not run until it is accepted.
#[test]
fn changed_component_server_is_refused_before_it_runs() {
    let env = place("");
    assert_eq!(call(&env, "count", &json!({})).code, Some(0));
    let mut changed = fs::read(SERVER).unwrap();
    // A custom section, which changes nothing but the digest.
    changed.extend([0, 2, 1, b'x']);
    env.write("server.wasm", &changed);
    let ran = call(&env, "count", &json!({}));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for says in [
        "the MCP server `s` has changed since it was accepted",
        "(changed-since-approval), so nothing runs",
        "server: sha256:",
        "`agent-host lock --accept s`",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let accepted = env.run(&["lock", "--accept", "s"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    assert_eq!(call(&env, "count", &json!({})).code, Some(0));
}

#[test]
fn component_server_of_an_untrusted_file_does_not_run() {
    let env = TestEnv::new();
    env.write("server.wasm", fs::read(SERVER).unwrap());
    env.write(
        "agent.toml",
        "tool = []\n[[mcp]]\nname = \"s\"\ncomponent = \"server.wasm\"\n",
    );
    let ran = call(&env, "count", &json!({}));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let says = "it runs the component \"server.wasm\" as the MCP server \"s\"";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

/// The grants that are shown are those that are enforced.
#[test]
fn component_server_is_shown_with_its_grants() {
    let env = place("idle-seconds = \"1min\"\n[mcp.grants]\ndir = [{ host = \"data\" }]");
    env.write("data/a.txt", "granted");
    let shown = env.run(&["inspect", "s"]).stdout;
    let data = env.work().join("data").canonicalize().unwrap();
    let grant = format!("  {} as /workspace, read-only", data.display());
    for says in [
        "  runs        in the sandbox, as a program with standard streams (wasi:cli/run@0.2)",
        "  ends        after 60 s without a call, and at an age of 86400 s; the next call starts it again",
        grant.as_str(),
        "  no network",
    ] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    assert!(!shown.contains("outside of the sandbox"), "{shown}");
    let shown = env.run(&["inspect", "s", "--json"]).json();
    assert_eq!(shown["component"]["idle-seconds"], 60);
    assert_eq!(
        shown["component"]["form"],
        "a program with standard streams (wasi:cli/run@0.2)"
    );
    assert_eq!(
        shown["component"]["grants"]["dir"].as_array().map(Vec::len),
        Some(1)
    );
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("server.wasm (sha256:"), "{doctor}");
}

#[test]
fn component_that_is_not_a_server_is_refused() {
    for (file, says) in [
        (
            "conformance.wasm",
            "the component is not a program: it exports neither `wasi:cli/run@0.2` nor",
        ),
        ("absent.wasm", "cannot read the component's file"),
    ] {
        let env = place("");
        let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/guests/dist/");
        match fs::read(format!("{dist}{file}")) {
            Ok(bytes) => drop(env.write("server.wasm", bytes)),
            Err(_) => fs::remove_file(env.work().join("server.wasm")).unwrap(),
        }
        let ran = call(&env, "count", &json!({}));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
}

/// Each bad response of a handler of HTTP requests is one sentence about its call, and the next call
/// is answered.
#[test]
fn http_component_server_that_answers_badly_is_explained() {
    let env = place_of(HTTP_SERVER, "deadline-ms = 500");
    let cases = [
        (
            "not found",
            "with the HTTP status 404 Not Found: \"no such session\"",
        ),
        (
            "an error",
            "with the HTTP status 500 Internal Server Error: \"out of order\"",
        ),
        (
            "a page",
            "with the content type \"text/html\", and MCP has `application/json` and `text/event-stream`",
        ),
        (
            "half a message",
            "its answer is not a JSON message: EOF while parsing a value at line 1 column 19",
        ),
        ("another message", "without a response to the request"),
        ("acceptance", "without a message: HTTP status 202 Accepted"),
        ("an empty stream", "without a response to the request"),
        (
            "a refusal",
            "its handler returned an error: InternalError(Some(\"out of order\"))",
        ),
        ("nothing", "its handler returned without a response"),
    ];
    let cases = cases.map(|(with, says)| {
        let says = format!("answered, but {says}. The call may or may not have taken effect.");
        (
            with,
            json!({"code": "invalid-output", "message": format!("The MCP server `s` {says}")}),
        )
    });
    let large = "The MCP server `s` sent too large an answer: it sent a message of more than 16777216 bytes. The call ran; ask for less.";
    let large = json!({"code": "output-too-large", "message": large});
    let late = "The MCP server `s` did not answer within 500 ms, so the call was cancelled. It may or may not have taken effect.";
    let refused = "The MCP server `s` refused the call: out of order (code -32000)";
    let cases = cases.into_iter().chain([
        ("an error in JSON", json!(refused)),
        ("too much", large.clone()),
        ("a long line", large),
        ("silence", json!({"code": "timeout", "message": late})),
    ]);
    let cases: Vec<(&str, Value)> = cases.collect();
    let calls: Vec<(&str, Value)> = cases
        .iter()
        .flat_map(|(with, _)| {
            [
                ("s_answer_badly", json!({"with": with})),
                ("s_echo", json!({"text": with})),
            ]
        })
        .collect();
    let results = results_of(&env, &calls);
    for ((with, error), results) in cases.iter().zip(results.chunks(2)) {
        let [bad, next] = results else {
            panic!("{results:?}");
        };
        let bad: Value = serde_json::from_str(bad).unwrap();
        assert_eq!(bad, json!({"error": error}), "{with}");
        assert_eq!(next, with);
    }
}

/// A component of WASI 0.3 runs where that is on. One with both ways in has its main function run.
#[test]
fn component_server_of_wasi_0_3_runs_where_it_is_on() {
    let newer = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/guests/dist/mcp-server-async.wasm"
    );
    let refused = call(&place_of(newer, ""), "count", &json!({}));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let says = "WASI 0.3 is off: set `wasi = \"0.3\"` in `[sandbox]`";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    let on = "[sandbox]\nwasi = \"0.3\"";
    let with = fs::read(newer).unwrap();
    // Without its main function.
    let mut without = with.clone();
    let main = b"wasi:cli/run@";
    for at in 0..without.len() - main.len() {
        if without[at..].starts_with(main) {
            without[at..at + 4].copy_from_slice(b"test");
        }
    }
    for (component, form) in [
        (with, "a program with standard streams (wasi:cli/run@0.3)"),
        (
            without,
            "a handler of HTTP requests (wasi:http/handler@0.3)",
        ),
    ] {
        let env = place(on);
        env.write("server.wasm", component);
        let shown = env.run(&["inspect", "s", "--json"]).json();
        assert_eq!(shown["component"]["form"], form);
        let counted = [
            ("s_count", json!({})),
            ("s_steps", json!({})),
            ("s_count", json!({})),
        ];
        assert_eq!(results_of(&env, &counted), ["1", "done", "3"], "{form}");
    }
}
