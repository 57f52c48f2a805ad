//! The last lines of calls that run, on a pseudo-terminal.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    has_python,
    installed::here,
    screen::{OnScreen, on_screen},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs::File, process::Command};

const RUN: [&str; 5] = ["run", "--trust", "--model", "openai-compat:m", "go"];

/// A message of a hostile tool, in lines. Several messages may arrive in any order.
const MESSAGE: &str = "first\nsecond\n\u{1b}[2J\u{1b}[31mhidden\u{7}\nthird\nthird\n\n\
    a line that is much longer than the terminal is wide, which is 60 columns\r\n";

/// A project with these servers, whose tool `act` tells its `message`, and ends when the pipe
/// `until` is opened.
fn project(servers: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    let script = here("it/mcp_client/server.py");
    let servers = servers.iter().map(|name| {
        let command = json!(["python3", script, "tells"]);
        format!("[[mcp]]\nname = \"{name}\"\ncommand = {command}\napproval = \"never\"\nread-only = [\"act\"]\n")
    });
    let servers: String = servers.collect();
    env.write("agent.toml", format!("tool = []\n{servers}"));
    env
}

fn pipe(env: &TestEnv, name: &str) -> String {
    let path = env.work().join(name).display().to_string();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// Lets the call end that waits at a pipe.
fn end(pipe: &str) {
    File::options().write(true).open(pipe).unwrap();
}

fn tells(message: &str, until: &str) -> Value {
    json!({ "message": message, "until": until })
}

#[test]
fn running_call_shows_its_last_lines_until_it_ends() {
    if !has_python() {
        return;
    }
    let env = project(&["s"]);
    let until = pipe(&env, "until");
    let calls = [("s_act", tells(MESSAGE, &until))];
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
    let mut screen = OnScreen::start(&env, &server, 60, &RUN);
    let shown = [
        "  \\u{1b}[2J\\u{1b}[31mhidden\\u{7}",
        "  third",
        "  a line that is much longer than the terminal is wide, wh…",
    ];
    screen.until(|rows| rows.ends_with(&shown.map(str::to_owned)));
    let rows = screen.rows();
    assert!(!rows.iter().any(|row| row.contains("first")), "{rows:#?}");
    end(&until);
    screen.until_text("Done.");
    let rows = screen.rows();
    let left = rows
        .iter()
        .any(|row| row.contains("third") || row.contains("hidden"));
    assert!(!left, "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("✓ ")), "{rows:#?}");
    assert_eq!(screen.end(), Some(0));
}

/// A program in code mode, which waits for a call of its own.
#[test]
fn running_program_shows_the_lines_that_it_prints() {
    if !has_python() {
        return;
    }
    let env = project(&["s"]);
    let config = std::fs::read_to_string(env.work().join("agent.toml")).unwrap();
    env.write("agent.toml", format!("code = true\n{config}"));
    let until = pipe(&env, "until");
    let code = format!(
        "console.log('one'); console.log('two'); await tools.s_act({}); return 1;",
        tells("told", &until)
    );
    let calls = [("run_javascript", json!({ "code": code }))];
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
    let mut screen = OnScreen::start(&env, &server, 60, &RUN);
    let shown = ["  the program", "    one", "    two", "  s_act", "    told"];
    screen.until(|rows| rows.ends_with(&shown.map(str::to_owned)));
    end(&until);
    screen.until_text("Done.");
    assert!(!screen.rows().iter().any(|row| row.contains("two")));
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn parallel_calls_show_their_last_lines_below_their_words() {
    if !has_python() {
        return;
    }
    let env = project(&["s", "t"]);
    let (one, two) = (pipe(&env, "one"), pipe(&env, "two"));
    let calls = [
        ("s_act", tells("of s", &one)),
        ("t_act", tells("1\n2\n3\n4", &two)),
    ];
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
    let mut screen = OnScreen::start(&env, &server, 60, &RUN);
    let both = ["    of s", "  t_act", "    2", "    3", "    4"];
    screen.until(|rows| rows.ends_with(&both.map(str::to_owned)));
    end(&two);
    screen.until(|rows| rows.last().is_some_and(|row| row == "  of s"));
    end(&one);
    screen.until_text("Done.");
    assert!(!screen.rows().iter().any(|row| row.contains("of s")));
    assert_eq!(screen.end(), Some(0));
}

/// A terminal without a cursor, and outputs that are none.
#[test]
fn last_lines_need_a_terminal_with_a_cursor() {
    if !has_python() {
        return;
    }
    let run = "run --trust --model openai-compat:m go";
    for (settings, args) in [
        ("TERM=dumb", run.to_owned()),
        ("", format!("{run} 2> errors.txt")),
    ] {
        let env = project(&["s"]);
        let until = pipe(&env, "until");
        let calls = [("s_act", tells("a line", &until))];
        let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("Done.")]);
        let running = on_screen(&env, &server, 60, settings, &args);
        end(&until);
        let ran = running.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let errors = std::fs::read_to_string(env.work().join("errors.txt")).unwrap_or_default();
        assert!(
            !format!("{}{errors}", ran.stdout).contains("a line"),
            "{ran:?}"
        );
    }
}
