//! Approvals that a person does not want to give again: what they cover, where they are kept, and taking them back.

use crate::{
    people::{on_a_terminal, unwrapped},
    support::{
        Place, Ran,
        chat::{Answer, ChatServer, ask},
        of_kind,
    },
};
use agent_host_test_guests::{Body, Definition, Guest};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

const CONFIG: &str = "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n";
const RUN: &str = "run --model openai-compat:m go";

/// A component with one effectful tool, `send`, that says this.
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

fn place() -> Place {
    let place = Place::new();
    place.write("mine.wasm", sends("sent"));
    place.configure(CONFIG);
    place
}

/// A model that sends with these arguments, once for each reply, and then ends.
fn model(arguments: &[Value]) -> ChatServer {
    let calls = arguments
        .iter()
        .map(|input| Answer::calls(&[("send", input.clone())]));
    ChatServer::start(calls.chain([Answer::text("That is all.")]).collect())
}

/// Whether a run with these arguments of `send` is asked about, without anybody there to ask.
fn asks(place: &Place, input: &Value) -> bool {
    let server = model(std::slice::from_ref(input));
    let ran = ask(place, &server, &["--permission-prompts", "later", "go"]);
    match ran.code {
        Some(0) => {
            assert_eq!(server.told(), ["sent"]);
            false
        }
        Some(3) => true,
        _ => panic!("{ran:?}"),
    }
}

fn list(place: &Place) -> Vec<Value> {
    let listed = place.run(&["approvals", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    listed.json_lines()
}

fn revoke(place: &Place, what: &str) -> Ran {
    place.run(&["approvals", "revoke", what])
}

/// The rule is shown before it is kept, and covers later calls of the session, and of this session alone.
#[test]
fn an_approval_is_remembered_in_its_session() {
    let table = [
        // The same arguments, and then others.
        (
            "m\n1\ny\nl\n",
            "calls of `send` with exactly the arguments sha256:",
            Some(3),
        ),
        (
            "m\n2\ny\n",
            "every call of `send`, whatever its arguments",
            Some(0),
        ),
    ];
    for (keys, rule, code) in table {
        let place = place();
        let server = model(&[json!({ "to": 1 }), json!({ "to": 1 }), json!({ "to": 2 })]);
        let ran = on_a_terminal(&place, &server, RUN, keys);
        assert_eq!(ran.code, code, "{ran:?}");
        let all = unwrapped(&ran.stdout);
        let shown = all.find(rule).unwrap();
        let asked = all
            .find("Keep this rule, and run send, which is effectful?")
            .unwrap();
        assert!(shown < asked, "{}", ran.stdout);
        let listed = list(&place);
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
        assert_eq!(of_kind(&place.events(), "approval-remembered").len(), 1);
        assert!(asks(&place, &json!({ "to": 1 })), "another session");
    }
}

/// A rule that was shown and not confirmed is not kept, and neither is the call approved by it.
#[test]
fn a_rule_that_is_not_confirmed_is_not_kept() {
    let place = place();
    let server = model(&[json!({})]);
    let ran = on_a_terminal(&place, &server, RUN, "m\n4\nn\nb\nn\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.told(), ["Tool call execution denied."]);
    assert_eq!(list(&place), Vec::<Value>::new());
}

#[test]
fn an_approval_is_remembered_in_its_project_until_it_is_revoked() {
    let place = place();
    let server = model(&[json!({ "to": 1 }), json!({ "to": 1 }), json!({ "to": 2 })]);
    let ran = on_a_terminal(&place, &server, RUN, "m\n3\ny\nn\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // In the same session already; other arguments were asked about, and rejected.
    assert_eq!(server.told(), ["Tool call execution denied."]);
    assert_eq!(of_kind(&place.events(), "approval-requested").len(), 2);
    assert!(!asks(&place, &json!({ "to": 1 })));
    assert!(asks(&place, &json!({ "to": 2 })));

    let listed = list(&place);
    let project = place.work().canonicalize().unwrap().join("agent.toml");
    let found = [&listed[0]["scope"], &listed[0]["project"]];
    assert_eq!(
        (listed.len(), found),
        (1, [&json!("project"), &json!(project)])
    );
    let file = place
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // Another configuration of the same folder may grant more, and is another project.
    place.write("other.toml", CONFIG);
    let server = model(&[json!({ "to": 1 })]);
    let args = [
        "--config",
        "other.toml",
        "--permission-prompts",
        "later",
        "go",
    ];
    assert_eq!(ask(&place, &server, &args).code, Some(3));

    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(revoke(&place, "ffff").code, Some(2));
    let revoked = revoke(&place, &id[..6]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert!(revoked.stdout.contains(id), "{}", revoked.stdout);
    assert_eq!(list(&place), Vec::<Value>::new());
    assert!(asks(&place, &json!({ "to": 1 })));
}

/// After it is taken back, the next call of the session itself asks again.
#[test]
fn an_approval_of_a_session_is_revoked() {
    let place = place();
    let server = model(&[json!({}), json!({})]);
    let ran = on_a_terminal(&place, &server, RUN, "m\n2\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let revoked = place.run(&["approvals", "revoke", "--all"]);
    assert_eq!(
        (revoked.code, list(&place).len()),
        (Some(0), 0),
        "{revoked:?}"
    );
    assert_eq!(of_kind(&place.events(), "approval-revoked").len(), 1);
    let server = model(&[json!({})]);
    let args = [
        "--permission-prompts",
        "later",
        "--resume",
        "latest",
        "again",
    ];
    let ran = ask(&place, &server, &args);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

/// A call that a rule covers waits with its batch for another one. The rule is taken back, and the decision about the other one
/// does not make the covered call run: it is asked about, and nothing has run.
#[test]
fn a_call_whose_rule_was_revoked_while_it_waited_is_asked_about() {
    let place = place();
    let server = model(&[json!({ "to": 1 })]);
    let ran = on_a_terminal(&place, &server, RUN, "m\n3\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let covered = ("send", json!({ "to": 1 }));
    let server = ChatServer::start(vec![
        Answer::calls(&[covered, ("send", json!({ "to": 2 }))]),
        Answer::text("That is all."),
    ]);
    let waits = |args: &[&str]| {
        let format = ["--permission-prompts", "later", "--output-format", "json"];
        let ran = ask(&place, &server, &[&format, args].concat());
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
    assert_eq!(revoke(&place, "--all").code, Some(0));
    let decided = waits(&["--resume", "latest", "--decide", "call_1=approve"]);
    assert_eq!(decided, ["call_0"]);
    assert_eq!(of_kind(&place.events(), "call-intended").len(), 0);
    let args = ["--resume", "latest", "--decide", "call_0=reject"];
    assert_eq!(ask(&place, &server, &args).code, Some(0));
    assert_eq!(server.told(), ["Tool call execution denied.", "sent"]);
}

/// A session that another process writes to keeps its approvals, which is said, and all others are taken back nevertheless.
#[test]
fn a_session_in_use_does_not_keep_the_others_from_being_revoked() {
    let place = place();
    for _ in 0..2 {
        let ran = on_a_terminal(&place, &model(&[json!({})]), RUN, "m\n2\ny\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let sessions: Vec<String> = list(&place)
        .iter()
        .map(|kept| kept["session"].as_str().unwrap().to_owned())
        .collect();
    let [newer, older] = sessions.as_slice() else {
        panic!("{sessions:?}");
    };
    let locks = place.outside().join("home/.local/state/agent-host/locks");
    let lock = std::fs::File::open(locks.join(format!("{newer}.lock"))).unwrap();
    lock.lock().unwrap();
    let revoked = revoke(&place, "--all");
    assert_eq!(revoked.code, Some(1), "{revoked:?}");
    let why = format!("session {newer} is in use");
    assert!(revoked.stderr.contains(&why), "{}", revoked.stderr);
    assert!(
        revoked.stdout.contains(older) && !revoked.stdout.contains(newer),
        "{}",
        revoked.stdout
    );
    let left: Vec<Value> = list(&place)
        .iter()
        .map(|kept| kept["session"].clone())
        .collect();
    assert_eq!(left, [json!(newer)]);
    drop(lock);
    assert_eq!(revoke(&place, "--all").code, Some(0));
    assert_eq!(list(&place), Vec::<Value>::new());
}

/// A session whose records are damaged is told about, and hides no other one.
#[test]
fn a_damaged_session_does_not_keep_the_others_from_being_revoked() {
    let place = place();
    for prompt in ["go", "spoilt"] {
        let args = format!("run --model openai-compat:m {prompt}");
        let ran = on_a_terminal(&place, &model(&[json!({})]), &args, "m\n2\ny\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let file = place
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
    let listed = place.run(&["approvals", "list", "--json"]);
    let revoked = revoke(&place, "--all");
    for ran in [&listed, &revoked] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.contains("cannot read session"), "{}", ran.stderr);
    }
    assert_eq!(place.run(&["approvals", "list"]).stdout, "");
}

/// The rule is for the component as it was, also when the operator has accepted the new one.
#[test]
fn a_changed_component_is_asked_about_again() {
    let place = place();
    let server = model(&[json!({})]);
    let ran = on_a_terminal(&place, &server, RUN, "m\n4\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!asks(&place, &json!({})));
    place.write("mine.wasm", sends("sent elsewhere"));
    assert_eq!(place.run(&["lock", "--accept"]).code, Some(0));
    assert!(asks(&place, &json!({})));
    // With the old component back, what was approved is there again.
    place.write("mine.wasm", sends("sent"));
    assert_eq!(place.run(&["lock", "--accept"]).code, Some(0));
    assert!(!asks(&place, &json!({})));
}

/// The same component with other grants may do more with the same call.
#[test]
fn a_tool_with_other_grants_is_asked_about_again() {
    let place = place();
    let ran = on_a_terminal(&place, &model(&[json!({})]), RUN, "m\n4\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!asks(&place, &json!({})));
    let wider = "[[grants.dir]]\nhost = \".\"\n[[grants.http]]\nhost = \"api.example.com\"\n";
    place.configure(format!("{CONFIG}{wider}"));
    assert!(asks(&place, &json!({})));
    place.configure(CONFIG);
    assert!(!asks(&place, &json!({})));
}

/// A tool that may no longer be approved is not approved by what was remembered.
#[test]
fn what_may_not_be_approved_any_longer_is_asked_about_again() {
    let place = place();
    let ran = on_a_terminal(&place, &model(&[json!({})]), RUN, "m\n4\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    place.configure(format!("{CONFIG}approval = [\"reject\"]\n"));
    assert!(asks(&place, &json!({})));
}

/// What everybody could have written approves nothing: no run begins.
#[test]
fn a_file_that_others_can_write_to_is_refused() {
    let place = place();
    let server = model(&[json!({})]);
    assert_eq!(
        on_a_terminal(&place, &server, RUN, "m\n4\ny\n").code,
        Some(0)
    );
    let file = place
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let server = model(&[json!({})]);
    for ran in [
        ask(&place, &server, &["go"]),
        place.run(&["approvals", "list"]),
        place.run(&["doctor"]),
    ] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("every user of this machine may write to")
                && said.contains("(mode 0666)"),
            "{said}"
        );
    }
    assert_eq!(server.requests(), Vec::<Value>::new());
}
