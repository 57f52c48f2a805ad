//! Ctrl-C and SIGTERM, sent to the program itself: the first settles what runs and ends the turn, the second ends at once.

use super::{
    counter::{Counter, Hit},
    held::held,
    play::Play,
    running::{asking, goes_on, is_done, journaled, program, run},
};
use crate::support::{
    Place, Ran,
    chat::{Answer, ChatServer},
    of_kind,
    running::Running,
};
use agent_host_test_guests::{Definition, Guest};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::Command};

const READ: &str = "The call was stopped before it ended.";
const CHANGED: &str = "The call was stopped before it ended. Whether it took effect is not known.";
const NOT_BEGUN: &str = "The run was stopped before this call began.";

/// The program that begins to play.
fn playing(place: &Place) -> Running {
    Running::start(&mut program(
        place,
        &["run", "--output-format", "stream-json", "go"],
    ))
}

fn is_stopped(ran: &Ran) {
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(
        ran.stderr.contains("Stopped. The session is kept"),
        "{ran:?}"
    );
}

/// The results of all calls, in their order: their text, or code and message of a failure.
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

/// How the first turn ended: its type, the calls of its summary, and why the model had stopped.
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

/// Every call of the batch is answered once: those that ran, and those whose turn had not come. Nothing runs again afterwards.
#[test]
fn running_calls_are_stopped_and_every_call_is_answered() {
    // The calls of the batch, how many of them run at once, and what each comes to.
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
            let place = Place::new();
            Play::batch(tools).lay_out(&place, counter.port);
            let running = playing(&place);
            calls.wait();
            running.signal(signal);
            is_stopped(&running.end());
            drop(calls);

            let events = journaled(&place);
            let expected: Vec<Value> = expected.iter().copied().map(cancelled).collect();
            assert_eq!(results(&events), expected, "{tools:?} {signal:?}");
            // Those that ran have told what they did until then.
            for event in &of_kind(&events, "call-settled")[..at_once] {
                let (used, audit) = (&event["accounting"], &event["audit"]);
                assert_eq!(used["hosts"], json!(["127.0.0.1"]), "{event}");
                assert_eq!(audit[0]["verdict"], "allowed", "{event}");
            }
            assert_eq!(
                first_end(&events),
                json!(["cancelled", tools.len(), "tool-use"])
            );
            goes_on(&place);
            let intended = |events: &[Value]| of_kind(events, "call-intended").len();
            assert_eq!(intended(&journaled(&place)), intended(&events));
            let hits = counter.take();
            let most = usize::from(tools[0] == "act");
            assert_eq!(sum(&hits, "/act"), most, "{tools:?} {signal:?}: {hits:?}");
        }
    }
}

/// A guest that computes or sleeps without end cannot hold up the end of the turn.
#[test]
fn guests_without_end_are_stopped() {
    for text in [
        include_str!("../guests/hostile/loop.wat"),
        include_str!("../guests/hostile/sleep.wat"),
    ] {
        let guest = Guest {
            core: text,
            definitions: vec![Definition {
                effect: 2,
                ..Definition::default()
            }],
            ..Guest::default()
        };
        let place = Place::new();
        place.write("endless.wasm", guest.bytes());
        place.write(
            "script.toml",
            "[[turn]]\n[[turn.call]]\ntool = \"echo\"\ninput = {}\n[[turn]]\ntext = \"That is all.\"\n",
        );
        place.write(
            "agent.toml",
            "model = \"script:script.toml\"\n[[tool]]\nname = \"endless\"\ncomponent = \"endless.wasm\"\napproval = \"never\"\n",
        );
        let mut running = playing(&place);
        running.stdout.until("\"call-intended\"");
        running.signal(Signal::INT);
        is_stopped(&running.end());
        let events = journaled(&place);
        let codes: Vec<Value> = results(&events)
            .iter()
            .map(|result| result["code"].clone())
            .collect();
        assert_eq!(codes, ["cancelled"]);
        goes_on(&place);
    }
}

/// While the model has not begun to answer, and while half of its answer has come: nothing of it is kept, and it is asked again.
#[test]
fn the_model_is_not_waited_for() {
    for point in [0, 1] {
        let (answer, reached) = held(point);
        let text = || Answer::text("That is all.");
        let server = ChatServer::watched(vec![text(), text()], reached);
        let place = Place::new();
        place.write("agent.toml", "");
        let mut running = Running::start(&mut asking(
            &place,
            &server,
            &["--output-format", "stream-json", "go"],
        ));
        answer.wait();
        if point == 1 {
            running.stdout.until("\"live\":\"text\"");
        }
        running.signal(Signal::TERM);
        is_stopped(&running.end());
        drop(answer);
        let events = journaled(&place);
        assert_eq!(of_kind(&events, "model-replied").len(), 0);
        assert_eq!(first_end(&events), json!(["cancelled", 0, null]));
        let mut again = asking(&place, &server, &["--resume", "latest"]);
        is_done(&again.output().unwrap().into());
    }
}

/// Ctrl-C at a prompt decides nothing: the request stays open, and a later run asks again. So it is where the program waits for
/// the person's next words.
#[test]
fn a_prompt_is_left_undecided() {
    const CTRL_C: &str = "\u{3}";
    let call = ("write_file", json!({ "path": "note.txt", "content": "x" }));
    let server = ChatServer::start(vec![Answer::calls(&[call]), Answer::text("That is all.")]);
    let place = Place::new();
    place.write("agent.toml", "");
    let exe = env!("CARGO_BIN_EXE_agent-host");
    let at_the_terminal = |args: &str, prompt: &str| {
        let line = format!("{exe} run --config agent.toml --write --model openai-compat:m {args}");
        let mut script = Command::new("script");
        place.prepare(script.args(["-qec", &line, "/dev/null"]));
        let mut running = Running::start(script.env("OPENAI_COMPAT_BASE_URL", &server.base_url));
        running.stdout.until(prompt);
        running.types(CTRL_C);
        let ran = running.end();
        assert_eq!(ran.code, Some(130), "{ran:?}");
    };
    for args in ["go", "--resume latest"] {
        at_the_terminal(args, "Run write_file, which is effectful?");
        let events = journaled(&place);
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
    is_done(&asking(&place, &server, &decided).output().unwrap().into());
    assert!(place.work().join("note.txt").exists());
    at_the_terminal("--resume latest", "What do you want to know?");
}

/// Nothing has begun while the host opens, here because a command that knows the model server's key takes its time. Nothing is
/// left of it either.
#[test]
fn opening_is_not_waited_for() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        place.write(
            "agent.toml",
            "model = \"openai-compat:m\"\n[openai-compat]\nbase-url = \"http://127.0.0.1:9/v1\"\n\
             api-key = \"cmd:echo the command runs >&2; exec sleep 600\"\n",
        );
        let mut running = Running::start(&mut program(&place, &["run", "go"]));
        running.stderr.until("the command runs");
        running.signal(signal);
        let ran = running.end();
        assert_eq!(
            (ran.code, ran.stderr.lines().last()),
            (Some(130), Some("Stopped before anything ran.")),
            "{signal:?}"
        );
        assert_eq!(run(&place, &["sessions", "list", "--json"]).stdout, "");
    }
}

/// Before there is a turn, and in a command without one, there is nothing to end first: the code is the same.
#[test]
fn signals_without_a_turn_end_it_with_the_same_code() {
    // More than a pipe holds: once it is written, the program reads.
    let much = "x".repeat(128 * 1024);
    for signal in [Signal::INT, Signal::TERM] {
        for args in [
            &["run"] as &[&str],
            &["call", "builtin:files", "list_directory", "-"],
        ] {
            let place = Place::new();
            place.write("agent.toml", "");
            let mut running = Running::start(&mut program(&place, args));
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
        let place = Place::new();
        Play::batch(&["act"]).lay_out(&place, counter.port);
        let to = json!({ "to": format!("127.0.0.1:{}", counter.port) }).to_string();
        let running = Running::start(&mut program(&place, &["call", "count.wasm", "act", &to]));
        call.wait();
        running.signal(signal);
        assert_eq!(running.end().code, Some(130), "{signal:?}");
    }
}

/// Another program holds the journal's file, so that the barrier behind a stopped call waits. One signal waits for it. The second
/// does not: the call has no result then, and the next run settles it.
#[test]
fn a_barrier_is_waited_for_unless_a_second_signal_comes() {
    let unknown = "The host stopped while `act` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";
    let unknown = json!({ "code": "interrupted-unknown", "message": unknown });
    for (is_twice, expected) in [(false, cancelled(CHANGED)), (true, unknown)] {
        let (call, arrived) = held(0);
        let counter = Counter::watched(arrived);
        let place = Place::new();
        Play::batch(&["act"]).lay_out(&place, counter.port);
        let mut running = playing(&place);
        call.wait();
        let file = place.outside().join("state/agent-host.db");
        let other = rusqlite::Connection::open(file).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        running.signal(Signal::TERM);
        running.stderr.until("cancelled");
        if is_twice {
            running.signal(Signal::INT);
            let ran = running.end();
            assert_eq!(ran.code, Some(130), "{ran:?}");
            assert!(!ran.stderr.contains("Stopped"), "{ran:?}");
            drop(other);
            assert_eq!(results(&journaled(&place)), Vec::<Value>::new());
        } else {
            drop(other);
            is_stopped(&running.end());
        }
        drop(call);
        goes_on(&place);
        assert_eq!(results(&journaled(&place)), [expected]);
        assert_eq!(sum(&counter.take(), "/act"), 1);
    }
}
