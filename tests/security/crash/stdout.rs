//! Tests a stdout that fails during a run: nothing more has an effect, every call is answered, and
//! the session resumes.

use super::{
    counter::Counter,
    held::held,
    play::Play,
    running::{configured, journaled, resumes},
};
use agent_host_test_support::{TestEnv, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
};

/// Two effectful calls, whose events go to stdout as they become durable.
fn playing(env: &TestEnv) -> Command {
    configured(env, &["run", "--output-format", "stream-json", "go"])
}

fn outcome(events: &[Value]) -> &Value {
    &of_kind(events, "turn-ended")[0]["outcome"]["type"]
}

fn results(events: &[Value]) -> Vec<Value> {
    let settled = of_kind(events, "call-settled");
    settled
        .iter()
        .map(|event| event["output"]["value"].clone())
        .collect()
}

fn not_begun() -> Value {
    json!({ "code": "cancelled", "message": "The run was stopped before this call began." })
}

#[test]
fn closed_stdout_during_call_stops_the_next_one() {
    let (calls, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["act", "act"]).write_files(&env, counter.port);
    let (reader, writer) = UnixStream::pair().unwrap();
    let child = playing(&env)
        .stdout(OwnedFd::from(writer))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    calls.wait();
    // The end of a pipe would stay open in a child that another test starts just now.
    reader.shutdown(Shutdown::Both).unwrap();
    drop(calls);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(141), "{stderr}");
    let complaint = stderr
        .lines()
        .find(|line| line.starts_with("error:") || line.starts_with("Stopped"));
    assert_eq!(complaint, None);

    let events = journaled(&env);
    assert_eq!(outcome(&events), "cancelled");
    assert_eq!(results(&events)[1..], [not_begun()]);
    resumes(&env);
    assert_eq!(counter.take().len(), 1, "one call, under one key");
}

#[test]
fn stdout_on_full_disk_stops_before_first_call() {
    let counter = Counter::start();
    let env = TestEnv::new();
    Play::batch(&["act", "act"]).write_files(&env, counter.port);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = playing(&env).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let last: Vec<&str> = stderr.lines().rev().take(2).collect();
    assert_eq!(
        last[0],
        "error: could not write the answer to stdout: No space left on device (os error 28)"
    );
    assert!(
        last[1].starts_with("Stopped. The session is kept: "),
        "{stderr}"
    );

    let events = journaled(&env);
    assert_eq!(outcome(&events), "cancelled");
    // The first events fail before the model is asked; a scripted one may answer before the run
    // stops.
    let results = results(&events);
    assert!(
        results.iter().all(|result| *result == not_begun()),
        "{results:?}"
    );
    assert_eq!(counter.take().len(), 0);
    resumes(&env);
}
