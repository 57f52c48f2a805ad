//! Servers of two projects on one store, and what an operator of one reaches in the other.

use super::{KnownSession, fork, listed, start_beside};
use crate::roles::create_seeing;
use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer, ask},
    postgres::database,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Command, sync::mpsc};

/// The configuration of a directory whose tools write without asking.
const WRITES: &str = r#"
permission-prompts = "none"

[[tool]]
name = "files"
component = "builtin:files"
approval = "never"

[[grants.dir]]
host = "."
mode = "read-write"
"#;

/// Has an answer change a file of a directory from `one` to `two`, on the terminal.
fn change(env: &TestEnv) -> String {
    env.write("note.txt", "one");
    let write = json!({"path": "note.txt", "content": "two"});
    let answers = vec![
        Answer::calls(&[("write_file", write)]),
        Answer::text("Done."),
    ];
    let model = ChatServer::start(answers);
    assert_eq!(ask(env, &model, &["change it"]).code, Some(0));
    env.events()[0]["session"].as_str().unwrap().to_owned()
}

fn note(env: &TestEnv) -> String {
    fs::read_to_string(env.work().join("note.txt")).unwrap()
}

/// The finding of the trial: in a directory without a session of its own, a server shows nothing of
/// the sessions of another directory, and writes no file there. With `--all-projects` an operator
/// sees them, and no file outside of the grants is written all the same.
#[test]
fn undo_writes_no_file_outside_of_the_grants() {
    let [env, elsewhere] = [TestEnv::new(), TestEnv::new()];
    env.configure(WRITES);
    let session = change(&env);
    let model = ChatServer::start(Vec::new());
    let viewer = create_seeing(&env, "eve", "viewer", &[]);
    let undo = |server: &ApiServer| server.post(&format!("/sessions/{session}/undo"), &json!({}));
    let beside = start_beside(&env, &elsewhere, &model, &[]);
    for token in [&viewer, TOKEN] {
        assert_eq!(listed(&beside, token), BTreeSet::new());
    }
    assert_eq!(undo(&beside).problem(), (404, "not-found".to_owned()));
    let all = start_beside(&env, &elsewhere, &model, &["--all-projects"]);
    assert_eq!(listed(&all, &viewer), BTreeSet::new());
    assert_eq!(listed(&all, TOKEN), BTreeSet::from([session.clone()]));
    let outside = (403, "outside-grants".to_owned());
    assert_eq!(undo(&all).problem(), outside);
    // The same project, and a configuration that grants less.
    env.configure(WRITES.replace("read-write", "read-only"));
    let less = ApiServer::start(&env, &model, &[]);
    assert_eq!(undo(&less).problem(), outside);
    assert_eq!(less.end().code, Some(0));
    assert_eq!(note(&env), "two");
    env.configure(WRITES);
    let granted = ApiServer::start(&env, &model, &[]);
    assert_eq!(undo(&granted).status, 200);
    assert_eq!(note(&env), "one");
}

/// Servers of two projects on one state directory, each of which has the sessions of its own: also
/// a token of both. An operator with `--all-projects` has all, and copies stay in their project.
#[test]
fn servers_of_two_projects_share_a_state_directory() {
    let [env, project] = [TestEnv::new(), TestEnv::new()];
    let model = ChatServer::start((0..2).map(|_| Answer::text("Found.")).collect());
    let one = ApiServer::start(&env, &model, &[]);
    let other = start_beside(&env, &project, &model, &["--all-projects"]);
    let ci = create_seeing(&env, "ci", "user", &[]);
    let here = KnownSession::begin(&one, &ci).session;
    let there = KnownSession::begin(&other, &ci).session;
    assert_eq!(listed(&one, &ci), BTreeSet::from([here.clone()]));
    assert_eq!(listed(&other, &ci), BTreeSet::from([there.clone()]));
    let operator = create_seeing(&env, "an-operator", "operator", &["--sessions", "own"]);
    assert_eq!(listed(&other, &operator), BTreeSet::new());
    let copy = fork(&other, TOKEN, &here);
    assert_eq!(
        listed(&one, TOKEN),
        BTreeSet::from([here.clone(), copy.clone()])
    );
    assert_eq!(listed(&other, TOKEN), BTreeSet::from([here, there, copy]));
}

/// The projects of two hosts on one database, of which one ends in a run. The host of the other
/// project does not see the session or the host, and does not continue the run; one of the same
/// project does.
#[test]
fn host_of_another_project_continues_no_run() {
    let Some(url) = database() else { return };
    let [env, project] = [TestEnv::new(), TestEnv::new()].map(|env| {
        env.write("database", &url);
        // The other one has the same grants.
        env.configure(
            "[store]\nurl = \"file:database\"\n[[grants.dir]]\nhost = \"/usr/share\"\nmode = \"read-only\"\n",
        );
        env
    });
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let model = ChatServer::watched(vec![Answer::text("Lost."), Answer::text("Done.")], {
        move |point| {
            if point == 0 {
                asked.send(()).unwrap();
                is_released.recv().unwrap();
            }
        }
    });
    let first = ApiServer::start(&env, &model, &[]);
    let session = first.create("go");
    is_asked.recv().unwrap();
    first.running.signal(Signal::KILL);
    release.send(()).unwrap();
    let ended = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    let ended = Command::new("psql")
        .args(["-d", &url, "-c", ended])
        .output();
    assert!(ended.unwrap().status.success());
    let other_model = ChatServer::start(vec![Answer::text("Taken.")]);
    let other = ApiServer::start(&project, &other_model, &[]);
    let hidden = other.get(&format!("/sessions/{session}"));
    assert_eq!(hidden.problem(), (404, "not-found".to_owned()));
    assert_eq!(listed(&other, TOKEN), BTreeSet::new());
    let waiting = |server: &ApiServer| {
        let metrics = server.raw(TOKEN, "GET /metrics", "", None).body;
        let mut lines = metrics.lines();
        let line = lines.find_map(|line| line.strip_prefix("agent_host_waiting_runs "));
        line.unwrap().to_owned()
    };
    assert_eq!(waiting(&other), "0");
    let second = ApiServer::start(&env, &model, &[]);
    let mut events = second.events(&session, None);
    let last = events.until("turn-ended").pop().unwrap().data;
    assert_eq!(last["event"]["outcome"]["type"], "done", "{last}");
    let own = |server: &ApiServer| {
        let hosts = server.get("/hosts").json();
        let hosts = hosts["hosts"].as_array().unwrap().iter();
        let project = |host: &Value| host["parts"]["project"].clone();
        hosts.map(project).collect::<Vec<_>>()
    };
    for host in own(&other) {
        assert!(!own(&second).contains(&host), "{host}");
    }
    assert_eq!(other_model.requests().len(), 0);
    let mine = KnownSession::begin(&other, TOKEN);
    assert_eq!(listed(&other, TOKEN), BTreeSet::from([mine.session]));
    assert_eq!(listed(&second, TOKEN), BTreeSet::from([session]));
}
