//! Tests the runs of an evaluation: isolation, time, signals, faults and recordings.

use super::{environment, eval, eval_with, outcomes, report};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    repository,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A run writes into a copy, and neither a file of the case nor one of the user changes.
#[test]
fn eval_runs_write_only_in_their_own_directory() {
    let env = environment(
        r#"
        models = ["script:./writer.toml"]
        runs = 2
        [[case]]
        name = "a"
        prompt = "go"
        files = "data"
        expect = { answer = "^written$", call = [{ tool = "write_file", result = "created.*true" }] }
        "#,
    );
    // Files of a case are no configuration.
    env.write("suite/data/agent.toml", "permission-prompts = 7");
    env.write(
        "suite/allow.toml",
        "[[rule]]\nname = \"write\"\ntool = \"write_file\"\ndecision = \"allow\"\n",
    );
    let config = ["--json", "--config", "suite/allow.toml"];
    // A directory of `--grant` is one of the run's directory.
    for grant in [&["--write"][..], &["--grant", "dir:below:read-write"]] {
        let ran = eval(&env, &[&config[..], grant].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(outcomes(&ran), vec![json!(["passed", []]); 2]);
    }
    let refused = eval(
        &env,
        &[&config[..], &["--grant", "dir:../..:read-write"]].concat(),
    );
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("would share"), "{}", refused.stderr);
    for path in [
        "out.txt",
        "suite/out.txt",
        "suite/data/out.txt",
        "suite/data/below/out.txt",
    ] {
        assert!(!env.work().join(path).exists(), "{path}");
    }
}

#[test]
fn eval_stops_a_run_that_hangs() {
    let env = environment(
        "models = [\"openai-compat:m\"]\n[[case]]\nname = \"a\"\nprompt = \"go\"\nexpect.max-seconds = 1",
    );
    let server = ChatServer::watched(vec![Answer::text("late")], |_| {
        loop {
            thread::park();
        }
    });
    let ran = eval_with(&env, &server, &["--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let failure = "it did not finish within 1 seconds and was stopped";
    assert_eq!(outcomes(&ran), [json!(["failed", [failure]])]);
}

/// Returns whether a process works below the directory.
fn is_in_use(directory: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap();
    processes.filter_map(Result::ok).any(|process| {
        let cwd = fs::read_link(process.path().join("cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(directory))
    })
}

/// A signal ends the process of a run, too, and removes its directory.
#[test]
fn eval_that_is_stopped_leaves_nothing() {
    let env = environment(
        "models = [\"openai-compat:m\"]\n[[case]]\nname = \"a\"\nprompt = \"go\"\nexpect.exit = 0",
    );
    let temporary = env.outside().canonicalize().unwrap().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let (sender, asked) = mpsc::channel();
    let server = ChatServer::watched(vec![Answer::text("late")], move |_| {
        sender.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    let mut command = env.command(&["eval", "suite/eval.toml"]);
    command
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .env("TMPDIR", &temporary);
    let running = Running::start_without_input(&mut command);
    asked.recv().unwrap();
    assert!(is_in_use(&temporary));
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{ran:?}");
    // The kernel may take a moment to end the process.
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_in_use(&temporary) && Instant::now() < deadline {
        thread::yield_now();
    }
    assert!(!is_in_use(&temporary));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn eval_reports_a_run_that_fails() {
    let env = environment(
        "models = [\"openai-compat:m\"]\n[[case]]\nname = \"a\"\nprompt = \"go\"\nexpect.answer = \"x\"",
    );
    let refusal = json!({ "error": { "message": "no such model" } });
    let server = ChatServer::start(vec![Answer::status("404 Not Found", &refusal)]);
    let ran = eval_with(&env, &server, &["--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let outcomes = outcomes(&ran);
    let failure = outcomes[0][1][0].as_str().unwrap();
    assert!(
        failure.starts_with("the exit code is 1, expected 0: "),
        "{failure}"
    );
    assert!(failure.contains("no such model"), "{failure}");
    assert_eq!(outcomes[0][1][1], "there is no answer");
}

/// Each run has a recording of its own, and plays without a server, with the same report.
#[test]
fn eval_that_was_recorded_replays_offline() {
    let env = environment(
        r#"
        runs = 2
        models = ["openai-compat:org/m"]
        [[case]]
        name = "read"
        prompt = "What does a.txt say?"
        files = "data"
        expect = { answer = "alpha", call = [{ tool = "read_file", input = { path = "a.txt" } }] }
        "#,
    );
    let read = || Answer::calls(&[("read_file", json!({ "path": "a.txt" }))]);
    let server = ChatServer::start(vec![
        read(),
        Answer::text("It says alpha."),
        read(),
        Answer::text("It says beta."),
    ]);
    env.write(
        "suite/prices.toml",
        "[prices.\"openai-compat:org/m\"]\ninput = 100\noutput = 1000\n",
    );
    let args = ["--json", "--config", "suite/prices.toml"];
    let ran = eval_with(&env, &server, &[&args[..], &["--record", "tapes"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // 11 tokens in and 7 out, four times.
    let cost = &ran.json()["totals"]["figures"]["cost_micros"];
    assert_eq!(*cost, json!(4 * (11 * 100 + 7 * 1000)));
    assert_eq!(server.requests().len(), 4);
    let mut tapes: Vec<String> = fs::read_dir(env.work().join("tapes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    tapes.sort();
    assert_eq!(
        tapes,
        [
            "read-openai-compat-org-m-1.jsonl",
            "read-openai-compat-org-m-2.jsonl"
        ]
    );
    let again = eval(&env, &[&args[..], &["--replay", "tapes"]].concat());
    assert_eq!(again.code, Some(1), "{again:?}");
    assert_eq!(report(&again), report(&ran));
    let taken = eval_with(&env, &server, &["--record", "tapes"]);
    assert_eq!(taken.code, Some(2), "{taken:?}");
    assert!(
        taken.stderr.contains("it already exists; remove it"),
        "{}",
        taken.stderr
    );
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// The example of the repository, whose recordings need no model.
#[test]
fn example_evaluation_replays_offline() {
    let env = TestEnv::new();
    copy(&repository().join("guest-tools/examples/eval"), &env.work());
    let args = [
        "eval",
        "eval.toml",
        "--config",
        "agent.toml",
        "--replay",
        "recordings",
    ];
    let ran = env.run(&[&args[..], &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let totals = &report(&ran)["totals"];
    assert_eq!(
        json!([
            totals["cases"],
            totals["passed_cases"],
            totals["runs"],
            totals["passed_runs"]
        ]),
        json!([2, 2, 4, 3])
    );
}
