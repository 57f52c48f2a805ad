//! Hosts of one database share their schedules: each instant fires on one of them, and what one
//! began another completes.

use super::{change_firing, inputs, last, model, past};
use agent_host_journal::{Firing, FiringState, JournalStore as _, PostgresOptions, PostgresStore};
use agent_host_test_support::{TestEnv, api::ApiServer, postgres::database};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    thread,
};

/// A host whose sessions are in a database, with these schedules.
fn host(url: &str, toml: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("database", url);
    env.configure(format!("[store]\nurl = \"file:database\"\n{toml}"));
    env
}

/// Runs a statement, and returns what it printed.
fn sql(url: &str, statement: &str) -> String {
    let ran = Command::new("psql")
        .args(["-d", url, "-qtA", "-c", statement])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// Holds a lock on a table until it is dropped.
struct TableLock(Child);

impl TableLock {
    fn take(url: &str, table: &str) -> Self {
        let mut child = Command::new("psql")
            .args(["-d", url, "-qtA"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.as_ref().unwrap();
        writeln!(input, "BEGIN; LOCK TABLE {table}; SELECT 'locked';").unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.as_mut().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "locked");
        Self(child)
    }
}

impl Drop for TableLock {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Two hosts begin at once with the same schedules, all of them missed, and one of each its own.
#[test]
fn instant_fires_on_one_of_two_hosts() {
    let Some(url) = database() else { return };
    let shared: String = (0..6).map(|n| past(&format!("shared-{n}"))).collect();
    let env = host(&url, "");
    let files = ["one", "other"].map(|own| {
        let store = "[store]\nurl = \"file:database\"\n";
        let file = env.write(
            &format!("{own}.toml"),
            format!("{store}{shared}{}", past(own)),
        );
        file.display().to_string()
    });
    let (model, is_asked) = model(16);
    let servers: Vec<ApiServer> = thread::scope(|scope| {
        let starting = files.each_ref().map(|file| {
            let (env, model) = (&env, &model);
            scope.spawn(move || ApiServer::start(env, model, &["--config", file]))
        });
        starting.map(|server| server.join().unwrap()).into()
    });
    for _ in 0..8 {
        is_asked.recv().unwrap();
    }
    // Each host looked at all of them before its own last one.
    for server in &servers {
        let last = last(server);
        assert_eq!(last.len(), 7);
        for (_, session) in last {
            assert_eq!(inputs(server, &session).len(), 1);
        }
    }
    for server in servers {
        assert_eq!(server.end().code, Some(0));
    }
    assert_eq!(model.requests().len(), 8);
    let rows = "SELECT count(*), count(DISTINCT session), min(state), max(state) FROM firings";
    assert_eq!(sql(&url, rows), "8|8|started|started");
    assert_eq!(sql(&url, "SELECT count(*) FROM sessions"), "8");
}

/// A host is killed between the record of a firing and its session. Another one completes it, once,
/// although its own clock says the same instant.
#[tokio::test(flavor = "multi_thread")]
async fn firing_of_a_killed_host_is_completed_once() {
    let Some(url) = database() else { return };
    let schedule = past("s");
    let [one, other] = [host(&url, &schedule), host(&url, &schedule)];
    // Makes the tables.
    assert_eq!(one.run(&["sessions", "list"]).code, Some(0));
    let (model, is_asked) = model(2);
    let lock = TableLock::take(&url, "leases");
    let first = ApiServer::start(&one, &model, &[]);
    let waiting = "SELECT count(*) FROM firings WHERE state = 'waiting'";
    while sql(&url, waiting) != "1" {}
    first.running.signal(Signal::KILL);
    assert_eq!(first.running.end().code, None);
    drop(lock);
    assert_eq!(sql(&url, "SELECT count(*) FROM sessions"), "0");
    assert_eq!(model.requests().len(), 0);
    // As time does: the killed host had it for 60 s.
    let store = PostgresStore::open(&url, PostgresOptions::default());
    let store = store.await.unwrap();
    let trigger = sql(&url, "SELECT trigger_name FROM firings");
    let triggers = vec![trigger.clone()];
    let taken = store.take_firings(triggers, u64::MAX >> 1, 0).await;
    assert_eq!(taken.unwrap().len(), 1);
    let second = ApiServer::start_elsewhere(&one, &other, &model);
    is_asked.recv().unwrap();
    let [(_, session)] = last(&second).try_into().unwrap();
    let expected = [("schedule s".to_owned(), "run s".to_owned())];
    assert_eq!(inputs(&second, &session), expected);
    // As a host leaves it that is killed behind the message, before that is recorded.
    let started = "SELECT count(*) FROM firings WHERE state = 'started' AND due_ms IS NULL";
    while sql(&url, started) != "1" {}
    let is_closed =
        |firing: &Firing| firing.state == FiringState::Started && firing.due_ms.is_none();
    let reopen = |firing| Firing {
        state: FiringState::Waiting,
        message: Some("run s".to_owned()),
        due_ms: Some(0),
        ..firing
    };
    change_firing(&store, &trigger, is_closed, reopen).await;
    let third = ApiServer::start(&one, &model, &[]);
    while sql(&url, started) != "1" {}
    for server in [second, third] {
        assert_eq!(inputs(&server, &session), expected);
        assert_eq!(server.end().code, Some(0));
    }
    assert_eq!(model.requests().len(), 1);
    assert_eq!(sql(&url, "SELECT count(*) FROM sessions"), "1");
}
