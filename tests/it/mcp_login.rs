//! Tests `agent-host mcp login` and what a login is used for, with a server that is its own
//! authorization server.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::ChatServer,
    has_python,
    installed::here,
    running::Running,
    terminal::{at_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

const LOGIN: [&str; 5] = ["mcp", "login", "s", "--config", "agent.toml"];

/// Starts the server and configures it; `None` without Python, as stderr reports.
fn served(behaviour: &str) -> Option<(TestEnv, Running)> {
    if !has_python() {
        return None;
    }
    let script = here("it/mcp_client/oauth.py");
    let mut server = Running::start(Command::new("python3").arg(script).arg(behaviour));
    let base = server.stdout.next_line();
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        format!(
            "tool = []\nstate-dir = \"state\"\n[[mcp]]\nname = \"s\"\nurl = \"{}/mcp\"\n",
            base.trim()
        ),
    );
    Some((env, server))
}

/// Requests an address, and returns the one that it redirects to, or the body.
fn browse(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    match lines.find_map(|line| line.strip_prefix("location: ")) {
        Some(location) => Ok(location.to_owned()),
        None => Err(body.to_owned()),
    }
}

/// Logs in; the browser is on this machine.
fn log_in(env: &TestEnv) -> (String, Ran) {
    let mut login = Running::start(&mut env.command(&LOGIN));
    let url = login.stdout.next_line();
    let back = browse(url.trim()).unwrap();
    browse(&back).unwrap_err();
    (url, login.end())
}

fn call(env: &TestEnv, tool: &str) -> Ran {
    env.run(&["call", "s", tool, "{}", "--config", "agent.toml", "--json"])
}

fn stored(env: &TestEnv) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(env.work().join("state/oauth")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|kind| kind == "json"))
        .collect()
}

#[test]
fn login_is_used_refreshed_stepped_up_and_forgotten() {
    let Some((env, _server)) = served("") else {
        return;
    };
    let command = "run `agent-host mcp login s`";
    let ran = call(&env, "see");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains(command), "{}", ran.stderr);

    let (url, ran) = log_in(&env);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(url.contains("scope=read&"), "{url}");
    let [file] = stored(&env).try_into().unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    // The first token is refused by the server, so this one is refreshed.
    let text = |ran: &Ran| ran.json()["value"].clone();
    assert_eq!(
        text(&call(&env, "see")),
        "with read and [secret:login-token]"
    );
    let refreshed: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let token = refreshed["credentials"]["token_response"]["access_token"].as_str();
    let token = token.unwrap().to_owned();

    let ran = call(&env, "act");
    let message = ran.json()["value"]["message"].as_str().unwrap().to_owned();
    let wants = "it requires a login with the scopes \"write\"; the operator can run `agent-host mcp login s`";
    assert!(message.contains(wants), "{message}");
    for shown in [&ran.stdout, &ran.stderr] {
        assert!(!shown.contains(&token), "{shown}");
    }
    let (url, ran) = log_in(&env);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(url.contains("scope=read+write&"), "{url}");
    assert_eq!(
        text(&call(&env, "act")),
        "with read write and [secret:login-token]"
    );

    let ran = env.run(&["mcp", "logout", "s", "--config", "agent.toml"]);
    assert_eq!(
        (ran.code, stored(&env)),
        (Some(0), vec![]),
        "{}",
        ran.stderr
    );
    assert!(call(&env, "see").stderr.contains(command));
}

/// A redirection with the issuer of another authorization server gives it no code.
#[test]
fn login_redirected_by_another_issuer_is_refused() {
    let Some((env, _server)) = served("other-issuer") else {
        return;
    };
    let (_, ran) = log_in(&env);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("issuer mismatch"), "{}", ran.stderr);
    assert!(call(&env, "see").stderr.contains("agent-host mcp login s"));
}

/// Without PKCE a stolen code is a login, so the user is sent nowhere. One server may be excepted
/// that names no method, and none that names others.
#[test]
fn login_without_pkce_is_refused_unless_assumed() {
    let cases = [
        ("no-pkce", "", Some("does not say that it supports PKCE")),
        ("no-pkce", "assume-pkce = true", None),
        ("plain-pkce", "", Some("(its metadata lists: plain)")),
        (
            "plain-pkce",
            "assume-pkce = true",
            Some("(its metadata lists: plain)"),
        ),
    ];
    for (behaviour, setting, why) in cases {
        let Some((env, _server)) = served(behaviour) else {
            return;
        };
        let config = fs::read_to_string(env.work().join("agent.toml")).unwrap();
        env.write("agent.toml", format!("{config}[mcp.oauth]\n{setting}\n"));
        let Some(why) = why else {
            let (_, ran) = log_in(&env);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            continue;
        };
        let ran = env.run(&LOGIN);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

/// Requests to this machine that are no redirection of the login do not end it.
#[test]
fn login_waits_for_its_own_redirection() {
    let Some((env, _server)) = served("") else {
        return;
    };
    let mut login = Running::start(&mut env.command(&LOGIN));
    let url = login.stdout.next_line();
    let back = browse(url.trim()).unwrap();
    let (base, _) = back.split_once("/callback").unwrap();
    for path in ["/", "/callback", "/callback?code=x&state=guessed&iss=y"] {
        let answer = browse(&format!("{base}{path}"));
        assert_eq!(answer, Err("Not found.\n".to_owned()), "{path}");
    }
    browse(&back).unwrap_err();
    assert_eq!(login.end().code, Some(0));
}

/// A browser on another machine ends at an address that the user pastes.
#[test]
fn login_with_a_pasted_address() {
    let Some((env, _server)) = served("") else {
        return;
    };
    let chat = ChatServer::start(vec![]);
    let mut login = at_a_terminal(&env, &chat, &LOGIN.join(" "));
    let url = plain(&login.stdout.line_with("/authorize?"));
    login.stdout.until("Paste that address here:");
    let back = browse(url.trim()).unwrap();
    login.types("http://127.0.0.1:1/callback?code=x&state=y\n");
    login
        .stdout
        .until("not the address that the browser was redirected to");
    login.types(&format!("{back}\n"));
    let ran = login.end();
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(
        call(&env, "see").json(),
        json!({ "type": "text", "value": "with read and [secret:login-token]" })
    );
}

#[test]
fn login_where_there_is_nothing_to_log_in_to_is_refused() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "tool = []\n[[mcp]]\nname = \"p\"\ncommand = [\"true\"]\n",
    );
    let cases = [
        (
            "p",
            "cannot log in to the MCP server `p`: it needs no login",
        ),
        ("q", "unknown MCP server `q`: p"),
    ];
    for (name, why) in cases {
        let ran = env.run(&["mcp", "login", name, "--config", "agent.toml"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}
