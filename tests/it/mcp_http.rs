//! Tests `agent-host mcp --http` from the network. The admission checks and bounds are tested
//! beside `host/fronts/mcp/src/http.rs`.

use agent_host_test_support::{
    TestEnv,
    mcp_client::{error, initialize, texts},
    mcp_http::{Server, TOKEN, VARIABLE},
    of_kind,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
};

/// A token file that only its owner can read.
fn token_file(env: &TestEnv, mode: u32) -> String {
    let file = env.write("token", format!("{TOKEN}\n"));
    fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn http_session_is_a_journal_session() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let file = token_file(&env, 0o600);
    let server = Server::start(&env, &["--token-file", &file], None);
    let sessions = [server.begin(TOKEN), server.begin(TOKEN)];
    for session in &sessions {
        let read = server.call(TOKEN, session, "read_file", json!({"path": "note.txt"}));
        assert_eq!(read, texts("text", &["hello"]));
    }
    // A tool that can read the directory does not find the token in it.
    let hidden = server.call(TOKEN, &sessions[0], "read_file", json!({"path": "token"}));
    assert_eq!(hidden["isError"], true, "{hidden}");
    assert!(!hidden.to_string().contains(TOKEN), "{hidden}");
    let ran = server.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(!ran.stderr.contains(TOKEN), "{}", ran.stderr);
    let listed = env.run(&["sessions", "list"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stdout);
    let events = env.events();
    assert!(!of_kind(&events, "call-settled").is_empty(), "{events:?}");
}

#[test]
fn second_initialize_in_a_session_is_refused() {
    let env = TestEnv::new();
    let server = Server::start(&env, &[], Some(TOKEN));
    let session = server.begin(TOKEN);
    let again = initialize("2025-11-25", json!({}));
    let answer = server.post(TOKEN, Some(&session), &again);
    let why = "the connection is already initialized; open another one to start over";
    assert_eq!(answer.status, 200, "{answer:?}");
    let message: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(message, error(0, -32600, why));
    // Without the session id, it starts another session.
    assert_ne!(server.begin(TOKEN), session);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn token_comes_from_file_variable_or_is_generated() {
    let env = TestEnv::new();
    let file = token_file(&env, 0o600);
    let other = "the-token-of-the-variable";
    for (args, variable, right, wrong) in [
        (vec!["--token-file", &file], Some(other), TOKEN, other),
        (vec![], Some(other), other, TOKEN),
    ] {
        let server = Server::start(&env, &args, variable);
        server.begin(right);
        let refused = server.post(wrong, None, &initialize("2025-11-25", json!({})));
        assert_eq!(
            (refused.status, refused.body.as_str()),
            (
                401,
                "the token is not the server's; ask its operator for it"
            )
        );
        let ran = server.end();
        assert_eq!(ran.code, Some(0));
        assert!(!ran.stderr.contains("the token, valid"), "{}", ran.stderr);
    }
    // A generated token is shown, even when the log is off.
    let mut server = Server::start(&env, &[], None);
    let line = server.running.stderr.line_with("valid only for this run: ");
    let (_, made) = line.trim_end().split_once("run: ").unwrap();
    server.begin(made);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn unservable_configuration_is_refused() {
    let env = TestEnv::new();
    let open = token_file(&env, 0o644);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let any = "127.0.0.1:0";
    let cases: [(Vec<&str>, i32, &str); 6] = [
        (
            vec!["--http", any, "--token-file", &open],
            2,
            "users other than its owner can read it (mode 0644)",
        ),
        (
            vec!["--http", any, "--token-file", "absent"],
            2,
            "cannot read the token from absent",
        ),
        (vec!["--token-file", &open], 2, "--http <HOST:PORT>"),
        (
            vec!["--http", any, "--allow-host", "http://x"],
            2,
            "this is not a host",
        ),
        (
            vec!["--http", any, "--allow-origin", "null"],
            2,
            "this is not an origin",
        ),
        (vec!["--http", &taken], 1, "cannot listen at"),
    ];
    for (args, code, says) in cases {
        let args = [vec!["mcp"], args].concat();
        let mut command = env.command(&args);
        let ran = Running::start(command.env(VARIABLE, "0123456789abcdef")).end();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), ""),
            "{args:?}"
        );
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
}

/// The name of this machine's loopback address, as clients write it.
#[test]
fn localhost_is_an_address_to_serve_at() {
    let env = TestEnv::new();
    let args = ["mcp", "--http", "localhost:0"];
    let mut running = Running::start(env.command(&args).env(VARIABLE, TOKEN));
    running.stderr.until("serving over http://127.0.0.1:");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    let ran = env.run(&["mcp", "--http", "localhost"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("write it like `localhost:8080`"),
        "{ran:?}"
    );
}

#[test]
fn public_address_prints_a_warning() {
    let env = TestEnv::new();
    let args = ["mcp", "--http", "0.0.0.0:0", "--quiet"];
    let mut running = Running::start(env.command(&args).env(VARIABLE, TOKEN));
    running.stderr.until("the traffic is not encrypted");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}
