//! Runs the workflows of `guest-tools/examples/workflows`: their whole answers and exit codes, a
//! decision of another process, the drawings of the README, and the script that kills one of them.

use agent_host_test_support::{Ran, TestEnv, program, repository};
use pretty_assertions::assert_eq;
use std::{fs, path::PathBuf, process::Command};

/// The result of the node `count`.
const COUNT: &str = concat!(
    r#"{"files_searched":3,"files_skipped":0,"matches":["#,
    r#"{"line":1,"name":"hives.txt","text":"There are twelve hives behind the orchard. The bees of the third one are strong."},"#,
    r#"{"line":1,"name":"honey.txt","text":"Last year's bees made 140 kg of honey. Half of it was sold at the market."},"#,
    r#"{"line":1,"name":"winter.txt","text":"Two colonies did not survive the winter. Their bees had too few stores."}"#,
    r#"],"path":"notes","truncated":false}"#
);

/// The answers of the workflows that decide alone.
const ANSWERS: &[(&str, &str, &str)] = &[
    (
        "digest",
        "go",
        "In short:\n[summaries]\n\
         hives.txt: There are twelve hives behind the orchard. The bees of the third one are strong.\n\n---\n\n\
         honey.txt: Last year's bees made 140 kg of honey. Half of it was sold at the market.\n\n---\n\n\
         winter.txt: Two colonies did not survive the winter. Their bees had too few stores.\n",
    ),
    ("panel", "city bees", "# News\n\nIt is about city bees.\n"),
    (
        "panel",
        "bees in winter",
        "In short:\n[verdict]\nrevise\n\n[risk]\nA storm is a serious risk.\n",
    ),
    (
        "chain",
        "go",
        "{\n  \"created\": true,\n  \"path\": \"out/three.txt\",\n  \"size_bytes\": 7\n}\n",
    ),
];

/// The directory of the examples.
fn examples() -> PathBuf {
    repository().join("guest-tools/examples/workflows")
}

/// A test directory with a copy of the examples.
fn copied() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        fs::read(examples().join("agent.toml")).unwrap(),
    );
    for directory in ["notes", "scripts"] {
        for entry in fs::read_dir(examples().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            env.write(&format!("{directory}/{name}"), fs::read(&path).unwrap());
        }
    }
    env
}

fn run(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[args, &["--config", "agent.toml"]].concat())
}

#[test]
fn example_workflows_answer() {
    let env = copied();
    for (workflow, prompt, answer) in ANSWERS {
        let ran = run(&env, &["run", "--workflow", workflow, prompt]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), *answer),
            "{workflow}: {}",
            ran.stderr
        );
    }
}

/// Each decision of another process, the sections of the answer after that of `count`, and the file
/// that is there afterwards.
#[test]
fn example_workflow_waits_for_decision() {
    let table = [
        (
            "publish=approve",
            "\n\n[publish]\n{\"created\":true,\"path\":\"announcement.md\",\"size_bytes\":25}",
            Some("# News\n\nIt is about bees."),
            0,
        ),
        // The node fails, and the workflow passes over it.
        ("publish=reject:not today", "", None, 7),
    ];
    for (decision, section, file, code) in table {
        let env = copied();
        let waiting = run(
            &env,
            &[
                "run",
                "--workflow",
                "publish",
                "--permission-prompts",
                "later",
                "bees",
            ],
        );
        assert_eq!(
            (waiting.code, waiting.stdout.as_str()),
            (Some(3), ""),
            "{}",
            waiting.stderr
        );
        let announcement = env.work().join("announcement.md");
        assert!(!announcement.exists());

        let decided = run(&env, &["run", "--resume", "latest", "--decide", decision]);
        assert_eq!(
            (decided.code, decided.stdout),
            (Some(code), format!("[count]\n{COUNT}{section}\n")),
            "{decision}: {}",
            decided.stderr
        );
        assert_eq!(fs::read_to_string(&announcement).ok().as_deref(), file);
    }
}

/// The README has the drawing of each workflow as the program prints it.
#[test]
fn example_readme_has_the_drawings() {
    let env = copied();
    let readme = fs::read_to_string(examples().join("README.md")).unwrap();
    let listed = run(&env, &["workflow", "list", "--json"]).json_lines();
    let names: Vec<&str> = listed
        .iter()
        .map(|workflow| workflow["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["digest", "publish", "panel", "chain"]);
    for name in names {
        let drawn = run(&env, &["workflow", "graph", name]);
        assert_eq!(drawn.code, Some(0), "{}", drawn.stderr);
        let block = format!("```text\n{}```\n", drawn.stdout);
        assert!(readme.contains(&block), "{name}:\n{block}");
    }
}

/// The numbers of the script's only line are those of its rounds, and nothing is lost or doubled.
#[test]
fn killed_example_workflow_survives() {
    let env = TestEnv::new();
    let mut command = Command::new(examples().join("survive.sh"));
    let command = env.prepare(command.arg("3"));
    let ran: Ran = command
        .env("AGENT_HOST", program())
        .env("TMPDIR", env.outside())
        .output()
        .unwrap()
        .into();
    let numbers: Vec<usize> = ran
        .stdout
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let &[_, kills, _, once, doubt, _, _] = numbers.as_slice() else {
        panic!("{ran:?}");
    };
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (
            Some(0),
            format!(
                "3 rounds, {kills} kills, 9 writes: {once} once, {doubt} in doubt and said so, 0 lost, 0 twice\n"
            )
            .as_str(),
            ""
        )
    );
    assert_eq!(once + doubt, 9);
}

/// A wrong argument and a missing program are refused with the next step.
#[test]
fn killing_script_refuses_bad_usage() {
    let env = TestEnv::new();
    let script = examples().join("survive.sh");
    let script = script.to_str().unwrap();
    let table = [
        (
            "many",
            "/bin/sh",
            format!(
                "error: the number of rounds is a number from 1 to 999999, not `many`; try: {script} 20\n"
            ),
        ),
        (
            "1",
            "/nowhere/agent-host",
            "error: there is no program `/nowhere/agent-host`; install it, or set AGENT_HOST to its path\n"
                .to_owned(),
        ),
    ];
    for (rounds, program, message) in table {
        let mut command = Command::new(script);
        let command = env.prepare(command.arg(rounds)).env("AGENT_HOST", program);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr),
            (Some(2), "", message)
        );
    }
}
