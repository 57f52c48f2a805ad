//! Tests MCP servers as tools: pins, the form of results, and that their processes end with the
//! host. The tests of `host/adapters/mcp-client` cover hostile servers.

mod questions;

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    has_python,
    installed::{here, mcp_sdk},
    mcp::{Served, TOKEN},
    of_kind, program, traces,
};
use pretty_assertions::assert_eq;
use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, Signal, kill_process},
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

/// A test directory that configures this program as the server `s`, with these further lines.
fn place_with(program: &Path, args: &[&str], more: &str) -> TestEnv {
    let env = TestEnv::new();
    let script = here(&format!("it/mcp_client/{}", args[0]));
    let args: Vec<&str> = [&[script.to_str().unwrap()], &args[1..]].concat();
    let command = [&[program.to_str().unwrap()], args.as_slice()].concat();
    configure(&env, &format!("command = {}", json!(command)), more);
    env
}

fn configure(env: &TestEnv, reach: &str, more: &str) {
    let toml = format!("tool = []\n[[mcp]]\nname = \"s\"\n{reach}\n{more}\n");
    env.write("agent.toml", toml);
}

/// A test directory with the scripted server of this behaviour; `None` without Python, as stderr
/// reports.
fn scripted(behaviour: &[&str], more: &str) -> Option<TestEnv> {
    if !has_python() {
        return None;
    }
    let args = [&["server.py"], behaviour].concat();
    Some(place_with(Path::new("python3"), &args, more))
}

fn call(env: &TestEnv, tool: &str, input: &Value) -> Ran {
    let input = input.to_string();
    env.run(&[
        "call",
        "s",
        tool,
        &input,
        "--config",
        "agent.toml",
        "--json",
    ])
}

/// The file of another client gives a server that runs at once; without a terminal and `--yes`
/// nothing is added.
#[test]
fn servers_of_another_client_are_added() {
    if !has_python() {
        return;
    }
    let env = TestEnv::new();
    let script = here("it/mcp_client/server.py");
    let servers = json!({"mcpServers": {
        "s": {"command": "python3", "args": [script, "behaves"], "env": {"S_TOKEN": "t0ps3cret"}},
    }});
    env.write(".mcp.json", servers.to_string());
    let refused = env.run(&["add", "--mcp", ".mcp.json"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(!env.work().join("agent.toml").exists());
    let added = env.run(&["add", "--mcp", ".mcp.json", "--yes"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let line = format!("s: python3 {} behaves\n", script.display());
    assert_eq!(added.stdout, line);
    let note = "set S_TOKEN in your environment; its value is not copied";
    assert!(added.stderr.contains(note), "{added:?}");
    let toml = std::fs::read_to_string(env.work().join("agent.toml")).unwrap();
    assert!(!toml.contains("t0ps3cret"), "{toml}");
    let mut ran = env.command(&["call", "s", "act", "{}", "--json"]);
    let ran: Ran = ran.env("S_TOKEN", "t0ps3cret").output().unwrap().into();
    assert_eq!(ran.json(), json!({"type": "text", "value": "did it"}));
    let again = env.run(&["add", "--mcp", ".mcp.json", "--yes"]);
    assert!(again.stderr.contains("it already has `s`"), "{again:?}");
    env.write("x.json", "{}");
    let none = env.run(&["add", "--mcp", "x.json"]);
    assert_eq!(
        none.stderr,
        "error: cannot add servers from x.json: it has neither mcpServers nor servers\n"
    );
}

#[test]
fn server_is_pinned_at_first_use_and_refused_on_change() {
    let Some(env) = scripted(&["behaves"], "") else {
        return;
    };
    let ran = call(&env, "act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.json(), json!({"type": "text", "value": "did it"}));
    let path = env.work().join("agent.lock");
    let lock: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
    let script = here("it/mcp_client/server.py");
    let server = json!(["python3", script, "behaves"]).to_string();
    let tool = json!({
        "effect": "effectful", "description": "Acts.", "input-schema": "{\n  \"type\": \"object\"\n}",
    });
    assert_eq!(
        serde_json::to_value(&lock).unwrap(),
        json!({"version": 1, "tool": {}, "mcp": {"s": {"server": server, "tools": {"s_act": tool}}}})
    );

    // A changed description is shown, and nothing runs until it is accepted.
    let changed = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, changed.replace("Acts.", "Acts well.")).unwrap();
    let ran = call(&env, "act", &json!({}));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for says in [
        "the MCP server `s` has changed since it was accepted",
        "(changed-since-approval), so nothing runs",
        "tool `s_act`, description: Acts well. -> Acts.",
        "`agent-host lock --accept s`",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let shown = env
        .run(&["lock", "--config", "agent.toml", "--json"])
        .json();
    let change = json!({
        "tool": "s_act", "aspect": "description", "before": "Acts well.", "after": "Acts.",
    });
    assert_eq!(
        shown["components"],
        json!([{
            "name": "s", "server": server, "status": "changed", "changes": [change], "accepted_now": false,
        }])
    );
    let accepted = env.run(&["lock", "--config", "agent.toml", "--accept", "s"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let ran = call(&env, "s_act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A lock file that lists only components is read, and a server is pinned in it.
#[test]
fn server_is_pinned_in_an_existing_lock() {
    let Some(env) = scripted(&["behaves"], "") else {
        return;
    };
    env.write("agent.lock", "version = 1\n[tool]\n");
    let ran = call(&env, "act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lock = std::fs::read_to_string(env.work().join("agent.lock")).unwrap();
    assert!(
        lock.contains("version = 1") && lock.contains("[mcp.s.tools.s_act]"),
        "{lock}"
    );
}

/// In a session the policy decides: a tool that may change something is not called if no user can
/// be asked.
#[test]
fn calls_in_a_session_pass_the_policy() {
    let cases = [
        ("read-only = [\"act\"]", "did it"),
        ("approval = \"never\"", "did it"),
        ("", "rule effect.effectful"),
    ];
    for (more, told) in cases {
        let more = format!("{more}\n");
        let Some(env) = scripted(&["behaves"], &more) else {
            return;
        };
        let toml = std::fs::read_to_string(env.work().join("agent.toml")).unwrap();
        env.write(
            "agent.toml",
            format!("permission-prompts = \"none\"\n{toml}"),
        );
        let server = ChatServer::start(vec![
            Answer::calls(&[("s_act", json!({}))]),
            Answer::text("Done."),
        ]);
        let ran = ask(&env, &server, &["--config", "agent.toml", "act"]);
        // A call that lacked an approval has an exit code of its own.
        let code = if told == "did it" { 0 } else { 6 };
        assert_eq!(ran.code, Some(code), "{more}: {}", ran.stderr);
        let heard = server.tool_results();
        assert!(heard[0].contains(told), "{more}: {heard:?}");
        // If it were found and not named with `--config`, it would be refused, since it names a
        // server.
        std::fs::remove_file(env.work().join("agent.toml")).unwrap();
        let events = env.events();
        let settled = of_kind(&events, "call-settled");
        let asked = if told == "did it" {
            json!("mcp.s")
        } else {
            Value::Null
        };
        assert_eq!(settled[0]["audit"][0]["rule"], asked, "{settled:?}");
    }
}

#[test]
fn optional_server_that_fails_is_left_out() {
    let Some(env) = scripted(&["exits"], "required = false") else {
        return;
    };
    let server = ChatServer::start(vec![Answer::text("Hello.")]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello.\n"));
    for says in ["no module named ideas", "It is not required"] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    // A required server that fails is an error before anything runs.
    let env = scripted(&["exits"], "").unwrap();
    let ran = ask(&env, &server, &["--config", "agent.toml", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("no module named ideas"),
        "{}",
        ran.stderr
    );
}

/// A configuration that came with the directory starts no process.
#[test]
fn untrusted_file_starts_no_server() {
    let Some(env) = scripted(&["behaves"], "") else {
        return;
    };
    let ran = env.run(&["call", "s", "act", "{}"]);
    assert_eq!(ran.code, Some(2));
    let says = "it starts the program ";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

/// A server that ignores the end of its input and SIGTERM, its child and its daemon end when the
/// host is killed or ends by itself; so does what remains of a server that ends normally. All hold
/// a pipe open, whose reader sees the end of file only when they are gone.
#[test]
fn servers_and_their_daemons_end_with_the_host() {
    for (behaviour, killed) in [("stays", true), ("stays", false), ("leaves", false)] {
        let fifo = "alive";
        let Some(env) = scripted(&[behaviour, fifo], "") else {
            return;
        };
        let path = env.work().join(fifo);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let host = env
            .command(&["call", "s", "act", "{}", "--config", "agent.toml"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&host);
        let to_release = path.clone();
        let host = std::thread::spawn(move || {
            let ran = Ran::from(host.wait_with_output().unwrap());
            // Ends the wait below for a server that never started.
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            let _ = rustix::fs::open(&to_release, flags, Mode::empty());
            ran
        });
        let mut alive = File::open(&path).unwrap();
        if killed {
            // The host starts the server or waits for it.
            kill_process(pid, Signal::KILL).unwrap();
        }
        alive.read_to_end(&mut Vec::new()).unwrap();
        let ran = host.join().unwrap();
        let expected = if killed {
            (None, "")
        } else {
            (Some(0), "did it\n")
        };
        assert_eq!((ran.code, ran.stdout.as_str()), expected, "{}", ran.stderr);
    }
}

/// A token that its server puts into a tool's description, a result and a progress message reaches
/// no model, journal, lock file or terminal, even at the most verbose log level.
#[test]
fn token_that_its_server_echoes_leaves_no_trace() {
    let token = "tok-/8+correct=horses";
    let env = format!("[[mcp.env]]\nname = \"API_TOKEN\"\nvalue = \"{token}\"\n");
    let Some(env) = scripted(&["echoes"], &format!("approval = \"never\"\n{env}")) else {
        return;
    };
    let calls = ["text", "progress"].map(|how| ("s_act", json!({ "how": how })));
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
    let state = env.outside().join("state");
    let args = [
        "--config",
        "agent.toml",
        "--state-dir",
        state.to_str().unwrap(),
        "--log",
        "trace",
        "act",
    ];
    let ran = ask(&env, &server, &args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"));
    assert!(ran.stderr.contains("TRACE"), "{}", ran.stderr);
    let mark = "[secret:s.API_TOKEN]";
    let heard = server.tool_results();
    assert!(heard[0].contains(&[mark; 3].join(" ")), "{heard:?}");
    let lock = std::fs::read(env.work().join("agent.lock")).unwrap();
    assert!(String::from_utf8_lossy(&lock).contains(mark));
    for (what, bytes) in [
        ("what the model heard", heard.join("\n").as_bytes()),
        ("the lock", &lock),
        ("stderr", ran.stderr.as_bytes()),
    ] {
        traces::assert_none(token, what, bytes);
    }
    assert!(traces::assert_none_below(token, &state) > 0);
}

/// The tools of the SDK's server, with their results.
fn calls_the_sdk(env: &TestEnv) {
    let gif = json!([{
        "type": "file", "media_type": "image/gif",
        "data": {"type": "bytes", "value": "R0lGODlhAQABAAAAACw="},
    }]);
    let cases = [
        (
            "add",
            json!({"a": 1, "b": 2}),
            Some(0),
            json!({"type": "json", "value": {"result": 3}}),
        ),
        (
            "greet",
            json!({"name": "Ann"}),
            Some(0),
            json!({"type": "text", "value": "Hello, Ann."}),
        ),
        (
            "look",
            json!({}),
            Some(0),
            json!({"type": "content", "value": gif}),
        ),
        (
            "fail",
            json!({}),
            Some(1),
            json!({"type": "error-text", "value": "Error executing tool fail"}),
        ),
    ];
    for (tool, input, code, output) in cases {
        let ran = call(env, tool, &input);
        assert_eq!(
            (ran.code, ran.json()),
            (code, output),
            "{tool}: {}",
            ran.stderr
        );
    }
    // Arguments that do not fit are refused here, without a request to the server.
    let ran = call(env, "add", &json!({"a": "one"}));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("do not fit the tool's schema"),
        "{}",
        ran.stderr
    );
}

#[test]
fn official_sdk_server_over_stdio() {
    if let Some(python) = mcp_sdk() {
        calls_the_sdk(&place_with(&python, &["sdk_server.py"], ""));
    }
}

/// A result of our own server reaches our client as the same value.
#[test]
fn own_server_over_stdio() {
    let env = TestEnv::new();
    env.write(
        "served/agent.toml",
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n[[grants.dir]]\nhost = \".\"\n",
    );
    env.write("served/notes.txt", "Buy milk.");
    let program = program();
    let command = json!([program, "mcp", "--config", "served/agent.toml"]);
    let home = "[[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n[[mcp.env]]\nname = \"XDG_CACHE_HOME\"\nfrom-host = true";
    configure(&env, &format!("command = {command}"), home);
    for (tool, input, code) in [
        ("read_file", json!({"path": "notes.txt"}), Some(0)),
        ("list_directory", json!({"path": "."}), Some(0)),
        ("read_file", json!({"path": "absent.txt"}), Some(1)),
    ] {
        let through = call(&env, tool, &input);
        let input = input.to_string();
        let direct = [
            "call",
            "files",
            tool,
            &input,
            "--config",
            "served/agent.toml",
            "--json",
        ];
        let direct = env.run(&direct);
        assert_eq!(
            (direct.code, through.code),
            (code, code),
            "{}",
            through.stderr
        );
        assert_eq!(through.json(), direct.json(), "{tool}");
    }
}

/// A server with an address gets the token that it asks for; a required server with another token
/// is an error.
#[test]
fn own_server_over_http() {
    let served = TestEnv::new();
    let served = Served::start(&served, &["conformance"]);
    let env = TestEnv::new();
    env.write("token", TOKEN);
    let url = format!("url = {}", json!(served.url));
    configure(&env, &url, "token = \"file:token\"");
    let ran = call(&env, "add", &json!({"numbers": [1, 2]}));
    let direct = here("guests/dist/conformance.wasm");
    let direct = direct.to_str().unwrap();
    let direct = env.run(&[
        "call",
        direct,
        "add",
        r#"{"numbers": [1, 2]}"#,
        "--config",
        "agent.toml",
        "--json",
    ]);
    assert_eq!(
        (ran.code, direct.code),
        (Some(0), Some(0)),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json(), direct.json());

    env.write("token", "another-token-than-that-of-the-server");
    let ran = call(&env, "add", &json!({"numbers": [1, 2]}));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("the MCP server `s` cannot be used"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("another-token"), "{}", ran.stderr);
}

#[test]
fn server_is_told_the_configured_roots() {
    for (more, roots) in [("", vec![]), ("roots = [\".\", \"sub\"]", vec!["", "sub/"])] {
        let Some(env) = scripted(&["wants-roots"], more) else {
            return;
        };
        let base = env.work().canonicalize().unwrap();
        let roots: Vec<Value> = roots
            .iter()
            .map(|root| json!({ "uri": format!("file://{}/{root}", base.display()) }))
            .collect();
        let output = call(&env, "act", &json!({})).json();
        let told: Value = serde_json::from_str(output["value"].as_str().unwrap()).unwrap();
        assert_eq!(told, json!({ "roots": roots }));
    }
}
