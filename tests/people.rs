//! People in the loop: what asks, what is shown, and what runs after an answer. The program runs on a pseudo-terminal, as it
//! does for a person.

use crate::support::{
    Place, Ran,
    chat::{Answer, ChatServer},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Runs the program on a pseudo-terminal (by `script`, from util-linux) and types the keys.
pub(crate) fn on_a_terminal(place: &Place, server: &ChatServer, args: &str, keys: &str) -> Ran {
    let command = format!("{} {args}", env!("CARGO_BIN_EXE_agent-host"));
    let mut script = Command::new("script");
    place.prepare(script.args(["-qec", &command, "/dev/null"]));
    let mut child = script
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(keys.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    output.into()
}

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
    let place = Place::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &place,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "y\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for shown in [
        "The model wants to run",
        "write_file",
        "effectful",
        "\"content\": \"hello\"",
        "That is all.",
    ] {
        assert!(ran.stdout.contains(shown), "no {shown:?} in {}", ran.stdout);
    }
    assert_eq!(
        std::fs::read_to_string(place.work().join("note.txt")).unwrap(),
        "hello"
    );
    let events = place.events();
    let kinds: Vec<&str> = events
        .iter()
        .map(|record| record["event"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "session-started",
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
fn reject_tells_the_model_why_and_runs_nothing() {
    let place = Place::new();
    let server = wants_to_write();
    let ran = on_a_terminal(
        &place,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "n not today\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!place.work().join("note.txt").exists());
    let requests = server.requests();
    let told = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        told,
        &json!({ "role": "tool", "tool_call_id": "call_0", "content": "not today" })
    );
}

#[test]
fn later_keeps_the_request_and_resume_offers_it_again() {
    let place = Place::new();
    let server = wants_to_write();
    let waiting = on_a_terminal(
        &place,
        &server,
        "run --write --model openai-compat:m 'write a note'",
        "l\n",
    );
    assert_eq!(waiting.code, Some(3), "{waiting:?}");
    let resumed = on_a_terminal(
        &place,
        &server,
        "run --write --model openai-compat:m --resume latest",
        "y\n\u{4}",
    );
    assert!(resumed.stdout.contains("That is all."), "{resumed:?}");
    assert_eq!(
        std::fs::read_to_string(place.work().join("note.txt")).unwrap(),
        "hello"
    );
    let events = place.events();
    assert_eq!(of_kind(&events, "approval-requested").len(), 1);
    assert_eq!(of_kind(&events, "call-intended").len(), 1);
}

#[test]
fn without_a_terminal_what_would_ask_is_denied() {
    let place = Place::new();
    let server = wants_to_write();
    let ran: Ran = place
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
        (Some(0), "That is all.\n"),
        "{}",
        ran.stderr
    );
    assert!(!place.work().join("note.txt").exists());
    let events = place.events();
    assert_eq!(
        of_kind(&events, "call-settled")[0]["output"],
        json!({
            "type": "execution-denied",
            "reason": "This call needs a person's approval (rule effect.effectful), and nobody can be asked in this run.",
        })
    );
}
