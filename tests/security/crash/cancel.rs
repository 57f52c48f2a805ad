//! Tests Ctrl-C, and the second SIGTERM of a run, which does the same: it settles running calls and
//! ends the turn, and the next signal ends the process at once.

use super::{
    counter::{Counter, Hit},
    drain::DRAINS,
    held::held,
    play::Play,
    running::{asking, configured, is_done, journaled, resumes, run},
};
use agent_host_test_guests::{Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    of_kind, program,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::Command};

const READ: &str = "The call was stopped before it ended.";
const CHANGED: &str = "The call was stopped before it ended. Whether it took effect is not known.";
const NOT_BEGUN: &str = "The run was stopped before this call began.";

/// Starts the program on a play.
fn playing(env: &TestEnv) -> Running {
    Running::start_without_input(&mut configured(
        env,
        &["run", "--output-format", "stream-json", "go"],
    ))
}

/// Cancels a run: by Ctrl-C, or by the second SIGTERM.
fn cancel(running: &mut Running, signal: Signal) {
    running.signal(signal);
    if signal == Signal::TERM {
        running.stderr.until(DRAINS);
        running.signal(signal);
    }
}

fn is_stopped(ran: &Ran) {
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(
        ran.stderr.contains("Stopped. The session is kept"),
        "{ran:?}"
    );
}

/// The results of all calls in order: text, or code and message of a failure.
fn results(events: &[Value]) -> Vec<Value> {
    let settled = of_kind(events, "call-settled");
    settled
        .iter()
        .map(|event| event["output"]["value"].clone())
        .collect()
}

fn cancelled(message: &str) -> Value {
    json!({ "code": "cancelled", "message": message })
}

/// The end of the first turn: its type, the calls of its summary, and the model's stop reason.
fn first_end(events: &[Value]) -> Value {
    let ended = of_kind(events, "turn-ended");
    let outcome = &ended[0]["outcome"];
    let summary = &outcome["summary"];
    json!([
        outcome["type"],
        summary["tool_calls"],
        summary["stop_reason"]
    ])
}

fn sum(hits: &BTreeMap<Hit, usize>, path: &str) -> usize {
    let own = hits.iter().filter(|((hit, _), _)| hit == path);
    own.map(|(_, count)| count).sum()
}

/// Every call of the batch is answered once, whether it ran or was still queued. None runs again
/// afterwards.
#[test]
fn signal_stops_running_calls_and_answers_all() {
    // The calls of the batch, the number that run concurrently, and the result of each.
    let table: [(&[&str], usize, &[&str]); 3] = [
        (
            &["look", "look", "look", "act"],
            3,
            &[READ, READ, READ, NOT_BEGUN],
        ),
        (&["act", "look"], 1, &[CHANGED, NOT_BEGUN]),
        (&["put"], 1, &[CHANGED]),
    ];
    for (tools, at_once, expected) in table {
        for signal in [Signal::INT, Signal::TERM] {
            let (calls, arrived) = held(at_once - 1);
            let counter = Counter::gathering(at_once, arrived);
            let env = TestEnv::new();
            Play::batch(tools).write_files(&env, counter.port);
            let mut running = playing(&env);
            calls.wait();
            cancel(&mut running, signal);
            is_stopped(&running.end());
            drop(calls);

            let events = journaled(&env);
            let expected: Vec<Value> = expected.iter().copied().map(cancelled).collect();
            assert_eq!(results(&events), expected, "{tools:?} {signal:?}");
            // Calls that ran report their audit up to that moment.
            for event in &of_kind(&events, "call-settled")[..at_once] {
                let (used, audit) = (&event["accounting"], &event["audit"]);
                assert_eq!(used["hosts"], json!(["127.0.0.1"]), "{event}");
                assert_eq!(audit[0]["verdict"], "allowed", "{event}");
            }
            assert_eq!(
                first_end(&events),
                json!(["cancelled", tools.len(), "tool-use"])
            );
            resumes(&env);
            let intended = |events: &[Value]| of_kind(events, "call-intended").len();
            assert_eq!(intended(&journaled(&env)), intended(&events));
            let hits = counter.take();
            let most = usize::from(tools[0] == "act");
            assert_eq!(sum(&hits, "/act"), most, "{tools:?} {signal:?}: {hits:?}");
        }
    }
}

/// A guest that computes or sleeps forever cannot delay the end of the turn.
#[test]
fn signal_stops_endless_guests() {
    for text in [
        include_str!("../../guests/hostile/loop.wat"),
        include_str!("../../guests/hostile/sleep.wat"),
    ] {
        let guest = Guest {
            core: text,
            definitions: vec![Definition {
                effect: 2,
                ..Definition::default()
            }],
            ..Guest::default()
        };
        let env = TestEnv::new();
        env.write("endless.wasm", guest.bytes());
        env.write(
            "script.toml",
            "[[turn]]\n[[turn.call]]\ntool = \"echo\"\ninput = {}\n[[turn]]\ntext = \"That is all.\"\n",
        );
        env.write(
            "agent.toml",
            "model = \"script:script.toml\"\n[[tool]]\nname = \"endless\"\ncomponent = \"endless.wasm\"\napproval = \"never\"\n",
        );
        let mut running = playing(&env);
        running.stdout.until("\"call-intended\"");
        running.signal(Signal::INT);
        is_stopped(&running.end());
        let events = journaled(&env);
        let codes: Vec<Value> = results(&events)
            .iter()
            .map(|result| result["code"].clone())
            .collect();
        assert_eq!(codes, ["cancelled"]);
        resumes(&env);
    }
}

/// Before the model's answer and in the middle of it: nothing of it is kept, and the model is asked
/// again.
#[test]
fn signal_does_not_wait_for_the_model() {
    for point in [0, 1] {
        let (answer, reached) = held(point);
        let text = || Answer::text("That is all.");
        let server = ChatServer::watched(vec![text(), text()], reached);
        let env = TestEnv::new();
        env.write("agent.toml", "");
        let mut running = Running::start_without_input(&mut asking(
            &env,
            &server,
            &["--output-format", "stream-json", "go"],
        ));
        answer.wait();
        if point == 1 {
            running.stdout.until("\"live\":\"text\"");
        }
        cancel(&mut running, Signal::TERM);
        is_stopped(&running.end());
        drop(answer);
        let events = journaled(&env);
        assert_eq!(of_kind(&events, "model-replied").len(), 0);
        assert_eq!(first_end(&events), json!(["cancelled", 0, null]));
        let mut again = asking(&env, &server, &["--resume", "latest"]);
        is_done(&again.output().unwrap().into());
    }
}

/// Ctrl-C at a prompt decides nothing: the request stays open, and a later run asks again. The same
/// holds while the program waits for the user's next message.
#[test]
fn signal_leaves_prompt_undecided() {
    const CTRL_C: &str = "\u{3}";
    let call = ("write_file", json!({ "path": "note.txt", "content": "x" }));
    let server = ChatServer::start(vec![Answer::calls(&[call]), Answer::text("That is all.")]);
    let env = TestEnv::new();
    env.write("agent.toml", "");
    let exe = program();
    let at_the_terminal = |args: &str, prompts: &[&str]| {
        let line = format!("{exe} run --config agent.toml --write --model openai-compat:m {args}");
        let mut script = Command::new("script");
        env.prepare(script.args(["-qec", &line, "/dev/null"]));
        let mut running = Running::start(script.env("OPENAI_COMPAT_BASE_URL", &server.base_url));
        for prompt in prompts {
            running.stdout.until(prompt);
            running.types(CTRL_C);
        }
        let ran = running.end();
        assert_eq!(ran.code, Some(130), "{ran:?}");
    };
    let asks = "Allow write_file?";
    // A conversation continues, and ends at the second Ctrl-C.
    for (args, prompts) in [
        ("go", &[asks] as &[&str]),
        ("--resume latest", &[asks, "Type /retry to try again."]),
    ] {
        at_the_terminal(args, prompts);
        let events = journaled(&env);
        let count = |kind| of_kind(&events, kind).len();
        assert_eq!(
            [count("approval-requested"), count("decision-recorded")],
            [1, 0]
        );
    }
    let decided = [
        "--write",
        "--resume",
        "latest",
        "--decide",
        "call_0=approve",
    ];
    is_done(&asking(&env, &server, &decided).output().unwrap().into());
    assert!(env.work().join("note.txt").exists());
    let prompts = ["What should the agent do?", "Press Ctrl-C again"];
    at_the_terminal("--resume latest", &prompts);
}

/// While the host opens, here slowed by a command that returns the model's key, nothing has begun
/// and nothing is left behind.
#[test]
fn signal_during_opening_exits_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            "model = \"openai-compat:m\"\n[openai-compat]\nbase-url = \"http://127.0.0.1:9/v1\"\n\
             api-key = \"cmd:echo the command runs >&2; exec sleep 600\"\n",
        );
        let mut running = Running::start_without_input(&mut configured(&env, &["run", "go"]));
        running.stderr.until("the command runs");
        running.signal(signal);
        let ran = running.end();
        assert_eq!(
            (ran.code, ran.stderr.lines().last()),
            (Some(130), Some("Stopped before anything ran.")),
            "{signal:?}"
        );
        assert_eq!(run(&env, &["sessions", "list", "--json"]).stdout, "");
    }
}

/// Outside a turn there is nothing to settle: the exit code is the same.
#[test]
fn signal_without_turn_exits_130() {
    // More than a pipe holds: once it is all written, the program is reading.
    let much = "x".repeat(128 * 1024);
    for signal in [Signal::INT, Signal::TERM] {
        for args in [
            &["run"] as &[&str],
            &["call", "builtin:files", "list_directory", "-"],
        ] {
            let env = TestEnv::new();
            env.write("agent.toml", "");
            let mut running = Running::start(&mut configured(&env, args));
            running.types(&much);
            running.signal(signal);
            let ran = running.end();
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (Some(130), ""),
                "{args:?} {signal:?}"
            );
        }
        let (call, arrived) = held(0);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        Play::batch(&["act"]).write_files(&env, counter.port);
        let to = json!({ "to": format!("127.0.0.1:{}", counter.port) }).to_string();
        let running = Running::start(&mut configured(&env, &["call", "count.wasm", "act", &to]));
        call.wait();
        running.signal(signal);
        assert_eq!(running.end().code, Some(130), "{signal:?}");
    }
}

/// Another program holds the journal's file, so that the barrier behind a stopped call waits. The
/// signal that cancels waits for the barrier. The next does not: the call has no result then, and
/// the next run settles it.
#[test]
fn cancel_waits_for_barrier_until_next_signal() {
    let unknown = "The host stopped while `act` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";
    let unknown = json!({ "code": "interrupted-unknown", "message": unknown });
    for (is_twice, expected) in [(false, cancelled(CHANGED)), (true, unknown)] {
        let (call, arrived) = held(0);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        Play::batch(&["act"]).write_files(&env, counter.port);
        let mut running = playing(&env);
        call.wait();
        let file = env.outside().join("state/agent-host.db");
        let other = rusqlite::Connection::open(file).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        cancel(&mut running, Signal::TERM);
        running.stderr.until("The call was stopped");
        if is_twice {
            running.signal(Signal::INT);
            let ran = running.end();
            assert_eq!(ran.code, Some(130), "{ran:?}");
            assert!(!ran.stderr.contains("Stopped"), "{ran:?}");
            drop(other);
            assert_eq!(results(&journaled(&env)), Vec::<Value>::new());
        } else {
            drop(other);
            is_stopped(&running.end());
        }
        drop(call);
        resumes(&env);
        assert_eq!(results(&journaled(&env)), [expected]);
        assert_eq!(sum(&counter.take(), "/act"), 1);
    }
}
