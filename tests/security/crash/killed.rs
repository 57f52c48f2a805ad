//! Tests the program killed with SIGKILL by its peers: by the model's server before and in the
//! middle of an answer, and by the service during a call's request. Also tests a second program on
//! the same session.

use super::{
    counter::Counter,
    held::held,
    play::Play,
    running::{asking, configured, is_done, journaled, resumes, run},
};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    of_kind,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// The arguments of a run that stores each reply.
const DURABLE: [&str; 2] = ["--durable", "go"];

/// The peer that kills the program, and the number of its point.
#[derive(Clone, Copy, Debug)]
enum Killer {
    Model(usize),
    Service,
}

/// The value of the only result in the session.
fn result(env: &TestEnv) -> Value {
    let events = journaled(env);
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1);
    let value = &settled[0]["output"]["value"];
    value.get("code").unwrap_or(value).clone()
}

/// Each moment of death, the result of the call, and the number of requests at the service. A
/// repetition carries the idempotency key of the first attempt.
#[test]
fn killed_program_resumes() {
    let table = [
        ("act", &["go"][..], Killer::Model(0), json!("act"), 1),
        ("act", &["go"], Killer::Model(1), json!("act"), 1),
        (
            "act",
            &["go"],
            Killer::Service,
            json!("interrupted-unknown"),
            1,
        ),
        ("act", &["go"], Killer::Model(2), json!("act"), 1),
        ("act", &["go"], Killer::Model(3), json!("act"), 1),
        ("put", &["go"], Killer::Service, json!("put"), 2),
        ("look", &["go"], Killer::Service, json!("look"), 2),
        ("look", &DURABLE, Killer::Service, json!("look"), 2),
    ];
    for (tool, args, killer, expected, times) in table {
        let what = format!("{tool}, {args:?}, {killer:?}");
        let (of_model, of_service) = match killer {
            Killer::Model(point) => (point, usize::MAX),
            Killer::Service => (usize::MAX, 0),
        };
        let (model, asked) = held(of_model);
        let (service, arrived) = held(of_service);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        Play::batch(&[]).write_files(&env, counter.port);
        let to = format!("127.0.0.1:{}", counter.port);
        let call = || Answer::calls(&[(tool, json!({ "to": to }))]);
        let text = || Answer::text("That is all.");
        // The model is asked again for the interrupted answer, and for a reply that was not stored.
        let answers = match killer {
            Killer::Model(0 | 1) => vec![call(), call(), text()],
            Killer::Model(_) => vec![call(), text(), text()],
            Killer::Service if tool == "look" && args != DURABLE => vec![call(), call(), text()],
            Killer::Service => vec![call(), text()],
        };
        let count = answers.len();
        let server = ChatServer::watched(answers, asked);
        let running = Running::start_without_input(&mut asking(&env, &server, args));
        match killer {
            Killer::Model(_) => model.wait(),
            Killer::Service => service.wait(),
        }
        running.signal(Signal::KILL);
        assert_eq!(running.end().code, None, "{what}");
        drop((model, service));

        let mut again = asking(&env, &server, &["--resume", "latest"]);
        is_done(&again.output().unwrap().into());
        assert_eq!(result(&env), expected, "{what}");
        let hits = counter.take();
        let counts: Vec<usize> = hits.values().copied().collect();
        assert_eq!(counts, [times], "{what}: {hits:?}");
        assert_eq!(server.requests().len(), count, "{what}");
    }
}

/// A decision is used up by the process that dies with it: it cannot be given again, and the call
/// that it allowed does not run again.
#[test]
fn decision_is_used_once() {
    let (service, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["act"]).write_files(&env, counter.port);
    let file = env.work().join("agent.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, config.replace("\"never\"", "\"always\"")).unwrap();
    let ran = run(&env, &["run", "--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let events = journaled(&env);
    let call = &of_kind(&events, "approval-requested")[0]["calls"][0]["call_id"];
    let decision = format!("{}=approve", call.as_str().unwrap());
    let decide = ["run", "--resume", "latest", "--decide", &decision];

    let running = Running::start_without_input(&mut configured(&env, &decide));
    service.wait();
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    drop(service);
    let again = run(&env, &decide);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(
        again.stderr.contains("nothing is pending in this session"),
        "{again:?}"
    );
    resumes(&env);
    assert_eq!(result(&env), "interrupted-unknown");
    assert_eq!(counter.take().values().sum::<usize>(), 1);
}

/// The second program on a session is refused and told of the first, which continues undisturbed.
/// Reading is allowed.
#[test]
fn session_in_use_is_refused() {
    let (service, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["act"]).write_files(&env, counter.port);
    let first = Running::start_without_input(&mut configured(&env, &["run", "go"]));
    service.wait();
    let before = journaled(&env);
    let session = before[0]["session"].as_str().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let refusal = format!(
        "error: session {session} is in use: process {} on {} since 2",
        first.pid(),
        host.trim()
    );
    for args in [
        &["run", "--resume", "latest"][..],
        &["run", "--resume", session, "what now?"],
        &["run", "--resume", session, "--decide", "call_0=approve"],
    ] {
        let second = run(&env, args);
        assert_eq!(
            (second.code, second.stdout.as_str()),
            (Some(1), ""),
            "{args:?}"
        );
        assert!(
            second.stderr.lines().any(|line| line.starts_with(&refusal)),
            "{args:?}: {}",
            second.stderr
        );
    }
    assert_eq!(journaled(&env), before);
    drop(service);
    is_done(&first.end());
    assert_eq!(result(&env), "act");
    assert_eq!(counter.take().values().sum::<usize>(), 1);
    // The lock ended with its owner.
    let after = run(
        &env,
        &["run", "--resume", "latest", "--permission-prompts", "none"],
    );
    assert_eq!(after.code, Some(2), "{after:?}");
    assert!(
        after.stderr.contains("the model has given its answer"),
        "{after:?}"
    );
}
