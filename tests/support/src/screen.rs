//! The program on a terminal of a given size, and what its screen shows.

use super::{TestEnv, chat::ChatServer, program, running::Running};
use std::{num::NonZero, process::Command};

/// The rows of the screen: more than a test needs.
const ROWS: u16 = 100;

/// Starts the program on a pseudo-terminal with this number of columns; `settings` are variables
/// of its environment, as a shell takes them.
pub fn on_screen(
    env: &TestEnv,
    server: &ChatServer,
    columns: u16,
    settings: &str,
    args: &str,
) -> Running {
    let program = program();
    let command = format!("stty cols {columns} rows {ROWS}; {settings} exec {program} {args}");
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &command, "/dev/null"]));
    Running::start(
        script
            .env("TERM", "xterm-256color")
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url),
    )
}

/// Returns what the screen shows after this output, without the empty rows at its end.
pub fn screen(output: &str, columns: u16) -> String {
    let side = |count| NonZero::new(count).unwrap();
    let mut terminal = vt100::Parser::new(side(ROWS), side(columns), 0);
    terminal.process(output.as_bytes());
    terminal.screen().contents()
}
