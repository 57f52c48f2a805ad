//! MCP servers whose tools the loop uses: what is pinned of them, what their results become, and that they end with us. What
//! hostile servers come to is in the tests of `host/mcp-client`.

use crate::support::{
    Place, Ran,
    chat::{Answer, ChatServer, ask},
    installed::{here, mcp_sdk},
    mcp::{Served, TOKEN},
    of_kind, traces,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs::File,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

/// A place whose configuration has the server `s`, which is this program, with these lines more.
fn place_with(program: &Path, args: &[&str], more: &str) -> Place {
    let place = Place::new();
    let script = here(&format!("mcp_client/{}", args[0]));
    let args: Vec<&str> = [&[script.to_str().unwrap()], &args[1..]].concat();
    let command = [&[program.to_str().unwrap()], args.as_slice()].concat();
    configure(&place, &format!("command = {}", json!(command)), more);
    place
}

fn configure(place: &Place, reach: &str, more: &str) {
    let toml = format!("tool = []\n[[mcp]]\nname = \"s\"\n{reach}\n{more}\n");
    place.write("agent.toml", toml);
}

/// A place with the scripted server of this behaviour; nothing where there is no Python, of which stderr tells.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn scripted(behaviour: &[&str], more: &str) -> Option<Place> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3 on this machine, so no MCP server was tried");
        return None;
    }
    let args = [&["server.py"], behaviour].concat();
    Some(place_with(Path::new("python3"), &args, more))
}

fn call(place: &Place, tool: &str, input: &Value) -> Ran {
    let input = input.to_string();
    place.run(&[
        "call",
        "s",
        tool,
        &input,
        "--config",
        "agent.toml",
        "--json",
    ])
}

#[test]
fn a_server_is_pinned_when_it_is_first_used_and_refused_when_it_changed() {
    let Some(place) = scripted(&["behaves"], "") else {
        return;
    };
    let ran = call(&place, "act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.json(), json!({"type": "text", "value": "did it"}));
    let path = place.work().join("agent.lock");
    let lock: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
    let script = here("mcp_client/server.py");
    let server = json!(["python3", script, "behaves"]).to_string();
    let tool = json!({
        "effect": "effectful", "description": "Acts.", "input-schema": "{\n  \"type\": \"object\"\n}",
    });
    assert_eq!(
        serde_json::to_value(&lock).unwrap(),
        json!({"version": 1, "tool": {}, "mcp": {"s": {"server": server, "tools": {"s_act": tool}}}})
    );

    // Another word of the server is shown, and nothing runs until it is accepted.
    let changed = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, changed.replace("Acts.", "Acts well.")).unwrap();
    let ran = call(&place, "act", &json!({}));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for says in [
        "the MCP server `s` changed since it was accepted",
        "(changed-since-approval), so nothing runs",
        "tool `s_act`, description: Acts well. -> Acts.",
        "`agent-host lock --accept s`",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let shown = place
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
    let accepted = place.run(&["lock", "--config", "agent.toml", "--accept", "s"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let ran = call(&place, "s_act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A lock of components alone is read, and a server is pinned in it.
#[test]
fn server_is_pinned_in_an_existing_lock() {
    let Some(place) = scripted(&["behaves"], "") else {
        return;
    };
    place.write("agent.lock", "version = 1\n[tool]\n");
    let ran = call(&place, "act", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lock = std::fs::read_to_string(place.work().join("agent.lock")).unwrap();
    assert!(
        lock.contains("version = 1") && lock.contains("[mcp.s.tools.s_act]"),
        "{lock}"
    );
}

/// In a session the policy decides: a tool that may change something is not called where nobody can be asked.
#[test]
fn calls_in_a_session_pass_the_policy() {
    let cases = [
        ("read-only = [\"act\"]", "did it"),
        ("approval = \"never\"", "did it"),
        ("", "rule effect.effectful"),
    ];
    for (more, told) in cases {
        let more = format!("{more}\n");
        let Some(place) = scripted(&["behaves"], &more) else {
            return;
        };
        let toml = std::fs::read_to_string(place.work().join("agent.toml")).unwrap();
        place.write(
            "agent.toml",
            format!("permission-prompts = \"none\"\n{toml}"),
        );
        let server = ChatServer::start(vec![
            Answer::calls(&[("s_act", json!({}))]),
            Answer::text("Done."),
        ]);
        let ran = ask(&place, &server, &["--config", "agent.toml", "act"]);
        assert_eq!(ran.code, Some(0), "{more}: {}", ran.stderr);
        let heard = server.told();
        assert!(heard[0].contains(told), "{more}: {heard:?}");
        // Found and not named, it would be refused, since it names a server.
        std::fs::remove_file(place.work().join("agent.toml")).unwrap();
        let events = place.events();
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
fn a_server_that_is_not_required_is_left_out() {
    let Some(place) = scripted(&["exits"], "required = false") else {
        return;
    };
    let server = ChatServer::start(vec![Answer::text("Hello.")]);
    let ran = ask(&place, &server, &["--config", "agent.toml", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello.\n"));
    for says in ["no module named ideas", "It is not required"] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    // One that is required is an error before anything runs.
    let place = scripted(&["exits"], "").unwrap();
    let ran = ask(&place, &server, &["--config", "agent.toml", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("no module named ideas"),
        "{}",
        ran.stderr
    );
}

/// A file that came with the folder starts nothing.
#[test]
fn a_found_file_starts_no_server() {
    let Some(place) = scripted(&["behaves"], "") else {
        return;
    };
    let ran = place.run(&["call", "s", "act", "{}"]);
    assert_eq!(ran.code, Some(2));
    let says = "it starts the program ";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

/// A server that heeds neither the end of its input nor SIGTERM, a child of it and a daemon that it started end when the host is
/// killed, or ends by itself; so does what is left of a server that ends well. All hold a pipe open, whose reader sees the end
/// only when they are gone.
#[test]
fn servers_and_their_daemons_end_with_the_host() {
    for (behaviour, killed) in [("stays", true), ("stays", false), ("leaves", false)] {
        let fifo = "alive";
        let Some(place) = scripted(&[behaviour, fifo], "") else {
            return;
        };
        let path = place.work().join(fifo);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let mut command = place.command(&["call", "s", "act", "{}", "--config", "agent.toml"]);
        if killed {
            // The host is still starting the server when it is killed, or waits for it.
            let mut host = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut alive = File::open(&path).unwrap();
            host.kill().unwrap();
            host.wait().unwrap();
            alive.read_to_end(&mut Vec::new()).unwrap();
        } else {
            let host = std::thread::spawn(move || Ran::from(command.output().unwrap()));
            let mut alive = File::open(&path).unwrap();
            alive.read_to_end(&mut Vec::new()).unwrap();
            let ran = host.join().unwrap();
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "did it\n"),
                "{}",
                ran.stderr
            );
        }
    }
}

/// A token that its server puts into a tool's description, a result and a message of progress reaches no model, journal, lock or
/// terminal, not even with the fullest log.
#[test]
fn token_that_its_server_echoes_leaves_no_trace() {
    let token = "tok-/8+correct=horses";
    let env = format!("[[mcp.env]]\nname = \"API_TOKEN\"\nvalue = \"{token}\"\n");
    let Some(place) = scripted(&["echoes"], &format!("approval = \"never\"\n{env}")) else {
        return;
    };
    let calls = ["text", "progress"].map(|how| ("s_act", json!({ "how": how })));
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
    let state = place.outside().join("state");
    let args = [
        "--config",
        "agent.toml",
        "--state-dir",
        state.to_str().unwrap(),
        "--log",
        "trace",
        "act",
    ];
    let ran = ask(&place, &server, &args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"));
    assert!(ran.stderr.contains("TRACE"), "{}", ran.stderr);
    let mark = "[secret:s.API_TOKEN]";
    let heard = server.told();
    assert!(heard[0].contains(&[mark; 3].join(" ")), "{heard:?}");
    let lock = std::fs::read(place.work().join("agent.lock")).unwrap();
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

/// The tools of the SDK's server, with what their results become.
fn calls_the_sdk(place: &Place) {
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
        let ran = call(place, tool, &input);
        assert_eq!(
            (ran.code, ran.json()),
            (code, output),
            "{tool}: {}",
            ran.stderr
        );
    }
    // Arguments that do not fit are refused here, and the server is not asked.
    let ran = call(place, "add", &json!({"a": "one"}));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("do not fit the tool's schema"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_official_sdk_over_stdio() {
    if let Some(python) = mcp_sdk() {
        calls_the_sdk(&place_with(&python, &["sdk_server.py"], ""));
    }
}

/// What our own server says of a call, our client gives back as the value that it was.
#[test]
fn our_own_server() {
    let place = Place::new();
    place.write(
        "served/agent.toml",
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n[[grants.dir]]\nhost = \".\"\n",
    );
    place.write("served/notes.txt", "Buy milk.");
    let program = env!("CARGO_BIN_EXE_agent-host");
    let command = json!([program, "mcp", "--config", "served/agent.toml"]);
    let home = "[[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n[[mcp.env]]\nname = \"XDG_CACHE_HOME\"\nfrom-host = true";
    configure(&place, &format!("command = {command}"), home);
    for (tool, input, code) in [
        ("read_file", json!({"path": "notes.txt"}), Some(0)),
        ("list_directory", json!({"path": "."}), Some(0)),
        ("read_file", json!({"path": "absent.txt"}), Some(1)),
    ] {
        let through = call(&place, tool, &input);
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
        let direct = place.run(&direct);
        assert_eq!(
            (direct.code, through.code),
            (code, code),
            "{}",
            through.stderr
        );
        assert_eq!(through.json(), direct.json(), "{tool}");
    }
}

/// A server with an address gets the token that it asks for, and is a required server that cannot be used with another.
#[test]
fn our_own_server_over_http() {
    let served = Place::new();
    let served = Served::start(&served, &["conformance"]);
    let place = Place::new();
    place.write("token", TOKEN);
    let url = format!("url = {}", json!(served.url));
    configure(&place, &url, "token = \"file:token\"");
    let ran = call(&place, "add", &json!({"numbers": [1, 2]}));
    let direct = here("guests/dist/conformance.wasm");
    let direct = direct.to_str().unwrap();
    let direct = place.run(&[
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

    place.write("token", "another-token-than-that-of-the-server");
    let ran = call(&place, "add", &json!({"numbers": [1, 2]}));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("the MCP server `s` cannot be used"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("another-token"), "{}", ran.stderr);
}
