//! The first five minutes of a new user, from an empty home directory: the tour, the commands that
//! it ends with, `init`, the commands that it ends with, and an approval.
//! `docs/tutorial/first-five-minutes.md` has the screens; `AGENT_HOST_WRITE_TRANSCRIPT=1` writes
//! it.

use crate::{docs::ROOT, resume::shell};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    screen::{on_screen, screen},
    terminal::MARKER,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;

const TRANSCRIPT: &str = "docs/tutorial/first-five-minutes.md";

const COLUMNS: u16 = 80;

/// A server whose list has two models, and which answers `init`, two runs and the end of one.
fn server() -> ChatServer {
    let list = || {
        Answer::status(
            "200 OK",
            &json!({ "data": [{ "id": "small" }, { "id": "large" }] }),
        )
    };
    let content = "# Notes\n\nWhat this directory is for: a list of books.\n";
    let write = json!({ "path": "README.md", "content": content });
    ChatServer::start(vec![
        // `init` looks for servers, and then lists the models of the chosen one.
        list(),
        list(),
        Answer::text("OK"),
        Answer::text("One file, **books.txt**: a list of *two* books."),
        Answer::calls(&[("write_file", write)]),
        Answer::text("I wrote **README.md**."),
        list(),
    ])
}

/// Runs a command on a terminal, and answers its questions in turn; returns the screen at the end.
fn session(env: &TestEnv, server: &ChatServer, args: &str, answers: &[&str]) -> String {
    let mut running = on_screen(env, server, COLUMNS, "", args);
    for (prompts, answer) in answers.iter().enumerate() {
        assert!(running.stdout.says(MARKER, prompts + 1), "{args}");
        running.types(answer);
        running.types("\r");
    }
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{args}: {}", ran.stdout);
    let home = env.outside().join("home").canonicalize().unwrap();
    let work = env.work().canonicalize().unwrap();
    let output = ran
        .stdout
        .replace(&server.base_url, "http://127.0.0.1:8000/v1");
    let output = output.replace(&work.display().to_string(), "~/books");
    let output = output.replace(&home.display().to_string(), "~");
    let shown = screen(&output, COLUMNS);
    let rows = shown.lines().map(fixed).collect::<Vec<_>>().join("\n");
    format!("$ agent-host {args}\n{rows}\n")
}

/// Replaces what is another one each time: ids, digests and times.
fn fixed(row: &str) -> String {
    let words = row.split(' ').map(|word| {
        let is_id = word.len() == 36 && word.matches('-').count() == 4;
        let is_short = word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit());
        match () {
            () if is_id => "01a212ba-2367-773e-9347-6f0cf8aa5683".to_owned(),
            () if is_short => "f8aa5683".to_owned(),
            () => word.to_owned(),
        }
    });
    let mut row = words.collect::<Vec<_>>().join(" ");
    // Times end a line.
    for unit in [" µs", " ms", " s"] {
        let Some(rest) = row.strip_suffix(unit) else {
            continue;
        };
        if let Some((before, number)) = rest.rsplit_once(' ')
            && number.parse::<f64>().is_ok()
        {
            row = format!("{before} 2.1 ms");
        }
    }
    row.trim_end().to_owned()
}

#[test]
fn first_minutes_are_as_documented() {
    let env = TestEnv::new();
    env.write("books.txt", "Emma\nMiddlemarch\n");
    let server = server();
    let run = "run \"What is in this directory?\"";
    let steps: [(&str, &[&str]); 7] = [
        (run, &["n"]),
        ("explain latest", &[]),
        ("init", &["", "", "1", "y"]),
        (run, &[]),
        (
            "run --write \"Write a README.md for this directory\"",
            &["y"],
        ),
        ("models", &[]),
        ("sessions list", &[]),
    ];
    let shown = steps.map(|(args, answers)| session(&env, &server, args, answers));
    let text = format!(
        "# The first five minutes\n\nFrom an empty home directory, on a terminal of {COLUMNS} columns; `tests/it/first_minutes.rs` \n\
         records and checks it. The model is a script behind the API of OpenAI.\n\n```\n{}```\n",
        shown.join("\n")
    )
    .replace(" \n", "\n");
    let file = ROOT.join(TRANSCRIPT);
    if std::env::var_os("AGENT_HOST_WRITE_TRANSCRIPT").is_some() {
        fs::write(&file, &text).unwrap();
    }
    // Rows break elsewhere where the paths of the test are longer.
    let words = |text: &str| {
        let text = text.replace('│', "");
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&text), words(&fs::read_to_string(&file).unwrap()));
}

/// The commands that the tour and `init` end with, each pasted as its whole line.
#[test]
fn commands_of_the_first_minutes_can_be_pasted() {
    let env = TestEnv::new();
    env.write("books.txt", "Emma\n");
    let none = ChatServer::start(Vec::new());
    let tour = env.run(&["run", "What is here?"]);
    let commands = tour
        .stdout
        .split('`')
        .filter(|text| text.starts_with("agent-host "));
    let codes: Vec<(&str, Option<i32>)> = commands
        .map(|command| (command, shell(&env, &none, command).code))
        .collect();
    let expected = [
        ("agent-host sessions show latest", Some(0)),
        ("agent-host explain latest", Some(0)),
        // Without a terminal there is no one to ask.
        ("agent-host init", Some(2)),
    ];
    assert_eq!(codes, expected);

    let list = json!({ "data": [{ "id": "small" }] });
    let server = ChatServer::start(vec![
        Answer::text("One."),
        Answer::text("Two."),
        Answer::status("200 OK", &list),
    ]);
    let init = env.run(&[
        "init",
        "--provider",
        "openai-compat",
        "--base-url",
        &server.base_url,
        "--model",
        "small",
        "--no-test",
    ]);
    assert_eq!(init.code, Some(0), "{init:?}");
    let commands = init
        .stderr
        .lines()
        .filter(|line| line.starts_with("  agent-host "));
    let ends: Vec<(Option<i32>, String)> = commands
        .map(|line| shell(&env, &server, line))
        .map(|ran| (ran.code, ran.stdout))
        .collect();
    let printed = ["One.\n", "Two.\n", "openai-compat:small\n"];
    assert_eq!(ends, printed.map(|text| (Some(0), text.to_owned())));
}
