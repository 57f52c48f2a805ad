//! The program on a pseudo-terminal, with keys typed at its prompts.

use super::{Ran, TestEnv, chat::ChatServer, program, running::Running};
use std::process::Command;

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
