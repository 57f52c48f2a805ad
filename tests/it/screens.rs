//! Tests of the screen during and after a run, drawn by a terminal emulator.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    screen::{on_screen, screen},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const REPORT: &str = include_str!("../../host/fronts/cli/src/terminal/markdown/tests/report.txt");

const RUN: &str = "run --quiet --model openai-compat:m go";

#[test]
fn answer_is_rendered_at_each_width() {
    let screens = [
        (
            60,
            include_str!("../../host/fronts/cli/src/terminal/markdown/tests/report_60.txt"),
        ),
        (
            80,
            include_str!("../../host/fronts/cli/src/terminal/markdown/tests/report_80.txt"),
        ),
        (
            200,
            include_str!("../../host/fronts/cli/src/terminal/markdown/tests/report_200.txt"),
        ),
    ];
    for (columns, expected) in screens {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text(REPORT)]);
        let ran = on_screen(&env, &server, columns, "", RUN).end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(screen(&ran.stdout, columns), expected.trim_end());
    }
}

/// Where rendering is switched off, the bytes are those that the model sent.
#[test]
fn markdown_is_plain_where_it_is_not_wanted() {
    let cases = [
        ("", "run --plain --quiet --model openai-compat:m go"),
        ("NO_COLOR=1", RUN),
        ("TERM=dumb", RUN),
        ("TERM=", RUN),
    ];
    for (settings, args) in cases {
        let env = TestEnv::new();
        let server = ChatServer::start(vec![Answer::text(REPORT)]);
        let ran = on_screen(&env, &server, 80, settings, args).end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(
            ran.stdout,
            REPORT.replace('\n', "\r\n"),
            "{settings} {args}"
        );
    }
    let server = ChatServer::start(vec![Answer::text(REPORT)]);
    let piped = ask(&TestEnv::new(), &server, &["--quiet", "go"]);
    assert_eq!(piped.stdout, format!("{REPORT}\n"));
}

/// Text beside calls, and text that the server sends again, each stand on lines of their own.
#[test]
fn steps_stand_between_rendered_texts() {
    let env = TestEnv::new();
    let said = |text: &str| Answer::text(text);
    let server = ChatServer::start(vec![
        said("**Half** of an answer that is cut").cut(),
        said("The **whole** answer"),
    ]);
    let args = "run --model openai-compat:m go";
    let ran = on_screen(&env, &server, 80, "", args).end();
    let shown = screen(&ran.stdout, 80);
    let (_, shown) = shown.split_once("\n\n").unwrap();
    assert_eq!(
        without_time(shown),
        "Half of an answer that is cut\nthe model's answer was interrupted; retrying\nThe whole answer\n11 tokens \
         in, 7 out"
    );
}

/// The line below an answer has no fixed time, which is cut off here.
fn without_time(line: &str) -> &str {
    line.rsplit_once(" · ").map_or(line, |(rest, _)| rest)
}

/// Tokens, cost, the share of the window and the time, at each width.
#[test]
fn figures_stand_below_each_answer() {
    let env = TestEnv::new();
    env.write("notes.txt", "hello");
    env.configure(
        "[context]\nwindow-tokens = 100000\n[prices.\"openai-compat:m\"]\ninput = 1\noutput = 10\n",
    );
    let answers = || {
        ChatServer::start(vec![
            Answer::calls(&[("read_file", json!({ "path": "notes.txt" }))]).counting(5_000),
            Answer::text("It says **hello**.").counting(5_000),
        ])
    };
    for columns in [60, 80, 200] {
        let args = "run --model openai-compat:m go";
        let ran = on_screen(&env, &answers(), columns, "", args).end();
        let shown = screen(&ran.stdout, columns);
        let lines: Vec<&str> = shown.lines().collect();
        let [.., call, answer, figures] = lines.as_slice() else {
            panic!("{shown}");
        };
        assert!(call.starts_with("✓ Read notes.txt  "), "{shown}");
        assert_eq!(*answer, "It says hello.");
        assert_eq!(
            without_time(figures),
            "10,000 tokens in, 14 out · 0.01014 USD · 5 % of the window"
        );
    }
    let ran = on_screen(&env, &answers(), 80, "", RUN).end();
    assert_eq!(screen(&ran.stdout, 80), "It says hello.");
    let piped = ask(&env, &answers(), &["go"]);
    assert!(!piped.stderr.contains("tokens"), "{}", piped.stderr);
}

/// A resumed conversation shows its last two exchanges before it asks.
#[test]
fn resumed_conversation_begins_with_its_end() {
    let env = TestEnv::new();
    for (question, answer) in [
        ("first", "One."),
        ("second", "**Two**."),
        ("third", "- Three"),
    ] {
        let server = ChatServer::start(vec![Answer::text(answer)]);
        let more = if question == "first" { "--quiet" } else { "-c" };
        let ran = ask(&env, &server, &[more, question]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let server = ChatServer::start(vec![]);
    for columns in [60, 80, 200] {
        let mut running = on_screen(&env, &server, columns, "", "run --model openai-compat:m -c");
        running.stdout.until("What should the agent do?");
        running.types("\u{4}");
        let ran = running.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = screen(&ran.stdout, columns);
        let (_, end) = shown.split_once("\n\n").unwrap();
        let (end, _) = end
            .split_once("\nshow everything: agent-host sessions show ")
            .unwrap();
        assert_eq!(end, "You: second\nTwo.\n\nYou: third\n• Three\n");
    }
}

/// Names, short ids and `latest` of each directory; the list fits the terminal.
#[test]
fn sessions_belong_to_a_directory_and_have_names() {
    let env = TestEnv::new();
    let other = env.work().join("other");
    std::fs::create_dir(&other).unwrap();
    let run = |directory: &std::path::Path, args: &[&str]| {
        let server = ChatServer::start(vec![Answer::text("Done.")]);
        let mut command = env.command(&[&["run", "--model", "openai-compat:m"], args].concat());
        let command = command
            .current_dir(directory)
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url);
        agent_host_test_support::Ran::from(command.output().unwrap())
    };
    assert_eq!(
        run(&env.work(), &["--name", "lamp", "about the lamp"]).code,
        Some(0)
    );
    assert_eq!(run(&other, &["--name", "lamp", "elsewhere"]).code, Some(0));
    // Before the model is asked.
    let taken = run(&env.work(), &["--name", "lamp", "not again"]);
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(2), ""));
    assert!(
        taken.stderr.contains(" already has the name `lamp`; "),
        "{taken:?}"
    );
    assert_eq!(run(&env.work(), &["again"]).code, Some(0));
    let listed = env.run(&["sessions", "list", "--json"]).json_lines();
    let fields = |row: &serde_json::Value| json!([row["title"], row["name"], row["model"]]);
    assert_eq!(
        listed.iter().map(fields).collect::<Vec<_>>(),
        [
            json!(["again", null, "openai-compat:m"]),
            json!(["elsewhere", "lamp", "openai-compat:m"]),
            json!(["about the lamp", "lamp", "openai-compat:m"]),
        ]
    );
    let id = |row: usize| listed[row]["session"].as_str().unwrap().to_owned();
    let short = |row: usize| id(row)[28..].to_owned();
    let title = |name: &str| {
        let shown = env.run(&["sessions", "show", name, "--json"]);
        let first = shown.json_lines()[0]["session"].as_str().map(str::to_owned);
        first.unwrap_or_else(|| panic!("{shown:?}"))
    };
    assert_eq!(
        [
            title("lamp"),
            title("latest"),
            title(&short(1)),
            title(&id(2))
        ],
        [id(2), id(0), id(1), id(2)]
    );
    let named = env.run(&["sessions", "name", &short(0), "desk"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert_eq!(title("desk"), id(0));
    for columns in [60, 80, 200] {
        let server = ChatServer::start(vec![]);
        let ran = on_screen(&env, &server, columns, "", "sessions list").end();
        let shown = screen(&ran.stdout, columns);
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns.into()), "{shown}");
        let firsts: Vec<&str> = shown.lines().map(|line| &line[..10]).collect();
        let ids = [0, 1, 2].map(|row| format!("{}  ", short(row)));
        assert_eq!(firsts, ["ID        ", &ids[0], &ids[1], &ids[2]]);
    }
}
