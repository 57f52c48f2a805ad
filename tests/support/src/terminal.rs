//! The program on a pseudo-terminal, with keys typed at its prompts.

use super::{Ran, TestEnv, chat::ChatServer, program, running::Running};
use std::process::Command;

/// The prefix of the line that accepts keys.
pub const MARKER: &str = "\r\n> ";

/// Starts the program on a pseudo-terminal (by `script`, from util-linux).
pub fn at_a_terminal(env: &TestEnv, server: &ChatServer, args: &str) -> Running {
    let command = format!("{} {args}", program());
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
