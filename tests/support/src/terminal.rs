//! The program on a pseudo-terminal, with keys typed at its prompts.

use super::{Ran, TestEnv, chat::ChatServer, program, running::Running};
use std::{num::NonZero, process::Command};

/// The prefix of the line that accepts keys.
pub const MARKER: &str = "\r\n> ";

/// Starts the program on a pseudo-terminal (by `script`, from util-linux).
pub fn at_a_terminal(env: &TestEnv, server: &ChatServer, args: &str) -> Running {
    Running::start(&mut script(env, server, args))
}

/// Starts the program on a pseudo-terminal with a cursor, on which it shows what it waits for.
pub fn at_a_terminal_with_cursor(env: &TestEnv, server: &ChatServer, args: &str) -> Running {
    Running::start(script(env, server, args).env("TERM", "xterm"))
}

fn script(env: &TestEnv, server: &ChatServer, args: &str) -> Command {
    let command = format!("{} {args}", program());
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &command, "/dev/null"]));
    script.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    script
}

/// Starts the program on a pseudo-terminal of this width.
pub fn at_a_terminal_of(env: &TestEnv, server: &ChatServer, columns: u16, args: &str) -> Running {
    at_a_terminal_with(env, server, columns, "", args)
}

/// The same with variables, as a shell sets them.
pub fn at_a_terminal_with(
    env: &TestEnv,
    server: &ChatServer,
    columns: u16,
    variables: &str,
    args: &str,
) -> Running {
    let program = program();
    let command = format!("stty cols {columns} rows 50; {variables} {program} {args}");
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &command, "/dev/null"]));
    Running::start(script.env("OPENAI_COMPAT_BASE_URL", &server.base_url))
}

/// Runs the program on a pseudo-terminal, and types each line of keys when a prompt accepts them.
pub fn on_a_terminal(env: &TestEnv, server: &ChatServer, args: &str, keys: &str) -> Ran {
    let mut running = at_a_terminal(env, server, args);
    for (prompts, line) in keys.split_inclusive('\n').enumerate() {
        if !running.stdout.says(MARKER, prompts + 1) {
            break;
        }
        running.types(line);
    }
    running.end()
}

/// The output without colours and modes.
pub fn plain(shown: &str) -> String {
    let mut parts = shown.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.split_once(|end: char| end.is_ascii_alphabetic());
        text + rest.map_or(part, |(_, rest)| rest)
    })
}

/// The output without line breaks from the terminal's width.
pub fn unwrapped(shown: &str) -> String {
    shown.replace("\r\n│ ", "")
}

/// The rows of a drawn screen: more than a test needs.
const ROWS: NonZero<u16> = NonZero::new(500).unwrap();

/// The rows that a terminal of this width draws from an output, without spaces at their ends.
pub fn drawn(output: &str, columns: u16) -> Vec<String> {
    let mut terminal = vt100::Parser::new(ROWS, NonZero::new(columns).unwrap(), 0);
    terminal.process(output.as_bytes());
    let rows = terminal.screen().rows(0, columns);
    rows.map(|row| row.trim_end().to_owned()).collect()
}
