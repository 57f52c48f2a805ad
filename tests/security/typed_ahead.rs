//! Tests that input typed or pasted before a question, or with another answer, answers nothing. The
//! program runs on a pseudo-terminal, as it does for a user.

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::asking,
    chat::{Answer, ChatServer},
    of_kind,
    pictures::png,
    program,
    running::Running,
    terminal::{MARKER, at_a_terminal, at_a_terminal_with_cursor},
};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{process::Command, sync::mpsc::channel};

const RUN: &str = "run --write --model openai-compat:m 'write a note'";
const QUESTION: &str = "Allow write_file?";
/// Text that would approve, or keep a rule, if it reached a question.
const PASTES: [&str; 4] = ["y\n", "t\np\n", "\n\nyes\n", "\u{1b}[200~y\n\u{1b}[201~\n"];

fn writes(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "hello" }))
}

fn model(paths: &[&str]) -> Vec<Answer> {
    let calls: Vec<_> = paths.iter().map(|path| writes(path)).collect();
    vec![Answer::calls(&calls), Answer::text("That is all.")]
}

/// Types each line when the next prompt after a number of earlier ones accepts keys, and waits for
/// the end.
fn types(mut running: Running, before: usize, lines: &[&str]) -> Ran {
    for (prompts, line) in lines.iter().enumerate() {
        assert!(running.stdout.says(MARKER, before + prompts + 1));
        running.types(line);
    }
    running.end()
}

/// Nothing was approved, and nothing is remembered.
fn nothing_approved(env: &TestEnv, ran: &Ran, keys: &str) {
    assert_eq!(ran.code, Some(0), "{keys:?}: {ran:?}");
    assert!(!env.work().join("note.txt").exists(), "{keys:?}: {ran:?}");
    let events = env.events();
    let decided = of_kind(&events, "decision-recorded");
    assert_eq!(
        decided
            .iter()
            .map(|event| &event["decisions"])
            .collect::<Vec<_>>(),
        [&json!([{ "type": "reject", "call_id": "call_0" }])],
        "{keys:?}"
    );
    let kept = env.run(&["approvals", "list", "--json"]);
    assert_eq!((kept.code, kept.stdout.as_str()), (Some(0), ""), "{keys:?}");
}

/// A server whose first answer waits until the test has typed.
fn waiting(answers: Vec<Answer>) -> (ChatServer, impl Fn(&mut Running, &str)) {
    let (tell, arrived) = channel();
    let (release, released) = channel();
    let server = ChatServer::watched(answers, move |point| {
        if point == 0 {
            tell.send(()).unwrap();
            released.recv().unwrap();
        }
    });
    let types = move |running: &mut Running, keys: &str| {
        arrived.recv().unwrap();
        running.types(keys);
        // The terminal echoes its input.
        let last = keys.trim_end().rsplit(['\n', '\u{1b}']).next().unwrap();
        running.stdout.until(last);
        release.send(()).unwrap();
    };
    (server, types)
}

#[test]
fn keys_before_the_question_approve_nothing() {
    at_once(PASTES, |keys| {
        let env = TestEnv::new();
        let (server, types_ahead) = waiting(model(&["note.txt"]));
        let mut running = at_a_terminal(&env, &server, RUN);
        types_ahead(&mut running, keys);
        let ran = types(running, 0, &["n\n"]);
        nothing_approved(&env, &ran, keys);
    });
}

/// The answers of a terminal that is asked whether it draws pictures: too late, when the question
/// is open, or with a line that was typed before them.
#[test]
fn answers_of_the_terminal_approve_nothing() {
    let answers = "\u{1b}_Gi=31;OK\u{1b}\\\u{1b}P>|y\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62;4c";
    at_once([(false, ""), (true, "y\n")], |(is_early, keys)| {
        let env = TestEnv::new();
        env.write("grey.png", png(8, 8));
        let look = json!({ "path": "grey.png", "max_width": 8, "max_height": 8 });
        let server = ChatServer::start(vec![
            Answer::calls_with_ids(&[("look", ("image_thumbnail", look))]),
            Answer::calls(&[writes("note.txt")]),
            Answer::text("That is all."),
        ]);
        let mut running = at_a_terminal_with_cursor(&env, &server, RUN);
        running.stdout.until("\u{1b}[c");
        if is_early {
            running.types(&format!("{keys}{answers}"));
        }
        running.stdout.until(QUESTION);
        if !is_early {
            running.types(answers);
        }
        let ran = types(running, 0, &["n\n"]);
        nothing_approved(&env, &ran, keys);
        assert!(!ran.stdout.contains("31;OK"), "{ran:?}");
        assert_eq!(ran.stdout.contains("\u{1b}_Ga=T"), is_early, "{ran:?}");
    });
}

/// Keys and pastes from before the list of a batch select nothing in it and decide nothing.
#[test]
fn keys_before_the_list_select_and_decide_nothing() {
    at_once(
        ["a\ny\n", " \n", "n", "\u{1b}[200~a\ny\n\u{1b}[201~"],
        |keys| {
            let env = TestEnv::new();
            let (server, types_ahead) = waiting(model(&["note.txt", "b.txt"]));
            let mut running = at_a_terminal_with_cursor(&env, &server, RUN);
            types_ahead(&mut running, keys);
            running.stdout.until("[space] select");
            // Pasted into the list, they do nothing, either.
            running.types("\u{1b}[200~a\ry\r\u{1b}[201~");
            assert!(running.stdout.says("[space] select", 2));
            running.types("l");
            let ran = running.end();
            assert_eq!(ran.code, Some(3), "{keys:?}: {ran:?}");
            assert!(!ran.stdout.contains("[x]"), "{keys:?}: {ran:?}");
            let decided = of_kind(&env.events(), "decision-recorded").len();
            assert_eq!(decided, 0, "{keys:?}");
        },
    );
}

/// The question is on the screen, too briefly for a user to have read it.
#[test]
fn keys_right_after_the_question_approve_nothing() {
    let attempt = |keys: &str| {
        let env = TestEnv::new();
        let server = ChatServer::start(model(&["note.txt"]));
        let mut running = at_a_terminal(&env, &server, RUN);
        running.stdout.until(QUESTION);
        running.types(keys);
        if running.stdout.says(MARKER, 1) {
            running.types("n\n");
        }
        let ran = running.end();
        // On a busy machine the keys arrived late, as an answer.
        let is_late = ran.stdout.contains(&format!("{MARKER}{}", &keys[..1]));
        if !is_late {
            nothing_approved(&env, &ran, keys);
        }
        !is_late
    };
    for keys in ["y\n", "t\np\n"] {
        assert!((0..20).any(|_| attempt(keys)), "{keys:?} was an answer");
    }
}

/// A paste is refused as a whole, including an embedded end marker and the line break that follows
/// it.
#[test]
fn pasted_text_is_no_answer() {
    let cases = [
        "\u{1b}[200~y\r\u{1b}[201~",
        "\u{1b}[200~y\u{1b}[201~\n",
        "\u{1b}[200~n\u{15}y\n\u{1b}[201~",
        "\u{1b}[200~\u{1b}[201~y\n",
        "y\u{1b}[200~\n\u{1b}[201~\n",
    ];
    at_once(cases, |keys| {
        let env = TestEnv::new();
        let server = ChatServer::start(model(&["note.txt"]));
        let running = at_a_terminal(&env, &server, RUN);
        let ran = types(running, 0, &[keys, "n\n"]);
        let refused = "Pasted text is not accepted here. Please type it.";
        assert_eq!(ran.stdout.matches(refused).count(), 1, "{keys:?}: {ran:?}");
        nothing_approved(&env, &ran, keys);
    });
}

/// Keys that follow an answer at once do not answer a later question: not the next call's, not a
/// rule's.
#[test]
fn one_paste_answers_one_question() {
    let env = TestEnv::new();
    let server = ChatServer::start(model(&["a.txt", "b.txt"]));
    let running = at_a_terminal(&env, &server, RUN);
    let ran = types(running, 0, &["y\ny\n", "n\n"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = ["a.txt", "b.txt"].map(|name| env.work().join(name).exists());
    assert_eq!(written, [true, false]);

    let env = TestEnv::new();
    let server = ChatServer::start(model(&["note.txt"]));
    let running = at_a_terminal(&env, &server, RUN);
    let ran = types(running, 0, &["t\np\n", "q\ns\n", "q\n", "b\n", "n\n"]);
    nothing_approved(&env, &ran, "t, p, s");
}

#[test]
fn keys_before_tool_question_answer_nothing() {
    let (env, _) = asking();
    let answers = vec![
        Answer::calls(&[("echo", json!({}))]),
        Answer::text("That is all."),
    ];
    let (server, types_ahead) = waiting(answers);
    let mut running = at_a_terminal(&env, &server, "run --model openai-compat:m go");
    types_ahead(&mut running, "red\n");
    let ran = types(running, 0, &["blue\n"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results(), ["blue"]);
}

/// The typed line is not lost: the user's next line begins with it, and can be edited.
#[test]
fn typed_ahead_text_stays_with_the_composer() {
    let env = TestEnv::new();
    let mut answers = model(&["note.txt"]);
    answers.push(Answer::text("Yes."));
    let (server, types_ahead) = waiting(answers);
    let mut running =
        at_a_terminal_with_cursor(&env, &server, "run --write --model openai-compat:m");
    assert!(running.stdout.says(MARKER, 1));
    running.types("write a note\n");
    types_ahead(&mut running, "and then lst");
    let ran = types(running, 1, &["n\n", "\u{7f}\u{7f}ist them\n", "\u{4}"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = format!("{MARKER}and then lst");
    assert!(
        ran.stdout.contains(&shown),
        "no {shown:?} in {}",
        ran.stdout
    );
    let requests = server.requests();
    let last = requests[2]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last,
        &json!({ "role": "user", "content": "and then list them" })
    );
    assert!(!env.work().join("note.txt").exists());
}

/// Endless input is not a user's: the question stays open.
#[test]
fn flood_of_keys_decides_nothing() {
    let env = TestEnv::new();
    let server = ChatServer::start(model(&["note.txt"]));
    let command = format!("{} {RUN}; code=$?; touch ended; exit $code", program());
    let mut shell = Command::new("sh");
    // Not `yes`: `script` buffers in memory what it cannot pass on, and reads its input to the end.
    let flood = "while [ ! -e ended ]; do printf 'y\\n'; done | script -qec \"$0\" /dev/null";
    env.prepare(shell.args(["-c", flood, &command]));
    let ran = Running::start(shell.env("OPENAI_COMPAT_BASE_URL", &server.base_url)).end();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let said = "Input is arriving without a pause, so nothing was decided.";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(!env.work().join("note.txt").exists());
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
}

/// The call waits for a later run, whatever was typed after Ctrl-C.
#[test]
fn keys_after_an_interrupt_approve_nothing() {
    let env = TestEnv::new();
    let server = ChatServer::start(model(&["note.txt"]));
    let running = at_a_terminal(&env, &server, RUN);
    let ran = types(running, 0, &["\u{3}y\n"]);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(!env.work().join("note.txt").exists());
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
}

/// Each way to end a run at a prompt restores the terminal. With `asking` in `agent.toml` the
/// prompt is the one for trust, before the run begins.
#[test]
fn terminal_modes_are_restored() {
    let exe = program();
    let asking = "[[grants.http]]\nhost = \"127.0.0.1\"\n";
    let table: [(&str, &str, &str, Option<Signal>, &str); 11] = [
        ("", "", "n\n", None, "0"),
        ("", "", "l\n", None, "3"),
        ("", "", "\u{4}", None, "3"),
        ("", "", "\u{3}", None, "130"),
        ("", "--timeout 1", "", None, "124"),
        ("", "", "", Some(Signal::TERM), "130"),
        (asking, "", "n\n", None, "2"),
        (asking, "", "\u{4}", None, "2"),
        (asking, "", "\u{3}", None, "130"),
        (asking, "", "", Some(Signal::TERM), "130"),
        (asking, "", "", Some(Signal::INT), "130"),
    ];
    for (config, flags, keys, signal, code) in table {
        let env = TestEnv::new();
        env.write("agent.toml", config);
        let server = ChatServer::start(model(&["note.txt"]));
        let line = format!(
            "stty -a; sh -c 'echo $$ > pid; exec {exe} run --write {flags} --model openai-compat:m go'; echo \"ended: $?\"; stty -a"
        );
        let mut script = Command::new("script");
        // The Ctrl-C that ends the program does not end it.
        env.prepare(script.args(["-qec", &format!("trap : INT; {line}"), "/dev/null"]));
        let mut running = Running::start(script.env("OPENAI_COMPAT_BASE_URL", &server.base_url));
        assert!(running.stdout.says(MARKER, 1));
        running.types(keys);
        if let Some(signal) = signal {
            let pid = std::fs::read_to_string(env.work().join("pid")).unwrap();
            let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
            kill_process(pid, signal).unwrap();
        }
        let ran = running.end();
        let ended = format!("ended: {code}\r\n");
        assert!(
            ran.stdout.contains(&ended),
            "no {ended:?} in {}",
            ran.stdout
        );
        let modes = |text: &str| {
            let start = text.find("speed ").unwrap();
            text[start..]
                .split("rprnt")
                .nth(1)
                .unwrap()
                .split("-extproc")
                .next()
                .unwrap()
                .to_owned()
        };
        let (before, after) = ran.stdout.split_once(&ended).unwrap();
        assert_eq!(
            modes(after),
            modes(before),
            "{config} {flags} {keys:?} {signal:?}"
        );
        let pastes = ["\u{1b}[?2004h", "\u{1b}[?2004l"].map(|mode| ran.stdout.rfind(mode).unwrap());
        assert!(pastes[0] < pastes[1], "{}", ran.stdout);
    }
}
