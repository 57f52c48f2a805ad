//! Tests what a resumed session takes over of its last run, what it has to be given again, and that
//! the commands that a run prints at its end can be pasted.

mod printed_commands;

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::{Answer, ChatServer, asking},
    of_kind, program,
    terminal::{MARKER, at_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{os::unix::fs::symlink, path::Path, process::Command};

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
const WRITING: &str = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";
const LATER: [&str; 2] = ["--permission-prompts", "later"];

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "hello" }))
}

/// A model that calls `write_file` once.
fn writer() -> ChatServer {
    ChatServer::start(vec![
        Answer::calls(&[write("note.txt")]),
        Answer::text("That is all."),
        Answer::text("More."),
    ])
}

/// Runs the program without a terminal, with this server for `openai-compat`.
fn run(env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
    let mut command = env.command(args);
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command.output().unwrap().into()
}

/// Runs a line in a shell, in which `agent-host` is the program under test.
pub(crate) fn shell(env: &TestEnv, server: &ChatServer, line: &str) -> Ran {
    let bin = env.outside().join("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        symlink(program(), bin.join("agent-host")).unwrap();
    }
    let mut shell = Command::new("sh");
    env.prepare(shell.args(["-c", line]));
    shell.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    shell.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    shell.output().unwrap().into()
}

/// The commands that a run printed, each the rest of its line.
fn hints(ran: &Ran) -> Vec<String> {
    let lines = plain(&ran.stderr);
    let commands = lines
        .lines()
        .filter_map(|line| line.find("agent-host run ").map(|at| &line[at..]));
    commands.map(str::to_owned).collect()
}

fn note(env: &TestEnv) -> Option<String> {
    std::fs::read_to_string(env.work().join("note.txt")).ok()
}

fn configured(env: &TestEnv) -> Value {
    let events = env.events();
    of_kind(&events, "run-configured").last().unwrap()["arguments"].clone()
}

/// The configuration, the model and the agent of the last run hold without being repeated, and a
/// flag replaces one of them.
#[test]
fn resumed_session_has_the_arguments_of_its_last_run() {
    let env = TestEnv::new();
    env.write(
        "other.toml",
        "[[agent]]\nname = \"clerk\"\ndescription = \"Sees to lists.\"\nsystem = \"You are a clerk.\"\n",
    );
    let answers = ["One.", "Two.", "Three."].map(Answer::text);
    let server = ChatServer::start(answers.into());
    let first = [
        "run",
        "--config",
        "other.toml",
        "--agent",
        "clerk",
        "--model",
        "openai-compat:m",
        "go",
    ];
    let ran = run(&env, &server, &first);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "One.\n"),
        "{ran:?}"
    );
    let directory = env.work().canonicalize().unwrap();
    let file = directory.join("other.toml");
    let given = json!({
        "directory": directory, "config": file, "agent": "clerk", "model": "openai-compat:m",
    });
    assert_eq!(configured(&env), given);
    let resumed = run(&env, &server, &["sessions", "resume", "latest", "again"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "Two.\n"),
        "{resumed:?}"
    );
    // The record is the same, so there is no other one.
    assert_eq!(of_kind(&env.events(), "run-configured").len(), 1);
    let other = [
        "run",
        "--resume",
        "latest",
        "--model",
        "openai-compat:other",
        "again",
    ];
    assert_eq!(run(&env, &server, &other).code, Some(0));
    assert_eq!(configured(&env)["model"], "openai-compat:other");
    let asked: Vec<(Value, Value)> = server
        .requests()
        .iter()
        .map(|request| {
            (
                request["model"].clone(),
                request["messages"][0]["content"].clone(),
            )
        })
        .collect();
    let system = json!("You are a clerk.");
    let expected = ["m", "m", "other"].map(|model| (json!(model), system.clone()));
    assert_eq!(asked, expected);
}

/// Grants of the command line are in the printed command, are asked for without it, and the session
/// waits on meanwhile. A value is never recorded.
#[test]
fn grants_are_repeated_on_the_command_line() {
    let env = TestEnv::new();
    let server = writer();
    let given = [
        "--write",
        "--grant",
        "env:TOKEN=hunter2",
        "--model",
        "openai-compat:m",
    ];
    let waiting = run(
        &env,
        &server,
        &[&["run"][..], &given, &LATER, &["go"]].concat(),
    );
    assert_eq!(waiting.code, Some(3), "{waiting:?}");
    assert_eq!(configured(&env)["grants"], json!(["env:TOKEN="]));
    let before = env.events();
    assert!(!json!(before).to_string().contains("hunter2"));
    let decide = ["run", "--resume", "latest", "--decide", "call_0=approve"];
    let refused = run(&env, &server, &decide);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (Some(2), ""),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains("was given env:TOKEN=VALUE, and values are not recorded"),
        "{refused:?}"
    );
    let again = &hints(&refused)[0];
    assert_eq!(
        *again,
        "agent-host run --resume latest --decide call_0=approve --grant env:TOKEN=VALUE --write"
    );
    assert_eq!(env.events(), before);
    let done = shell(&env, &server, &again.replace("VALUE", "hunter2"));
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{done:?}"
    );
    assert_eq!(note(&env).as_deref(), Some("hello"));
    // Without a value, everything is in the refusal.
    let refused = run(
        &env,
        &server,
        &[
            "run",
            "--resume",
            "latest",
            "--grant",
            "dir:.:read-write",
            "more",
        ],
    );
    assert_eq!(refused.code, Some(0), "{refused:?}");
    let refused = run(&env, &server, &["run", "--resume", "latest", "more"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(
        hints(&refused),
        ["agent-host run --resume latest more --grant dir:.:read-write"]
    );
}

/// On a terminal the grants are shown, and only `y` gives them again.
#[test]
fn grants_are_confirmed_on_a_terminal() {
    at_once([("y\n", Some(true)), ("n\n", None)], |(answer, mode)| {
        let env = TestEnv::new();
        let server = writer();
        let first = ["run", "--write", "--model", "openai-compat:m", "go"];
        let ran = run(&env, &server, &[&first[..], &LATER].concat());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let mut running = at_a_terminal(&env, &server, "run --resume latest 'go on'");
        running.stdout.says(MARKER, 1);
        running.types(answer);
        let ran = running.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = plain(&ran.stdout);
        for text in [
            "was given these permissions:\r\n  --write\r\n",
            "Grant them again? [y] yes",
        ] {
            assert!(shown.contains(text), "no {text:?} in {shown}");
        }
        let write = configured(&env).get("write").and_then(Value::as_bool);
        assert_eq!(write, mode, "{answer}");
    });
}

/// Nothing with authority holds in another directory, or for a copy of the session.
#[test]
fn authority_stays_with_its_session_and_directory() {
    let env = TestEnv::new();
    env.write("other.toml", FILES);
    let server = ChatServer::start(["One.", "Two.", "Three."].map(Answer::text).into());
    let given = [
        "run",
        "--config",
        "other.toml",
        "--write",
        "--model",
        "openai-compat:m",
        "go",
    ];
    assert_eq!(run(&env, &server, &given).code, Some(0));
    std::fs::create_dir(env.outside().join("elsewhere")).unwrap();
    let original = env.events()[0]["session"].as_str().unwrap().to_owned();
    let mut command = env.command(&["run", "--resume", &original, "more"]);
    command.current_dir(env.outside().join("elsewhere"));
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    let refused: Ran = command.output().unwrap().into();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let directory = env.work().canonicalize().unwrap();
    let why = format!(
        "was run in {}, and its arguments apply only to that directory",
        directory.display()
    );
    assert!(refused.stderr.contains(&why), "{}", refused.stderr);

    let forked = env.run(&["sessions", "fork", "latest"]);
    let fork = forked.stdout.trim();
    let ran = run(
        &env,
        &server,
        &[
            "run",
            "--resume",
            fork,
            "--model",
            "openai-compat:m",
            "more",
        ],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Two.\n"),
        "{ran:?}"
    );
    let note = format!(
        "Session {fork} is a copy, which inherits no permissions: the original ran with --config "
    );
    assert!(plain(&ran.stderr).contains(&note), "{}", ran.stderr);
    let kept = configured(&env);
    assert_eq!(
        (kept.get("write"), kept.get("config")),
        (None, None),
        "{kept}"
    );
    // An export is a file that anyone may write.
    let file = env.outside().join("session.jsonl");
    let file = file.to_str().unwrap();
    let exported = env.run(&["sessions", "export", &original, "-o", file]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let imported = env.run(&["sessions", "import", "--as-new", file]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let id = imported.stdout.trim();
    let ran = run(
        &env,
        &server,
        &["run", "--resume", id, "--model", "openai-compat:m", "more"],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Three.\n"),
        "{ran:?}"
    );
    assert!(
        plain(&ran.stderr).contains("which inherits no permissions"),
        "{}",
        ran.stderr
    );
    let kept = configured(&env);
    assert_eq!(
        (kept.get("write"), kept.get("allow")),
        (None, None),
        "{kept}"
    );
}

/// Without the model's key, the built-in tour does not go on with a session of a real model.
#[test]
fn tour_does_not_go_on_with_another_session() {
    let env = TestEnv::new();
    env.configure(format!("model = \"openai-compat:m\"\n{FILES}{WRITING}"));
    let server = writer();
    let ran = run(&env, &server, &[&["run", "go"], &LATER[..]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    env.configure(format!("{FILES}{WRITING}"));
    let before = env.events();
    let id = before[0]["session"].as_str().unwrap();
    for args in [
        &["run", "--resume", "latest", "more"][..],
        &["run", "--resume", "latest", "--decide", "call_0=approve"],
    ] {
        let refused = env.run(args);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{refused:?}"
        );
        let why = format!(
            "session {id} was run with openai-compat:m, but no model is configured now, so the built-in tour would resume it."
        );
        assert!(refused.stderr.contains(&why), "{}", refused.stderr);
        assert_eq!(
            hints(&refused),
            [format!(
                "agent-host run --resume {id} --model openai-compat:m"
            )]
        );
        assert_eq!(env.events(), before);
    }
    let args = [
        "run",
        "--resume",
        "latest",
        "--model",
        "openai-compat:m",
        "--decide",
        "call_0=approve",
    ];
    assert_eq!(run(&env, &server, &args).code, Some(0));
    assert_eq!(note(&env).as_deref(), Some("hello"));
    // The tour's own session stays a session of the tour.
    let env = TestEnv::new();
    assert_eq!(env.run(&["run", "go"]).code, Some(0));
    let ran = env.run(&["run", "--resume", "latest", "go"]);
    assert!(
        !ran.stderr.contains("no model is configured now, so"),
        "{ran:?}"
    );
}

/// A decision is not used up by a run that cannot carry it out.
#[test]
fn decision_waits_for_a_run_that_can_carry_it_out() {
    let with = format!("{FILES}{WRITING}");
    let without = format!("[[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\n{WRITING}");
    let read_only = format!("{FILES}[[grants.dir]]\nhost = \".\"\n");
    for (then, why) in [
        (
            without,
            "call call_0 cannot run, because this run has no tool `write_file`",
        ),
        (
            read_only,
            "or its access, has changed since the call was shown",
        ),
    ] {
        let env = TestEnv::new();
        env.configure(&with);
        let server = writer();
        let waiting = run(
            &env,
            &server,
            &[&["run", "--model", "openai-compat:m", "go"], &LATER[..]].concat(),
        );
        assert_eq!(waiting.code, Some(3), "{waiting:?}");
        let before = env.events();
        env.configure(&then);
        let decide = ["run", "--resume", "latest", "--decide", "call_0=approve"];
        let refused = run(&env, &server, &decide);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{refused:?}"
        );
        assert!(
            refused.stderr.contains(why),
            "no {why:?} in {}",
            refused.stderr
        );
        assert_eq!(env.events(), before, "{why}");
        env.configure(&with);
        let done = run(&env, &server, &decide);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "That is all.\n"),
            "{done:?}"
        );
        assert_eq!(note(&env).as_deref(), Some("hello"));
    }
}

/// A call whose tool has changed is shown again as it would run, with a request of its own.
#[test]
fn changed_tool_is_asked_about_again() {
    let env = TestEnv::new();
    env.configure(format!("{FILES}{WRITING}"));
    let server = writer();
    let model = ["--model", "openai-compat:m"];
    let first = [&["run", "go"], &model[..], &LATER].concat();
    assert_eq!(run(&env, &server, &first).code, Some(3));
    env.configure(format!("{FILES}{WRITING}deny = [\"note.txt\"]\n"));
    let again = run(
        &env,
        &server,
        &[&["run", "--resume", "latest"], &LATER[..]].concat(),
    );
    assert_eq!(again.code, Some(3), "{again:?}");
    let events = env.events();
    let asked = of_kind(&events, "approval-requested");
    assert_eq!(asked.len(), 2);
    assert_ne!(
        asked[0]["calls"][0]["identity"],
        asked[1]["calls"][0]["identity"]
    );
    let done = run(
        &env,
        &server,
        &["run", "--resume", "latest", "--decide", "call_0=approve"],
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((note(&env), server.tool_results().len()), (None, 1));
}
