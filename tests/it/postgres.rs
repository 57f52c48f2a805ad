//! Sessions in PostgreSQL: `url` in `[store]`.

use agent_host_test_support::{
    Ran, TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
    postgres::database,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;
use std::{process::Command, sync::mpsc};

/// The configuration of a store whose address is in the environment.
const STORE: &str = "[store]\nurl = \"env:DATABASE_URL\"\n";

/// Runs the program with a database.
fn run(env: &TestEnv, url: &str, args: &[&str]) -> Ran {
    let output = env.command(args).env("DATABASE_URL", url).output();
    output.unwrap().into()
}

/// Two hosts that share a database, whose address is in a file.
fn hosts(url: &str) -> [TestEnv; 2] {
    [TestEnv::new(), TestEnv::new()].map(|env| {
        env.write("database", url);
        env.configure("[store]\nurl = \"file:database\"\n");
        env
    })
}

/// A conversation begins in one directory of state and continues in another, as on another host.
#[test]
fn session_continues_on_another_host() {
    let Some(url) = database() else { return };
    let (one, other) = (TestEnv::new(), TestEnv::new());
    for env in [&one, &other] {
        env.configure(STORE);
    }
    let begun = run(
        &one,
        &url,
        &["run", "--model", "script:tour", "--quiet", "What is here?"],
    );
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let listed = run(&other, &url, &["sessions", "list", "--json"]);
    let rows = listed.json_lines();
    let [row] = rows.as_slice() else {
        panic!("{listed:?}");
    };
    let session = row["session"].as_str().unwrap();
    assert_eq!(row["outcome"], "done");
    let again = [
        "run",
        "--model",
        "script:tour",
        "--quiet",
        "--resume",
        session,
        "And now?",
    ];
    let resumed = run(&other, &url, &again);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let shown = run(&one, &url, &["sessions", "show", session]);
    for said in ["What is here?", "And now?"] {
        assert!(shown.stdout.contains(said), "{shown:?}");
    }
    for env in [&one, &other] {
        let state = env.outside().join("home/.local/state/agent-host");
        assert!(!state.join("agent-host.db").exists());
    }
    let doctor = run(&one, &url, &["doctor"]);
    let said = "the database of [store] (1 session)";
    assert!(doctor.stdout.contains(said), "{doctor:?}");
}

/// A session that runs on one host is in use for the others, which read it.
#[test]
fn session_of_another_host_is_in_use() {
    let Some(url) = database() else { return };
    let [one, other] = hosts(&url);
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let model = ChatServer::watched(vec![Answer::text("Done.")], move |point| {
        if point == 0 {
            asked.send(()).unwrap();
            is_released.recv().unwrap();
        }
    });
    let server = ApiServer::start(&one, &model, &[]);
    let session = server.create("go");
    is_asked.recv().unwrap();
    let refused = other.run(&["sessions", "delete", &session]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let in_use = format!("session {session} is in use: process ");
    assert!(refused.stderr.contains(&in_use), "{refused:?}");
    let shown = other.run(&["sessions", "show", &session]);
    assert!(shown.stdout.contains("go"), "{shown:?}");
    release.send(()).unwrap();
    server.events(&session, None).until("turn-ended");
    assert_eq!(server.end().code, Some(0));
    assert_eq!(other.run(&["sessions", "delete", &session]).code, Some(0));
}

/// A host is killed in a run, and another one continues the session once the lease has ended.
#[test]
fn session_of_a_killed_host_continues_on_another() {
    let Some(url) = database() else { return };
    let [one, other] = hosts(&url);
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let answers = vec![Answer::text("Lost."), Answer::text("Done.")];
    let model = ChatServer::watched(answers, move |point| {
        if point == 0 {
            asked.send(()).unwrap();
            is_released.recv().unwrap();
        }
    });
    let first = ApiServer::start(&one, &model, &[]);
    let second = ApiServer::start_elsewhere(&one, &other, &model);
    let session = first.create("go");
    is_asked.recv().unwrap();
    let resume = || second.post(&format!("/sessions/{session}/resume"), &json!({}));
    let locked = (409, "session-locked".to_owned());
    assert_eq!(resume().problem(), locked);
    first.running.signal(Signal::KILL);
    release.send(()).unwrap();
    assert_eq!(resume().problem(), locked);
    // As time does.
    let ended = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    let psql = Command::new("psql")
        .args(["-d", &url, "-c", ended])
        .output();
    assert!(psql.unwrap().status.success());
    assert_eq!(resume().status, 202);
    let events = second.events(&session, None).until("turn-ended");
    let kinds = events.iter().map(|event| &event.data["event"]["kind"]);
    let expected = [
        "session-started",
        "run-placed",
        "loop-configured",
        "input-received",
        "model-requested",
        // The directory that the tools of this one reach is another one.
        "run-placed",
        "loop-configured",
        "turn-interrupted",
        "sender-named",
        "model-requested",
        "model-replied",
        "turn-ended",
    ];
    let kinds: Vec<_> = kinds.filter(|kind| kind.is_string()).collect();
    assert_eq!(kinds, expected);
}

/// An address that cannot be used is refused in a sentence that does not repeat its password.
#[test]
fn unusable_database_is_refused() {
    let env = TestEnv::new();
    for (store, url, expected) in [
        (
            STORE,
            "postgres://ann:hunter2@192.0.2.1/s",
            "is on another machine",
        ),
        (STORE, "mysql://ann:hunter2@a/b", "invalid database address"),
        (
            STORE,
            "postgres://ann:hunter2@127.0.0.1:1/s",
            "cannot be reached",
        ),
        (
            "[store]\nurl = \"postgres://ann:hunter2@a/b\"\n",
            "",
            "contains a password",
        ),
        ("[store]\nurl = \"/tmp/a.db\"\n", "", "env:NAME"),
    ] {
        env.configure(store);
        let ran = run(&env, url, &["sessions", "list"]);
        assert!(matches!(ran.code, Some(1 | 2)), "{url}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{url}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{url}: {}", ran.stderr);
    }
}
