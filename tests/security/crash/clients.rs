//! Tests `agent-host mcp` with a journal that is not writable for a while: a full disk, or a
//! database that another process has locked. The client gets the outcome of its call, and the next
//! call runs normally, over both transports and in both lifecycles.

use super::{
    counter::Counter,
    held::held,
    play::Play,
    running::{configured, run},
};
use agent_host_test_support::{
    Ran, TestEnv,
    mcp_client::{Client, call, error, initialize, stateless},
    mcp_http::Server,
    of_kind, program,
};
use pretty_assertions::assert_eq;
use rusqlite::Connection;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Command, thread};

const TOKEN: &str = "a-token-that-only-this-test-knows";

const NOT_RUN: &str = "the call did not run: the server cannot use its journal now; call again later, or ask the \
    server's operator to check the log";

const NOT_STORED: &str = "the call ran, but its result cannot be returned: the server cannot write its journal now; \
    it may have taken effect, so check before you call again, or ask the server's operator to check the log";

/// Starts a program that gets an error, not a fatal signal, at its bound on file sizes.
const HEEDING_BOUNDS: &str = r#"trap "" XFSZ; exec "$0" "$@""#;

/// The transport and lifecycle of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Stdio,
    StatelessStdio,
    Http,
    StatelessHttp,
}

const WAYS: [Way; 4] = [
    Way::Stdio,
    Way::StatelessStdio,
    Way::Http,
    Way::StatelessHttp,
];

enum Wire {
    Stdio(Client),
    Http { server: Server, fields: String },
}

/// A client, and the server that it has started.
struct Caller {
    wire: Wire,
    is_stateless: bool,
    /// The argument of the counted tools.
    to: String,
}

impl Caller {
    fn start(env: &TestEnv, way: Way, counter: &Counter) -> Self {
        let mut args = vec!["mcp", "--config", "agent.toml"];
        let is_http = matches!(way, Way::Http | Way::StatelessHttp);
        if is_http {
            args.extend(["--http", "127.0.0.1:0"]);
        }
        let mut command = Command::new("sh");
        command
            .args(["-c", HEEDING_BOUNDS])
            .arg(program())
            .args(args);
        env.prepare(&mut command).env("AGENT_HOST_MCP_TOKEN", TOKEN);
        let wire = match way {
            Way::Stdio => Wire::Stdio(Client::of(&mut command).initialized(json!({}))),
            Way::StatelessStdio => Wire::Stdio(Client::of(&mut command)),
            Way::Http => {
                let server = Server::of(&mut command);
                let begun = server.post_with(TOKEN, "", &initialize("2025-11-25", json!({})));
                let fields = format!("Mcp-Session-Id: {}\r\n", begun.session.unwrap());
                Wire::Http { server, fields }
            }
            Way::StatelessHttp => Wire::Http {
                server: Server::of(&mut command),
                fields: "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n".to_owned(),
            },
        };
        Self {
            wire,
            is_stateless: matches!(way, Way::StatelessStdio | Way::StatelessHttp),
            to: format!("127.0.0.1:{}", counter.port),
        }
    }

    /// The answer to a call of a tool.
    fn call(&mut self, tool: &str) -> Value {
        let mut request = call(1, tool, json!({ "to": self.to }));
        if self.is_stateless {
            request = stateless(request);
        }
        match &mut self.wire {
            Wire::Stdio(client) => client.ask(request),
            Wire::Http { server, fields } => {
                let name = format!("{fields}Mcp-Name: {tool}\r\n");
                let fields = if self.is_stateless { &name } else { fields };
                let answer = server.post_with(TOKEN, fields, &request);
                serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"))
            }
        }
    }

    /// Calls a tool whose result is its own name.
    fn succeeds(&mut self, tool: &str) {
        let answer = self.call(tool);
        assert_eq!(answer["result"]["content"][0]["text"], tool, "{answer}");
    }

    fn fails(&mut self, tool: &str, message: &str) {
        assert_eq!(self.call(tool), error(1, -32603, message));
    }

    fn pid(&self) -> Pid {
        let pid = match &self.wire {
            Wire::Stdio(client) => client.running.pid(),
            Wire::Http { server, .. } => server.running.pid(),
        };
        Pid::from_raw(pid.cast_signed()).unwrap()
    }

    fn end(self) -> Ran {
        match self.wire {
            Wire::Stdio(client) => client.close(),
            Wire::Http { server, .. } => {
                server.running.signal(Signal::TERM);
                server.running.end()
            }
        }
    }
}

fn state(env: &TestEnv, file: &str) -> PathBuf {
    env.outside().join("state").join(file)
}

/// A full disk for the program until it is dropped: no file may grow longer than the journal's log
/// is now.
struct FullDisk {
    program: Pid,
    before: Rlimit,
}

impl FullDisk {
    fn of(program: Pid, env: &TestEnv) -> Self {
        let log = fs::metadata(state(env, "agent-host.db-wal")).unwrap();
        let bound = Rlimit {
            current: Some(log.len()),
            maximum: None,
        };
        let before = prlimit(Some(program), Resource::Fsize, bound).unwrap();
        Self { program, before }
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        prlimit(Some(self.program), Resource::Fsize, self.before).unwrap();
    }
}

/// Writes `agent.toml` and the tools; the server waits for a locked database as long as there.
fn write_files(env: &TestEnv, port: u16) {
    Play::batch(&[]).write_files(env, port);
    let file = env.work().join("agent.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("{config}\n[session]\nlock-timeout-ms = 50\n")).unwrap();
}

/// The results of all sessions' calls, and the number without an end.
fn settled(env: &TestEnv) -> (Vec<String>, usize) {
    let listed = run(env, &["sessions", "list", "--json"]);
    let (mut results, mut open) = (Vec::new(), 0);
    for row in listed.json_lines() {
        let session = row["session"].as_str().unwrap();
        let shown = run(env, &["sessions", "show", session, "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let events = shown.json_lines();
        let settled = of_kind(&events, "call-settled");
        open += of_kind(&events, "call-intended").len() - settled.len();
        results.extend(settled.iter().map(|event| {
            let value = &event["output"]["value"];
            value
                .get("code")
                .unwrap_or(value)
                .as_str()
                .unwrap()
                .to_owned()
        }));
    }
    (results, open)
}

fn sum(counter: &Counter) -> usize {
    counter.take().values().sum()
}

#[test]
fn mcp_calls_resume_after_full_disk() {
    for way in WAYS {
        // The service blocks on the third call that arrives.
        let (service, arrived) = held(2);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        write_files(&env, counter.port);
        let mut caller = Caller::start(&env, way, &counter);
        let pid = caller.pid();
        caller.succeeds("act");

        // The intention cannot be written: the call does not run.
        let full = FullDisk::of(pid, &env);
        caller.fails("act", NOT_RUN);
        caller.fails("look", NOT_RUN);
        drop(full);
        caller.succeeds("act");

        // The result cannot be written: the call ran.
        thread::scope(|scope| {
            let failing = scope.spawn(|| caller.fails("act", NOT_STORED));
            service.wait();
            let full = FullDisk::of(pid, &env);
            drop(service);
            failing.join().unwrap();
            drop(full);
        });
        caller.succeeds("look");

        // While the records of a read-only call, which no barrier waits for, are written.
        let full = FullDisk::of(pid, &env);
        caller.succeeds("look");
        caller.fails("put", NOT_RUN);
        drop(full);
        caller.succeeds("put");

        let ended = caller.end();
        assert_eq!(ended.code, Some(0), "{way:?}: {ended:?}");
        assert!(
            ended
                .stderr
                .contains("a call did not run: cannot write the journal"),
            "{ended:?}"
        );
        let expected = [
            "act",
            "tool-unavailable",
            "act",
            "act",
            "look",
            "look",
            "tool-unavailable",
            "put",
        ];
        assert_eq!(
            settled(&env),
            (expected.map(str::to_owned).into(), 0),
            "{way:?}"
        );
        assert_eq!(sum(&counter), 6, "{way:?}");
    }
}

#[test]
fn mcp_calls_resume_after_locked_database() {
    for way in WAYS {
        let counter = Counter::start();
        let env = TestEnv::new();
        write_files(&env, counter.port);
        let mut caller = Caller::start(&env, way, &counter);
        caller.succeeds("act");
        let backup = Connection::open(state(&env, "agent-host.db")).unwrap();
        backup.execute_batch("BEGIN IMMEDIATE").unwrap();
        caller.fails("act", NOT_RUN);
        caller.fails("look", NOT_RUN);
        backup.execute_batch("ROLLBACK").unwrap();
        caller.succeeds("look");
        caller.succeeds("act");
        assert_eq!(caller.end().code, Some(0), "{way:?}");
        let expected = ["act", "tool-unavailable", "look", "act"];
        assert_eq!(
            settled(&env),
            (expected.map(str::to_owned).into(), 0),
            "{way:?}"
        );
        assert_eq!(sum(&counter), 3, "{way:?}");
    }
}

/// A missing state directory stops the next effect, since its intention could not be found later.
#[test]
fn vanished_state_directory_stops_the_next_effect() {
    let counter = Counter::start();
    let env = TestEnv::new();
    write_files(&env, counter.port);
    let mut caller = Caller::start(&env, Way::Stdio, &counter);
    caller.succeeds("act");
    let away = env.outside().join("away");
    fs::rename(state(&env, ""), &away).unwrap();
    caller.fails("act", NOT_RUN);
    fs::rename(&away, state(&env, "")).unwrap();
    caller.succeeds("act");
    fs::remove_dir_all(state(&env, "")).unwrap();
    caller.fails("act", NOT_RUN);
    caller.end();
    assert_eq!(sum(&counter), 2);

    // In a run, the second of two calls does not run either.
    let (service, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["act", "act"]).write_files(&env, counter.port);
    let running = agent_host_test_support::running::Running::start_without_input(&mut configured(
        &env,
        &["run", "go"],
    ));
    service.wait();
    fs::remove_dir_all(state(&env, "")).unwrap();
    drop(service);
    let ended = running.end();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(1), ""),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("was removed or replaced while this program had it open"),
        "{ended:?}"
    );
    assert_eq!(sum(&counter), 1);
}

/// Many calls with a small size bound: the journal stays near it, the newest calls are present, and
/// each effect is kept or dropped as a whole.
#[test]
fn mcp_journal_stays_within_its_bound() {
    let counter = Counter::start();
    let env = TestEnv::new();
    write_files(&env, counter.port);
    let file = env.work().join("agent.toml");
    let config = fs::read_to_string(&file).unwrap();
    let bounded = config.replace(
        "[session]",
        "[session]\nkeep = { days = 0, bytes = 1048576 }",
    );
    fs::write(file, bounded).unwrap();
    let mut caller = Caller::start(&env, Way::Stdio, &counter);
    let mut largest = 0;
    for _ in 0..4_000 {
        caller.succeeds("look");
        largest = largest.max(fs::metadata(state(&env, "agent-host.db")).unwrap().len());
    }
    assert_eq!(caller.end().code, Some(0));
    // The session in use stays, and what is free goes back to the disk between two writes: a busy
    // disk has seen 2.3 MiB. Unbounded, it would be more than 10.
    assert!(largest <= 3 * 1024 * 1024, "{largest} bytes");
    let (results, open) = settled(&env);
    assert_eq!(open, 0);
    assert!(results.iter().all(|result| result == "look"));
    assert!(
        (50..4_000).contains(&results.len()),
        "{} calls",
        results.len()
    );
    let sessions = run(&env, &["sessions", "list", "--json"]).json_lines();
    assert!(sessions.len() > 1, "{} sessions", sessions.len());
}
