//! Tests `--decide`, decisions and answers from another process: the effect of each, refusals, and
//! that no call runs twice.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::asking,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
const WRITING: &str = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "hello" }))
}

/// A test directory with a run that waits for decisions about these calls, and the model's server.
fn waiting(toml: &str, calls: &[(&str, Value)]) -> (TestEnv, ChatServer, Ran) {
    let env = TestEnv::new();
    env.configure(format!("{toml}{WRITING}"));
    let server = ChatServer::start(vec![Answer::calls(calls), Answer::text("That is all.")]);
    let args = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let ran = ask(&env, &server, &args);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    (env, server, ran)
}

fn decide(env: &TestEnv, server: &ChatServer, decisions: &[&str]) -> Ran {
    let flags = decisions.iter().flat_map(|decision| ["--decide", decision]);
    let args: Vec<&str> = ["--resume", "latest"].into_iter().chain(flags).collect();
    ask(env, server, &args)
}

fn note(env: &TestEnv) -> Option<String> {
    std::fs::read_to_string(env.work().join("note.txt")).ok()
}

fn done(ran: &Ran) {
    let ended = (ran.code, ran.stdout.as_str());
    assert_eq!(ended, (Some(0), "That is all.\n"), "{}", ran.stderr);
}

#[test]
fn waiting_calls_are_listed_in_json_output() {
    let (_place, _server, ran) = waiting(FILES, &[write("note.txt")]);
    let outcome = &ran.json()["outcome"];
    assert_eq!(outcome["type"], "awaiting-confirmation");
    let calls = &outcome["continuation"]["awaiting"]["calls"];
    assert_eq!(calls.as_array().unwrap().len(), 1);
    let shown = ["call_id", "tool", "input", "decisions", "rule"].map(|key| calls[0][key].clone());
    assert_eq!(
        shown,
        [
            json!("call_0"),
            json!("write_file"),
            json!({ "path": "note.txt", "content": "hello" }),
            json!(["approve", "edit", "reject", "respond"]),
            json!("effect.effectful"),
        ]
    );
}

/// Without `--json`, the text of the ended run says how to decide.
#[test]
fn waiting_calls_are_listed_in_text_output() {
    let env = TestEnv::new();
    let toml = "approval-expires-seconds = 3600\n";
    env.configure(format!("{toml}{FILES}{WRITING}"));
    let server = ChatServer::start(vec![Answer::calls(&[write("note.txt")])]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
    for shown in [
        "These calls wait for a decision until ",
        " UTC, and are then denied (--output-format json prints all of them):\n  call_0  write_file \
         {\"content\":\"hello\",\"path\":\"note.txt\"}\n",
        "\nTo approve it without a terminal: agent-host run --resume ",
        " --decide call_0=approve\n",
    ] {
        assert!(ran.stderr.contains(shown), "no {shown:?} in {}", ran.stderr);
    }
}

/// Each decision, its result file, and the result for the model.
#[test]
fn decide_applies_each_decision() {
    let written = r#"{"created":true,"path":"note.txt","size_bytes":5}"#;
    let edit = r#"call_0=edit:{"path": "note.txt", "content": "a: b=c"}"#;
    let table = [
        ("call_0=approve", Some("hello"), written),
        (
            edit,
            Some("a: b=c"),
            r#"{"created":true,"path":"note.txt","size_bytes":6}"#,
        ),
        ("call_0=reject:not: today", None, "not: today"),
        ("call_0=reject", None, "Tool call execution denied."),
        ("call_0=respond:it is there", None, "it is there"),
    ];
    for (decision, content, told) in table {
        let (env, server, _) = waiting(FILES, &[write("note.txt")]);
        done(&decide(&env, &server, &[decision]));
        assert_eq!(note(&env).as_deref(), content, "{decision}");
        assert_eq!(server.tool_results(), [told], "{decision}");
    }
}

/// Each faulty decision is refused with exit code 2 and records nothing; the right one still works.
#[test]
fn mismatched_input_changes_nothing() {
    let toml = format!("{FILES}approval = [\"approve\", \"edit\", \"reject\"]\n");
    let calls = [write("note.txt"), write("other.txt")];
    let (env, server, _) = waiting(&toml, &calls);
    env.write("results.json", r#"[{"call_id": "call_0", "value": 1}]"#);
    let before = env.events();
    let table: [(&[&str], &str); 11] = [
        (
            &["call_0=approve"],
            "there is no decision about call call_1",
        ),
        (
            &["call_0=approve", "call_1=approve", "call_2=approve"],
            "call call_2 is not pending. The pending calls are:\n  call_0  write_file",
        ),
        (
            &["call_0=approve", "call_0=reject", "call_1=approve"],
            "call call_0 was decided twice",
        ),
        (&["call_0", "call_1=approve"], "names no call"),
        (&["call_0=maybe", "call_1=approve"], "is not a decision"),
        (
            &["call_0=edit:[1]", "call_1=approve"],
            "has arguments that are not a JSON object",
        ),
        (
            &["call_0=edit:{\"path\": 1}", "call_1=approve"],
            "the edited arguments of call call_0 are not valid",
        ),
        (
            &["call_0=approve", "call_1=respond:x"],
            "the decision about call call_1 cannot be `respond`; its tool allows approve, edit, reject",
        ),
        (
            &["call_0=choice:1", "call_1=approve"],
            "`choice` and `fields` answer a question",
        ),
        (&["call_1=approve", "call_0=edit"], "is not a decision"),
        (
            &[],
            "a continuation of kind `confirm` cannot be resumed with tool results",
        ),
    ];
    for (decisions, why) in table {
        let ran = if decisions.is_empty() {
            ask(
                &env,
                &server,
                &["--resume", "latest", "--submit", "results.json"],
            )
        } else {
            decide(&env, &server, decisions)
        };
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{decisions:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(why), "{decisions:?}: {}", ran.stderr);
        assert_eq!(env.events(), before, "{decisions:?}");
    }
    // The order on the command line does not matter.
    done(&decide(&env, &server, &["call_1=reject", "call_0=approve"]));
    assert_eq!(note(&env).as_deref(), Some("hello"));
    assert!(!env.work().join("other.txt").exists());
}

#[test]
fn decision_is_used_once() {
    let (env, server, _) = waiting(FILES, &[write("note.txt")]);
    done(&decide(&env, &server, &["call_0=approve"]));
    std::fs::remove_file(env.work().join("note.txt")).unwrap();
    let again = decide(&env, &server, &["call_0=approve"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(
        again.stderr.contains("nothing is pending in this session"),
        "{}",
        again.stderr
    );
    assert_eq!(note(&env), None);
    assert_eq!(of_kind(&env.events(), "call-intended").len(), 1);
}

/// With the other approval timing, earlier calls have run, and the next gated one waits for a
/// decision of its own.
#[test]
fn sequential_calls_are_decided_one_by_one() {
    let calls = [
        ("list_directory", json!({ "path": "." })),
        write("note.txt"),
        write("other.txt"),
    ];
    let toml = format!("approval-timing = \"in-order\"\n{FILES}");
    let (env, server, ran) = waiting(&toml, &calls);
    let continuation = ran.json()["outcome"]["continuation"].clone();
    let shown = [
        &continuation["awaiting"]["index"],
        &continuation["completed"][0]["name"],
    ];
    assert_eq!(shown, [&json!(1), &json!("list_directory")]);
    let next = decide(&env, &server, &["call_1=approve"]);
    assert_eq!(next.code, Some(3), "{next:?}");
    assert_eq!(note(&env).as_deref(), Some("hello"));
    assert!(!env.work().join("other.txt").exists());
    done(&decide(&env, &server, &["call_2=approve"]));
    assert!(env.work().join("other.txt").exists());
}

#[test]
fn expired_decision_denies_the_call() {
    let toml = format!("approval-expires-seconds = 1\n{FILES}");
    let (env, server, ran) = waiting(&toml, &[write("note.txt")]);
    let late = ran.json()["outcome"]["continuation"]["expires_at_ms"]
        .as_u64()
        .unwrap();
    let now_ms = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis()
    };
    while now_ms() < u128::from(late) {
        std::thread::yield_now();
    }
    let ran = decide(&env, &server, &["call_0=approve"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("waited too long for a decision"),
        "{}",
        ran.stderr
    );
    done(&ask(&env, &server, &["--resume", "latest"]));
    assert_eq!(note(&env), None);
    let denied =
        "This call did not run: it needed the user's approval, which did not come in time.";
    assert_eq!(server.tool_results(), [denied]);
}

/// T7: the `agent.toml` at the time of the decision counts. The approved call has no effect.
#[test]
fn tightened_policy_overrides_decision() {
    let rejecting = format!("{FILES}approval = [\"reject\"]\n{WRITING}");
    let table = [(
        rejecting,
        Some(2),
        "cannot be `approve`; its tool allows reject",
    )];
    for (toml, code, why) in table {
        let (env, server, _) = waiting(FILES, &[write("note.txt")]);
        env.configure(&toml);
        let ran = decide(&env, &server, &["call_0=approve"]);
        assert_eq!(ran.code, code, "{toml}: {ran:?}");
        let told = if code == Some(0) {
            server.tool_results().concat()
        } else {
            ran.stderr
        };
        assert!(told.contains(why), "{toml}: {told}");
        assert_eq!(note(&env), None, "{toml}");
    }
}

/// A guest asks, the process ends, and another one brings the answer: the guest runs again from its
/// start and receives it.
#[test]
fn question_is_answered_by_another_process() {
    let (env, server) = asking();
    let args = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let ran = ask(&env, &server, &args);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let awaiting = ran.json()["outcome"]["continuation"]["awaiting"].clone();
    assert_eq!(
        awaiting,
        json!({
            "kind": "answer", "call_id": "call_0", "tool": "echo",
            "question": { "prompt": "Which?", "free_text": true },
        })
    );
    let before = env.events();
    for (decision, why) in [
        (
            "call_0=approve",
            "A question is answered with `respond:TEXT`",
        ),
        ("call_0=choice:1", "invalid choice"),
        ("call_1=respond:red", "This call has no question."),
    ] {
        let ran = decide(&env, &server, &[decision]);
        assert_eq!(ran.code, Some(2), "{decision}: {ran:?}");
        assert!(ran.stderr.contains(why), "{decision}: {}", ran.stderr);
        assert_eq!(env.events(), before, "{decision}");
    }
    done(&decide(&env, &server, &["call_0=respond:red"]));
    assert_eq!(server.tool_results(), ["red"]);
    let events = env.events();
    assert_eq!(
        of_kind(&events, "answer-received")[0]["answer"],
        json!({ "type": "text", "text": "red" })
    );
    assert_eq!(of_kind(&events, "call-settled").len(), 1);
}

#[test]
fn question_can_be_rejected() {
    let (env, server) = asking();
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for shown in [
        "Call call_0 of echo asks: Which?",
        "--decide call_0=respond:TEXT",
    ] {
        assert!(ran.stderr.contains(shown), "no {shown:?} in {}", ran.stderr);
    }
    done(&decide(&env, &server, &["call_0=reject"]));
    assert_eq!(
        of_kind(&env.events(), "answer-received")[0]["answer"],
        json!({ "type": "cancelled" })
    );
    assert_eq!(server.tool_results(), [""]);
}
