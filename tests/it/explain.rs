//! Tests `explain`: a session's requests, its denials, and the suggested grants.

use agent_host_test_support::{TestEnv, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

/// A script with one call for each turn, and a final message.
fn script(calls: &[(&str, Value)]) -> String {
    let turn = |(tool, input): &(&str, Value)| {
        format!("[[turn]]\n[[turn.call]]\ntool = \"{tool}\"\ninput = '{input}'\n")
    };
    let turns: String = calls.iter().map(turn).collect();
    format!("{turns}[[turn]]\ntext = \"done\"\n")
}

const TOOLS: &str = "permission-prompts = \"none\"\n\
                     [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"never\"\n\
                     [[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\napproval = \"never\"\n";

const DIRECTORY: &str = "[[grants.dir]]\nhost = \".\"\n";

/// The session of these calls under these grants; nothing of it appears on the terminal.
fn run(env: &TestEnv, grants: &str, calls: &[(&str, Value)]) {
    env.write("agent.toml", format!("{TOOLS}{grants}"));
    env.write("calls.toml", script(calls));
    let ran = env.run(&[
        "run",
        "--config",
        "agent.toml",
        "--model",
        "script:calls.toml",
        "go",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

fn entry(url: &str, verdict: &str, rule: &str, grant: Option<&str>) -> Value {
    let mut entry = json!({
        "request": format!("GET {url}"),
        "operation": { "kind": "http", "method": "GET", "url": url },
        "verdict": verdict,
        "rule": rule,
        "count": 1,
    });
    if let Some(grant) = grant {
        entry["grant"] = json!(grant);
    }
    entry
}

#[test]
fn suggested_grant_allows_the_denied_request() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1/a?key=1");
    let calls = [
        ("fetch", json!({ "url": url })),
        (
            "write_file",
            json!({ "path": "note.txt", "content": "hello" }),
        ),
    ];
    run(&env, DIRECTORY, &calls);
    let web = format!(
        "[[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {port}\nmethods = [\"GET\"]\npath = \"/v1/a\""
    );
    let change =
        "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\nmode = \"read-write\"";
    let argument = format!("http:GET=http://127.0.0.1:{port}/v1/a");
    let explained = env
        .run(&["explain", "latest", "--config", "agent.toml", "--json"])
        .json();
    assert_eq!(
        explained["suggestions"],
        json!([
            { "toml": web, "change": false, "argument": argument },
            { "toml": change, "change": true, "argument": null },
        ])
    );
    let fetched = &explained["calls"][0];
    assert_eq!(
        (&fetched["tool"], &fetched["outcome"], &fetched["asked"]),
        (
            &json!("fetch"),
            &json!("execution-denied"),
            &json!([entry(&url, "denied", "default-deny", Some(&web))])
        )
    );

    let shown = env.run(&["explain", "latest", "--config", "agent.toml"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for part in [
        &format!("denied GET {url} by default-deny"),
        &web,
        change,
        &format!("--grant {argument}"),
    ] {
        assert!(
            shown.stdout.contains(part),
            "no {part:?} in {}",
            shown.stdout
        );
    }

    // With the suggested grants copied, the same calls are allowed.
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        // An answer that comes before its request is none.
        assert!(lines.any(|line| line.unwrap().is_empty()));
        (&stream)
            .write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello",
            )
            .unwrap();
    });
    run(&env, &format!("{DIRECTORY}{change}\n{web}\n"), &calls);
    server.join().unwrap();
    let explained = env
        .run(&["explain", "latest", "--config", "agent.toml", "--json"])
        .json();
    assert_eq!(explained["suggestions"], json!([]));
    let mut allowed = entry(&url, "allowed", "grants.http[0]", None);
    allowed["status"] = json!(200);
    assert_eq!(explained["calls"][0]["asked"], json!([allowed]));
    assert_eq!(
        std::fs::read_to_string(env.work().join("note.txt")).unwrap(),
        "hello"
    );
}

/// Without grants in `agent.toml` the current directory is granted, and the first grant ends that;
/// so `explain` suggests it too.
#[test]
fn suggestion_keeps_the_implied_grant() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    drop(listener);
    let calls = [
        ("fetch", json!({ "url": url })),
        ("read_file", json!({ "path": "a.txt" })),
    ];
    let verdicts = |grants: &str| -> (Vec<Value>, Value) {
        run(&env, grants, &calls);
        let mut explained = env
            .run(&["explain", "latest", "--config", "agent.toml", "--json"])
            .json();
        let calls = explained["calls"].as_array().unwrap();
        let asked = calls
            .iter()
            .flat_map(|call| call["asked"].as_array().unwrap());
        let verdicts = asked.map(|entry| json!([entry["verdict"], entry["rule"]]));
        (verdicts.collect(), explained["suggestions"].take())
    };
    let directory = json!(["allowed", "grants.dir[0]"]);
    let kept = "# Granted by default, but only while there are no grants here.\n[[grants.dir]]\nhost = \".\"\nguest = \"/workspace\"";
    let web = format!(
        "[[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {port}\nmethods = [\"GET\"]"
    );
    let (before, suggestions) = verdicts("");
    assert_eq!(
        before,
        [json!(["denied", "default-deny"]), directory.clone()]
    );
    assert_eq!(
        suggestions,
        json!([
            { "toml": kept, "change": false, "argument": null },
            { "toml": web, "change": false, "argument": format!("http:GET=http://127.0.0.1:{port}") },
        ])
    );
    let (after, suggestions) = verdicts(&format!("{kept}\n{web}\n"));
    assert_eq!(after, [json!(["allowed", "grants.http[0]"]), directory]);
    assert_eq!(suggestions, json!([]));
}

#[test]
fn ungrantable_denial_is_reported() {
    let env = TestEnv::new();
    let calls = [("fetch", json!({ "url": "http://localhost/" }))];
    run(&env, DIRECTORY, &calls);
    let shown = env.run(&["explain", "latest", "--config", "agent.toml"]);
    for part in [
        "denied GET http://localhost/ by default-deny; no grant allows it",
        "No grant would change this.",
    ] {
        assert!(
            shown.stdout.contains(part),
            "no {part:?} in {}",
            shown.stdout
        );
    }
}

#[test]
fn explain_without_requests_or_session() {
    let env = TestEnv::new();
    run(&env, DIRECTORY, &[]);
    let shown = env.run(&["explain", "latest", "--config", "agent.toml"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(
        shown.stdout.starts_with("No call of session ")
            && shown.stdout.ends_with(
                " requested a file or a network request, so nothing was allowed or denied.\n"
            ),
        "{}",
        shown.stdout
    );
    let json = env
        .run(&["explain", "latest", "--config", "agent.toml", "--json"])
        .json();
    assert_eq!(
        (&json["calls"], &json["suggestions"]),
        (&json!([]), &json!([]))
    );
    let gone = env.run(&["explain", "ffffffff", "--config", "agent.toml"]);
    assert_eq!(
        (gone.code, gone.stdout.as_str()),
        (Some(2), ""),
        "{}",
        gone.stderr
    );
}

#[test]
fn denied_call_without_session_suggests_grant() {
    let env = TestEnv::new();
    let ran = env.run(&[
        "call",
        "builtin:fetch",
        "fetch",
        r#"{"url": "https://api.example/v1/a"}"#,
    ]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    for part in [
        "denied GET https://api.example/v1/a by default-deny",
        "[[grants.http]]\nhost = \"api.example\"\nscheme = \"https\"\nmethods = [\"GET\"]\npath = \"/v1/a\"",
        "--grant http:GET=https://api.example/v1/a",
    ] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

/// The audit of the session's only call, and whether it waits for an approval.
fn audit_of(grants: &str, approval: &str, call: (&str, Value)) -> (Vec<Value>, Option<i32>) {
    let env = TestEnv::new();
    let tools = TOOLS.replace("permission-prompts = \"none\"\n", "");
    let tools = tools.replace("never", approval);
    env.write("agent.toml", format!("{tools}{grants}"));
    env.write("calls.toml", script(&[call]));
    let ran = env.run(&[
        "run",
        "--permission-prompts",
        "later",
        "--config",
        "agent.toml",
        "--model",
        "script:calls.toml",
        "go",
    ]);
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    let audit = settled.first().map(|event| event["audit"].clone());
    let audit = audit.and_then(|audit| audit.as_array().cloned());
    (audit.unwrap_or_default(), ran.code)
}

/// The gate itself is the oracle: the same call under `approval = "never"` is denied by the same
/// rule with the same suggestion.
#[test]
fn call_that_the_gate_denies_anyway_is_not_asked_about() {
    let read_only = "[[grants.dir]]\nhost = \".\"\nmode = \"read-only\"\n";
    let writable = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";
    let web = "[[tool.http]]\nhost = \"example.com\"\nmethods = [\"GET\"]\n";
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let post = ("http_post", json!({ "url": "https://example.com/" }));
    let denied = [
        (writable, write("../../etc/cron.d/x")),
        (writable, write("/etc/cron.d/x")),
        (writable, ("read_file", json!({ "path": "../secret" }))),
        (read_only, write("a.txt")),
        (read_only, write("/workspace/src/a.txt")),
        (web, ("fetch", json!({ "url": "http://example.org/" }))),
        (web, ("fetch", json!({ "url": "http://127.0.0.1/" }))),
        (web, post),
    ];
    for (grants, call) in denied {
        let (foreseen, code) = audit_of(grants, "always", call.clone());
        assert_eq!(code, Some(0), "{call:?} waits for an approval");
        let (met, _) = audit_of(grants, "never", call.clone());
        let of = |entries: &[Value]| {
            let denied = entries.iter().find(|entry| entry["verdict"] == "denied");
            denied.map(|entry| (entry["rule"].clone(), entry.get("grant").cloned()))
        };
        assert!(of(&met).is_some(), "{call:?} was not denied: {met:?}");
        assert_eq!(of(&foreseen), of(&met), "{call:?}");
    }
    let asked = [
        (writable, write("a.txt")),
        // Links and the file system decide on these.
        (writable, write("src/../../a.txt")),
        (read_only, write("src/../a.txt")),
        (web, ("fetch", json!({ "url": "https://example.com/" }))),
        // This is not a URL, which the tool itself says.
        (web, ("fetch", json!({ "url": "example.com" }))),
    ];
    for (grants, call) in asked {
        let (_, code) = audit_of(grants, "always", call.clone());
        assert_eq!(code, Some(3), "{call:?} is answered without asking");
    }
}

/// Without `--write` tools only read in the working directory, whatever is approved.
#[test]
fn denied_write_names_the_flag_that_allows_it() {
    let env = TestEnv::new();
    let write = ("write_file", json!({ "path": "a.txt", "content": "x" }));
    env.write("calls.toml", script(&[write.clone(), write]));
    let go = ["run", "--model", "script:calls.toml", "go"];
    let ran = env.run(&go);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let hint = "Tools may only read in this directory. To let them write, too: \
                agent-host run --model script:calls.toml go --write\n";
    assert_eq!(ran.stderr.matches(hint).count(), 1, "{}", ran.stderr);
    let approved = ["--write", "--allow", "write_file"];
    let ran = env.run(&[&go[..], &approved].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("may only read"), "{}", ran.stderr);
    assert_eq!(
        std::fs::read_to_string(env.work().join("a.txt")).unwrap(),
        "x"
    );
}
