//! Tests secrets through the whole program: their sources, the one server that receives them, and
//! that no answer, log, journal or file of the state directory contains their values.

use agent_host_test_support::{Ran, TestEnv, of_kind, traces};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Characters that each encoding writes differently.
const VALUE: &str = "s3cret/Value+with=signs~0";

/// A server that echoes each request in every form that the host redacts. It ends with the process.
struct Echo {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let head = answer(stream);
                log.lock().unwrap().push(head);
            }
        });
        Self { port, seen }
    }

    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The request heads so far.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while reader.read_line(&mut head).unwrap() > 2 {}
    let said: Vec<&str> = head
        .lines()
        .filter_map(|line| line.strip_prefix("authorization: "))
        .collect();
    let said = said.join(" ");
    let body = format!("you said: {said}\n{}\n", traces::encoded(&said).join("\n"));
    // In two pieces, with the value split between them.
    let (first, second) = body.split_at(10 + said.len() / 2);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nx-echo: {said}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{first}",
        body.len(),
    )
    .unwrap();
    stream.flush().unwrap();
    stream.write_all(second.as_bytes()).unwrap();
    head
}

/// A configuration in which `fetch` may use the server and the secret with it.
fn configure(env: &TestEnv, echo: &Echo, from: &str) {
    let (origin, port) = (echo.origin(), echo.port);
    env.write(
        "agent.toml",
        format!(
            "[[secret]]\nname = \"github\"\nfrom = \"{from}\"\naudience = \"{origin}\"\n\
             [[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\nsecrets = [\"github\"]\n\
             [[tool.http]]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
             [[tool.dir]]\nhost = \".\"\n"
        ),
    );
}

/// Runs `call fetch` with this field, in a process that has the secret in a variable.
fn fetch(env: &TestEnv, url: &str, field: &str) -> Ran {
    let input = json!({ "url": url, "headers": { "authorization": field } }).to_string();
    let args = [
        "call",
        "fetch",
        "fetch",
        &input,
        "--json",
        "--config",
        "agent.toml",
    ];
    let mut command = env.command(&args);
    command.env("TOKEN", VALUE).output().unwrap().into()
}

#[test]
fn run_with_secret_leaves_no_trace_of_its_value() {
    let (env, echo) = (TestEnv::new(), Echo::start());
    configure(&env, &echo, "env:TOKEN");
    let origin = echo.origin();
    env.write(
        "script.toml",
        format!(
            "[[turn]]\n[[turn.call]]\ntool = \"fetch\"\n[turn.call.input]\nurl = \"{origin}/me?a=secret\"\n\
             headers = {{ authorization = \"Bearer secret://github\" }}\n[[turn]]\ntext = \"It said: {{{{ results }}}}\"\n"
        ),
    );
    let state = env.outside().join("state");
    let state_arg = state.to_str().unwrap();
    let common = ["--config", "agent.toml", "--state-dir", state_arg];
    let run = |args: &[&str]| -> Ran {
        let mut command = env.command(&[args, &common[..]].concat());
        command.env("TOKEN", VALUE).output().unwrap().into()
    };
    let ran = run(&[
        "run",
        "x",
        "--model",
        "script:script.toml",
        "--log",
        "trace",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let expected = format!("\r\nauthorization: Bearer {VALUE}\r\n");
    assert!(echo.seen()[0].contains(&expected), "{:?}", echo.seen());
    assert!(
        ran.stdout.contains("you said: Bearer [secret:github]"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("TRACE"), "{}", ran.stderr);

    let shown = run(&["sessions", "show", "latest", "--json"]);
    let events = shown.json_lines();
    let settled = of_kind(&events, "call-settled");
    let url = format!("{origin}/me?a=secret");
    assert_eq!(
        settled[0]["audit"],
        json!([
            {
                "request": format!("GET {url}"),
                "operation": { "kind": "http", "method": "GET", "url": url },
                "verdict": "allowed",
                "rule": "grants.http[0]",
                "count": 1,
                "status": 200,
            },
            {
                "request": format!("secret://github in GET {url}"),
                "operation": { "kind": "secret", "name": "github", "method": "GET", "url": url },
                "verdict": "allowed",
                "rule": "grants.secrets[0]",
                "count": 1,
            },
        ])
    );
    let text = settled[0]["output"]["value"].as_str().unwrap();
    assert_eq!(text.matches("[secret:github]").count(), 8, "{text}");

    let steps = run(&["sessions", "show", "latest"]);
    let explained = run(&["explain", "latest"]);
    for (what, ran) in [
        ("run", &ran),
        ("sessions show --json", &shown),
        ("sessions show", &steps),
        ("explain", &explained),
    ] {
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
        traces::assert_none(
            VALUE,
            &format!("the stdout of {what}"),
            ran.stdout.as_bytes(),
        );
        traces::assert_none(
            VALUE,
            &format!("the stderr of {what}"),
            ran.stderr.as_bytes(),
        );
    }
    assert!(traces::assert_none_below(VALUE, &state) > 0);
}

#[test]
fn secret_of_each_source_reaches_only_its_server() {
    let (env, echo, other) = (TestEnv::new(), Echo::start(), Echo::start());
    std::fs::write(env.outside().join("token"), format!("{VALUE}\n")).unwrap();
    let file = format!("file:{}", env.outside().join("token").display());
    let command = format!("cmd:printf '%s' '{VALUE}'");
    let url = format!("{}/", echo.origin());
    for (count, from) in ["env:TOKEN", file.as_str(), command.as_str()]
        .into_iter()
        .enumerate()
    {
        configure(&env, &echo, from);
        let ran = fetch(&env, &url, "secret://github");
        assert_eq!(ran.code, Some(0), "{from}: {}", ran.stderr);
        assert!(ran.stdout.contains("you said: [secret:github]"), "{ran:?}");
        let expected = format!("\r\nauthorization: {VALUE}\r\n");
        assert!(echo.seen()[count].contains(&expected), "{from}");
        traces::assert_none(
            VALUE,
            from,
            format!("{}{}", ran.stdout, ran.stderr).as_bytes(),
        );
    }
    // Another server that the tool may use, and another secret's name.
    let more = format!(
        "[[tool.http]]\nhost = \"127.0.0.1\"\nport = {}\n",
        other.port
    );
    let config = std::fs::read_to_string(env.work().join("agent.toml")).unwrap();
    let (head, tail) = config.split_once("[[tool]]\nname = \"files\"").unwrap();
    env.write(
        "agent.toml",
        format!("{head}{more}[[tool]]\nname = \"files\"{tail}"),
    );
    let elsewhere = format!("{}/", other.origin());
    for (url, field, rule) in [
        (&elsewhere, "secret://github", "secret.github.audience"),
        (&url, "secret://git", "default-deny"),
    ] {
        let ran = fetch(&env, url, field);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        let reason = ran.json()["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(rule), "{reason}");
    }
    assert_eq!((echo.seen().len(), other.seen().len()), (3, 0));
}

#[test]
fn secrets_file_is_hidden_from_guests() {
    let (env, echo) = (TestEnv::new(), Echo::start());
    env.write("token", VALUE);
    configure(&env, &echo, "file:token");
    let call = |tool: &str, input| {
        let input = json!(input).to_string();
        env.run(&[
            "call",
            "files",
            tool,
            &input,
            "--json",
            "--config",
            "agent.toml",
        ])
    };
    let read = call("read_file", json!({ "path": "token" }));
    assert_eq!(read.json()["type"], "error-text", "{read:?}");
    let listed = call("list_directory", json!({ "path": "." }));
    assert!(!listed.stdout.contains("token"), "{listed:?}");
}

#[test]
fn secret_sources_are_read_lazily_and_errors_are_clean() {
    let (env, echo) = (TestEnv::new(), Echo::start());
    configure(&env, &echo, "cmd:touch ran; echo short");
    let ran = || env.work().join("ran").exists();
    for args in [
        ["inspect", "fetch"].as_slice(),
        &["lock"],
        &["sessions", "list"],
        &["call", "files", "list_directory", "{}"],
    ] {
        let found = env.run(&[args, &["--config", "agent.toml"]].concat());
        assert_eq!((found.code, ran()), (Some(0), false), "{args:?}: {found:?}");
    }
    let found = fetch(&env, &echo.origin(), "secret://github");
    assert!(ran());
    assert_eq!(
        (found.code, found.stderr.trim_end()),
        (
            Some(2),
            "error: cannot read the secret `github` from the command in `from`: it is shorter than 8 bytes and could \
             not be distinguished from other text in an answer; correct `from` of the secret `github`"
        )
    );
    configure(&env, &echo, "env:NO_TOKEN");
    let found = fetch(&env, &echo.origin(), "secret://github");
    assert_eq!(
        (found.code, found.stderr.trim_end()),
        (
            Some(2),
            "error: the secret `github` should be in the variable NO_TOKEN, which is not set; set it, or change \
             `from` of the secret `github`"
        )
    );
    assert_eq!(echo.seen(), Vec::<String>::new());
}
