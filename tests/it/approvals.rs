//! Tests remembered approvals: their scope, storage and revocation.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::{Answer, ChatServer, ask},
    of_kind,
    postgres::database,
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt as _, process::Command};

const CONFIG: &str = "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n";
const RUN: &str = "run --model openai-compat:m go";

/// A component with one effectful tool, `send`, with this description.
fn sends(says: &str) -> Vec<u8> {
    let guest = Guest {
        body: Body::Text(0, says.as_bytes()),
        definitions: vec![Definition {
            name: "send".to_owned(),
            effect: 2,
            ..Definition::default()
        }],
        ..Guest::default()
    };
    guest.bytes()
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("mine.wasm", sends("sent"));
    env.configure(CONFIG);
    env
}

/// A model that calls `send` with these arguments, one reply each, and then ends.
fn model(arguments: &[Value]) -> ChatServer {
    let calls = arguments
        .iter()
        .map(|input| Answer::calls(&[("send", input.clone())]));
    ChatServer::start(calls.chain([Answer::text("That is all.")]).collect())
}

/// Whether a run that calls `send` with these arguments needs an approval; no user is there to ask.
fn asks(env: &TestEnv, input: &Value) -> bool {
    let server = model(std::slice::from_ref(input));
    let ran = ask(env, &server, &["--permission-prompts", "later", "go"]);
    match ran.code {
        Some(0) => {
            assert_eq!(server.tool_results(), ["sent"]);
            false
        }
        Some(3) => true,
        _ => panic!("{ran:?}"),
    }
}

fn list(env: &TestEnv) -> Vec<Value> {
    let listed = env.run(&["approvals", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    listed.json_lines()
}

fn revoke(env: &TestEnv, what: &str) -> Ran {
    env.run(&["approvals", "revoke", what])
}

/// The rule is shown before it is kept. It covers later calls of this session only.
#[test]
fn session_approval_is_remembered() {
    let table = [
        // The same arguments, and then others.
        (
            "x\ns\nl\n",
            "calls of `send` with exactly the arguments sha256:",
            Some(3),
        ),
        (
            "t\ns\n",
            "every call of `send`, whatever its arguments",
            Some(0),
        ),
    ];
    at_once(table, |(keys, rule, code)| {
        let env = env();
        let server = model(&[json!({ "to": 1 }), json!({ "to": 1 }), json!({ "to": 2 })]);
        let ran = on_a_terminal(&env, &server, RUN, keys);
        assert_eq!(ran.code, code, "{ran:?}");
        // The rule is broken between words.
        let all = ran.stdout.replace("\r\n│ ", " ");
        let shown = all.find(rule).unwrap();
        let asked = all.find("Allow send, and keep this rule?").unwrap();
        assert!(shown < asked, "{}", ran.stdout);
        let listed = list(&env);
        assert_eq!(listed.len(), 1);
        let found = [
            &listed[0]["scope"],
            &listed[0]["rule"]["tool"],
            &listed[0]["project"],
        ];
        assert_eq!(found, [&json!("session"), &json!("send"), &Value::Null]);
        assert!(
            listed[0]["text"].as_str().unwrap().starts_with(rule),
            "{listed:?}"
        );
        assert_eq!(of_kind(&env.events(), "approval-remembered").len(), 1);
        assert!(asks(&env, &json!({ "to": 1 })), "another session");
    });
}

/// Shows a rule that the user does not confirm: neither the rule nor the call is approved.
#[test]
fn unconfirmed_rule_is_not_stored() {
    let env = env();
    let server = model(&[json!({})]);
    let ran = on_a_terminal(&env, &server, RUN, "t\nq\nb\nn\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results(), ["Tool call execution denied."]);
    assert_eq!(list(&env), Vec::<Value>::new());
}

#[test]
fn project_approval_is_remembered_until_revoked() {
    let env = env();
    let server = model(&[json!({ "to": 1 }), json!({ "to": 1 }), json!({ "to": 2 })]);
    let ran = on_a_terminal(&env, &server, RUN, "x\np\nn\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // In the same session; the user was asked about other arguments and rejected them.
    assert_eq!(server.tool_results(), ["Tool call execution denied."]);
    assert_eq!(of_kind(&env.events(), "approval-requested").len(), 2);
    assert!(!asks(&env, &json!({ "to": 1 })));
    assert!(asks(&env, &json!({ "to": 2 })));

    let listed = list(&env);
    let project = env.work().canonicalize().unwrap().join("agent.toml");
    let found = [&listed[0]["scope"], &listed[0]["project"]];
    assert_eq!(
        (listed.len(), found),
        (1, [&json!("project"), &json!(project)])
    );
    let file = env
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // Another configuration in the same directory may grant more, so it is another project.
    env.write("other.toml", CONFIG);
    let server = model(&[json!({ "to": 1 })]);
    let args = [
        "--config",
        "other.toml",
        "--permission-prompts",
        "later",
        "go",
    ];
    assert_eq!(ask(&env, &server, &args).code, Some(3));

    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(revoke(&env, "ffff").code, Some(2));
    let revoked = revoke(&env, &id[..6]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert!(revoked.stdout.contains(id), "{}", revoked.stdout);
    assert_eq!(list(&env), Vec::<Value>::new());
    assert!(asks(&env, &json!({ "to": 1 })));
}

/// After revocation, the next call of the same session needs an approval again.
/// The runbook of a restore: an approval that was revoked after the dump is valid again, until all
/// are revoked.
#[test]
fn approval_of_a_dump_is_revoked_again_after_the_restore() {
    let (Some(dumped), Some(restored)) = (database(), database()) else {
        return;
    };
    let env = env();
    env.configure(format!("{CONFIG}[store]\nurl = \"file:database\"\n"));
    env.write("database", &dumped);
    let server = model(&[json!({ "to": 1 })]);
    let ran = on_a_terminal(&env, &server, RUN, "x\np\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let dump = env.work().join("sessions.dump").display().to_string();
    by_operator("pg_dump", &["-Fc", "-d", &dumped, "-f", &dump]);
    assert_eq!(revoke(&env, "--all").code, Some(0));
    assert_eq!(list(&env), Vec::<Value>::new());
    by_operator("pg_restore", &["--exit-on-error", "-d", &restored, &dump]);
    env.write("database", &restored);
    let checked = env.run(&["store", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(!asks(&env, &json!({ "to": 1 })), "the dump says nothing");
    assert_eq!(revoke(&env, "--all").code, Some(0));
    assert!(asks(&env, &json!({ "to": 1 })));
}

/// Runs a program of PostgreSQL.
fn by_operator(program: &str, args: &[&str]) {
    let ran = Command::new(program).args(args).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn session_approval_is_revoked() {
    let env = env();
    let server = model(&[json!({}), json!({})]);
    let ran = on_a_terminal(&env, &server, RUN, "t\ns\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let revoked = env.run(&["approvals", "revoke", "--all"]);
    assert_eq!(
        (revoked.code, list(&env).len()),
        (Some(0), 0),
        "{revoked:?}"
    );
    assert_eq!(of_kind(&env.events(), "approval-revoked").len(), 1);
    let server = model(&[json!({})]);
    let args = [
        "--permission-prompts",
        "later",
        "--resume",
        "latest",
        "again",
    ];
    let ran = ask(&env, &server, &args);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

/// A rule covers a call that waits with its batch for another one. After the rule is revoked, a
/// decision about the other call does not run the covered one: the user is asked about it first.
#[test]
fn rule_revoked_during_wait_needs_approval_again() {
    let env = env();
    let server = model(&[json!({ "to": 1 })]);
    let ran = on_a_terminal(&env, &server, RUN, "x\np\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let covered = ("send", json!({ "to": 1 }));
    let server = ChatServer::start(vec![
        Answer::calls(&[covered, ("send", json!({ "to": 2 }))]),
        Answer::text("That is all."),
    ]);
    let waits = |args: &[&str]| {
        let format = ["--permission-prompts", "later", "--output-format", "json"];
        let ran = ask(&env, &server, &[&format, args].concat());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let calls = &ran.json()["outcome"]["continuation"]["awaiting"]["calls"];
        let ids = calls
            .as_array()
            .unwrap()
            .iter()
            .map(|call| &call["call_id"]);
        ids.cloned().collect::<Vec<Value>>()
    };
    assert_eq!(waits(&["go"]), ["call_1"]);
    assert_eq!(revoke(&env, "--all").code, Some(0));
    let decided = waits(&["--resume", "latest", "--decide", "call_1=approve"]);
    assert_eq!(decided, ["call_0"]);
    assert_eq!(of_kind(&env.events(), "call-intended").len(), 0);
    let args = ["--resume", "latest", "--decide", "call_0=reject"];
    assert_eq!(ask(&env, &server, &args).code, Some(0));
    assert_eq!(
        server.tool_results(),
        ["Tool call execution denied.", "sent"]
    );
}

/// A session that another process writes to keeps its approvals, and the command says so; all
/// others are revoked.
#[test]
fn revoke_all_skips_session_in_use() {
    let env = env();
    for _ in 0..2 {
        let ran = on_a_terminal(&env, &model(&[json!({})]), RUN, "t\ns\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let sessions: Vec<String> = list(&env)
        .iter()
        .map(|kept| kept["session"].as_str().unwrap().to_owned())
        .collect();
    let [newer, older] = sessions.as_slice() else {
        panic!("{sessions:?}");
    };
    let locks = env.outside().join("home/.local/state/agent-host/locks");
    let lock = std::fs::File::open(locks.join(format!("{newer}.lock"))).unwrap();
    lock.lock().unwrap();
    let revoked = revoke(&env, "--all");
    assert_eq!(revoked.code, Some(1), "{revoked:?}");
    let why = format!("session {newer} is in use");
    assert!(revoked.stderr.contains(&why), "{}", revoked.stderr);
    assert!(
        revoked.stdout.contains(older) && !revoked.stdout.contains(newer),
        "{}",
        revoked.stdout
    );
    let left: Vec<Value> = list(&env)
        .iter()
        .map(|kept| kept["session"].clone())
        .collect();
    assert_eq!(left, [json!(newer)]);
    drop(lock);
    assert_eq!(revoke(&env, "--all").code, Some(0));
    assert_eq!(list(&env), Vec::<Value>::new());
}

/// A session with damaged records is reported and hides no other session.
#[test]
fn revoke_all_skips_damaged_session() {
    let env = env();
    for prompt in ["go", "spoilt"] {
        let args = format!("run --model openai-compat:m {prompt}");
        let ran = on_a_terminal(&env, &model(&[json!({})]), &args, "t\ns\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let file = env
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let spoilt: Vec<usize> = (0..bytes.len() - 6)
        .filter(|start| bytes[*start..].starts_with(b"spoilt"))
        .collect();
    assert!(!spoilt.is_empty());
    for start in spoilt {
        bytes[start] = b'S';
    }
    std::fs::write(&file, bytes).unwrap();
    let listed = env.run(&["approvals", "list", "--json"]);
    let revoked = revoke(&env, "--all");
    for ran in [&listed, &revoked] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.contains("cannot read session"), "{}", ran.stderr);
    }
    assert_eq!(env.run(&["approvals", "list"]).stdout, "");
}

/// The rule is for the component as it was, even when the operator has accepted the new one.
#[test]
fn changed_component_needs_approval_again() {
    let env = env();
    let server = model(&[json!({})]);
    let ran = on_a_terminal(&env, &server, RUN, "t\np\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!asks(&env, &json!({})));
    env.write("mine.wasm", sends("sent elsewhere"));
    assert_eq!(env.run(&["lock", "--accept"]).code, Some(0));
    assert!(asks(&env, &json!({})));
    // With the old component restored, its approvals are valid again.
    env.write("mine.wasm", sends("sent"));
    assert_eq!(env.run(&["lock", "--accept"]).code, Some(0));
    assert!(!asks(&env, &json!({})));
}

/// The same component with other grants may do more with the same call.
#[test]
fn changed_grants_need_approval_again() {
    let env = env();
    let ran = on_a_terminal(&env, &model(&[json!({})]), RUN, "t\np\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!asks(&env, &json!({})));
    let wider = "[[grants.dir]]\nhost = \".\"\n[[grants.http]]\nhost = \"api.example.com\"\n";
    env.configure(format!("{CONFIG}{wider}"));
    assert!(asks(&env, &json!({})));
    env.configure(CONFIG);
    assert!(!asks(&env, &json!({})));
}

/// A remembered approval does not cover a tool that may no longer be approved.
#[test]
fn disallowed_approval_needs_decision_again() {
    let env = env();
    let ran = on_a_terminal(&env, &model(&[json!({})]), RUN, "t\np\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    env.configure(format!("{CONFIG}approval = [\"reject\"]\n"));
    assert!(asks(&env, &json!({})));
}

/// Approvals that any user could have written are refused: no run begins.
#[test]
fn approvals_writable_by_others_are_refused() {
    let env = env();
    let server = model(&[json!({})]);
    assert_eq!(on_a_terminal(&env, &server, RUN, "t\np\n").code, Some(0));
    let file = env
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let server = model(&[json!({})]);
    for ran in [
        ask(&env, &server, &["go"]),
        env.run(&["approvals", "list"]),
        env.run(&["doctor"]),
    ] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("every user of this machine can write to")
                && said.contains("(mode 0666)"),
            "{said}"
        );
    }
    assert_eq!(server.requests(), Vec::<Value>::new());
}
