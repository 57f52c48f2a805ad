//! Tests approval prompts on a pseudo-terminal: which calls need one, its text, and the effect of
//! each answer.

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::asking,
    chat::{Answer, ChatServer, ask},
    of_kind,
    terminal::{MARKER, on_a_terminal, plain, unwrapped},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

fn wants_to_write() -> ChatServer {
    ChatServer::start(vec![
        Answer::calls(&[(
            "write_file",
            json!({ "path": "note.txt", "content": "hello" }),
        )]),
        Answer::text("That is all."),
    ])
}

#[test]
fn approve_runs_exactly_what_was_shown() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "y\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for shown in [
        "write_file note.txt  new file +1\r\n│ +hello\r\n",
        "Sandboxed; at most it can reach: ",
        "Allow write_file? [y] once  [a] always for note.txt  [n] no  [?] more",
        "That is all.",
    ] {
        let plain = plain(&ran.stdout);
        assert!(plain.contains(shown), "no {shown:?} in {plain}");
    }
    assert_eq!(
        std::fs::read_to_string(env.work().join("note.txt")).unwrap(),
        "hello"
    );
    let events = env.events();
    let kinds: Vec<&str> = events
        .iter()
        .map(|record| record["event"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "session-started",
            "run-configured",
            "loop-configured",
            "input-received",
            "model-requested",
            "model-replied",
            "approval-requested",
            "turn-ended",
            "decision-recorded",
            "call-intended",
            "call-settled",
            "turn-ended",
            "model-requested",
            "model-replied",
            "turn-ended",
        ]
    );
}

#[test]
fn approval_shows_executable_files_that_the_arguments_name() {
    let env = TestEnv::new();
    let note = env.work().join("note.txt");
    std::fs::write(&note, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&note, std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "n\n",
    );
    let shown =
        "The call may rewrite these files, which run now or later:\r\n│ /workspace/note.txt";
    assert!(ran.stdout.contains(shown), "no {shown:?} in {}", ran.stdout);
    let events = env.events();
    let asked = of_kind(&events, "approval-requested");
    assert_eq!(
        asked[0]["calls"][0]["executables"],
        json!(["/workspace/note.txt"])
    );
}

#[test]
fn reject_tells_the_model_why_and_runs_nothing() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "n not today\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!env.work().join("note.txt").exists());
    let requests = server.requests();
    let told = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        told,
        &json!({ "role": "tool", "tool_call_id": "call_0", "content": "not today" })
    );
}

#[test]
fn later_keeps_the_request_and_resume_offers_it_again() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let waiting = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "l\n",
    );
    assert_eq!(waiting.code, Some(3), "{waiting:?}");
    let resumed = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m --resume latest",
        "y\n\u{4}",
    );
    assert!(resumed.stdout.contains("That is all."), "{resumed:?}");
    assert_eq!(
        std::fs::read_to_string(env.work().join("note.txt")).unwrap(),
        "hello"
    );
    let events = env.events();
    assert_eq!(of_kind(&events, "approval-requested").len(), 1);
    assert_eq!(of_kind(&events, "call-intended").len(), 1);
}

#[test]
fn call_needing_approval_without_terminal_is_denied() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let ran: Ran = env
        .command(&[
            "run",
            "--write",
            "--model",
            "openai-compat:m",
            "write a note",
        ])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(6), "That is all.\n"),
        "{}",
        ran.stderr
    );
    assert!(!env.work().join("note.txt").exists());
    let events = env.events();
    assert_eq!(
        of_kind(&events, "call-settled")[0]["output"],
        json!({
            "type": "execution-denied",
            "reason": "This call needs the user's approval (rule effect.effectful), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml.",
        })
    );
}

/// Arguments that the user edits are validated against the tool's schema, shown again, and run
/// after confirmation.
#[test]
fn edited_arguments_run_when_they_fit() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let keys = concat!(
        "e\n",
        "no json\n",
        "{\"path\": 1}\n",
        "{\"path\": \"note.txt\", \"content\": \"other\"}\ny\n"
    );
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        keys,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for shown in [
        "This is not a JSON object",
        "The arguments do not fit the tool's schema",
        "Run write_file with these arguments?",
    ] {
        assert!(ran.stdout.contains(shown), "no {shown:?} in {}", ran.stdout);
    }
    let note = std::fs::read_to_string(env.work().join("note.txt")).unwrap();
    assert_eq!(note, "other");
    let events = env.events();
    assert_eq!(
        of_kind(&events, "decision-recorded")[0]["decisions"],
        json!([{ "type": "edit", "call_id": "call_0", "input": { "path": "note.txt", "content": "other" } }])
    );
}

#[test]
fn free_text_answer_is_the_result() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "r I wrote it myself\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results(), ["I wrote it myself"]);
    assert!(!env.work().join("note.txt").exists());
}

/// A decision that the tool does not allow is not offered, and its key is ignored.
#[test]
fn only_allowed_decisions_are_offered() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = [\"edit\", \"reject\"]\n",
    );
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "y\nt\nr x\n?\nn\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = plain(&ran.stdout);
    assert!(
        shown.contains("Allow write_file? [n] no  [?] more\r\n"),
        "{shown}"
    );
    assert!(
        shown.contains("[e] edit the arguments\r\n[n REASON] no,"),
        "{shown}"
    );
    assert!(
        !shown.contains("[y]") && !shown.contains("[r TEXT]"),
        "{shown}"
    );
    assert_eq!(
        ran.stdout
            .matches("That is not one of the answers.")
            .count(),
        3
    );
    assert_eq!(server.tool_results(), ["Tool call execution denied."]);
}

/// Long arguments are shown to their last character, with deceptive characters escaped.
#[test]
fn prompt_shows_the_whole_call() {
    let env = TestEnv::new();
    let content = format!(
        "\u{1b}[2Jstart\u{202e}{}\u{200b}\u{7f}the\u{a0}e\u{200d}nd",
        "0123456789".repeat(1_000)
    );
    let input = json!({ "path": "note.txt", "content": content });
    let server = ChatServer::start(vec![
        Answer::calls(&[("write_file", input)]),
        Answer::text("That is all."),
    ]);
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "v\nn\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = format!(
        "\\u{{1b}}[2Jstart\\u{{202e}}{}\\u{{200b}}\\u{{7f}}the\\u{{a0}}e\\u{{200d}}nd",
        "0123456789".repeat(1_000)
    );
    assert!(unwrapped(&ran.stdout).contains(&shown), "{}", ran.stdout);
}

#[test]
fn prompts_off_asks_nothing_on_a_terminal() {
    let env = TestEnv::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &env,
        &server,
        "run --write --permission-prompts none --model openai-compat:m 'write a note'",
        "y\n",
    );
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(!ran.stdout.contains(MARKER), "{}", ran.stdout);
    assert!(!env.work().join("note.txt").exists());
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
}

/// Each call of a batch has its own prompt, and nothing runs before every decision is made.
#[test]
fn batch_calls_are_decided_one_by_one() {
    let call = |path| ("write_file", json!({ "path": path, "content": "hello" }));
    let table: [(&str, Option<i32>, [bool; 2], usize); 3] = [
        ("y\nn\n", Some(0), [true, false], 1),
        ("n\ny\n", Some(0), [false, true], 1),
        // The second decision is deferred: the first one is kept, and its call has not run either.
        ("y\nl\n", Some(3), [false, false], 1),
    ];
    at_once(table, |(keys, code, written, recorded)| {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![
            Answer::calls(&[call("a.txt"), call("b.txt")]),
            Answer::text("That is all."),
        ]);
        let ran = on_a_terminal(
            &env,
            &server,
            "run --write --model openai-compat:m 'write notes'",
            keys,
        );
        assert_eq!(ran.code, code, "{keys:?}: {ran:?}");
        let found = ["a.txt", "b.txt"].map(|name| env.work().join(name).exists());
        assert_eq!(found, written, "{keys:?}");
        let decisions = of_kind(&env.events(), "decision-recorded").len();
        assert_eq!(decisions, recorded, "{keys:?}");
    });
}

/// A tool's question; an empty line, text and `c` as answers.
#[test]
fn question_is_answered_on_the_terminal() {
    let table = [
        ("\nred\n", "red", json!({ "type": "text", "text": "red" })),
        ("c\n", "", json!({ "type": "cancelled" })),
    ];
    at_once(table, |(keys, told, answer)| {
        let (env, server) = asking();
        let ran = on_a_terminal(&env, &server, "run --model openai-compat:m go", keys);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for shown in [
            "The tool echo asks you, in its own words:",
            "│ Which?",
            "Your answer goes to the tool echo and approves nothing.",
        ] {
            assert!(ran.stdout.contains(shown), "no {shown:?} in {}", ran.stdout);
        }
        assert_eq!(server.tool_results(), [told], "{keys:?}");
        let events = env.events();
        let answers = of_kind(&events, "answer-received");
        assert_eq!(answers.len(), 1, "{keys:?}");
        assert_eq!(answers[0]["answer"], answer, "{keys:?}");
    });
}

/// The tool gets `unavailable` at once, and the run does not wait.
#[test]
fn question_without_a_user_is_unavailable() {
    let (env, server) = asking();
    let ran = ask(&env, &server, &["--permission-prompts", "none", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results(), [""]);
    assert_eq!(of_kind(&env.events(), "question-asked").len(), 0);
}
