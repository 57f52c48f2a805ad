//! The program on a pseudo-terminal of a size, whose screen a terminal emulator draws.

use super::{
    TestEnv,
    chat::ChatServer,
    program,
    running::{PATIENCE, Running},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};
use std::{num::NonZero, process::Command, time::Instant};

/// The rows of every screen.
pub const ROWS: u16 = 24;

/// A program on a terminal (by `script`, from util-linux). Dropping it ends the program.
pub struct OnScreen {
    running: Running,
    /// The device of the terminal.
    terminal: String,
    /// The process of the program.
    pid: Pid,
    screen: vt100::Parser,
    /// Everything that was written, for what no screen keeps.
    pub written: Vec<u8>,
}

impl OnScreen {
    /// Starts the program with these arguments on a terminal of this width.
    pub fn start(env: &TestEnv, server: &ChatServer, columns: u16, args: &[&str]) -> Self {
        Self::start_with(env, server, columns, "", args)
    }

    /// Starts it with variables, as a shell sets them.
    pub fn start_with(
        env: &TestEnv,
        server: &ChatServer,
        columns: u16,
        settings: &str,
        args: &[&str],
    ) -> Self {
        let args = args.join(" ");
        let command = format!(
            "tty; echo $$; stty cols {columns} rows {ROWS}; {settings} exec {} {args}",
            program()
        );
        let mut script = Command::new("script");
        env.prepare(script.args(["-qec", &command, "/dev/null"]));
        let mut running = Running::start(
            script
                .env("TERM", "xterm")
                .env("OPENAI_COMPAT_BASE_URL", &server.base_url),
        );
        let mut said = || running.stdout.next_line().trim().to_owned();
        let (terminal, pid) = (said(), said().parse().unwrap());
        Self {
            running,
            terminal,
            pid: Pid::from_raw(pid).unwrap(),
            screen: vt100::Parser::new(side(ROWS), side(columns), 0),
            written: Vec::new(),
        }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: impl AsRef<[u8]>) {
        self.running.types_bytes(keys.as_ref());
    }

    /// Returns the rows of the screen, without spaces at their ends and empty rows at its end.
    pub fn rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Returns the row and the column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.screen.screen().cursor_position()
    }

    /// Waits until the screen is as expected.
    pub fn until(&mut self, expected: impl Fn(&[String]) -> bool) {
        self.until_true(|screen| expected(&screen.rows()));
    }

    /// Waits until this was written, which may be nothing that the screen shows.
    pub fn until_written(&mut self, expected: &str) {
        self.until_true(|screen| String::from_utf8_lossy(&screen.written).contains(expected));
    }

    fn until_true(&mut self, is_expected: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_expected(self) {
            match self.running.stdout.next_piece(deadline) {
                Ok(piece) => {
                    self.screen.process(&piece);
                    self.written.extend(piece);
                }
                Err(why) => panic!("the screen is not as expected ({why}): {:#?}", self.rows()),
            }
        }
    }

    /// Waits until a row of the screen is this one.
    pub fn until_row(&mut self, expected: &str) {
        self.until(|rows| rows.iter().any(|row| row == expected));
    }

    /// Waits until the screen contains a text, which may be wrapped in or between words.
    pub fn until_text(&mut self, expected: &str) {
        let expected = expected.replace(' ', "");
        self.until(|rows| rows.concat().replace(' ', "").contains(&expected));
    }

    /// Waits until the last row is this one.
    pub fn until_last_row(&mut self, expected: &str) {
        self.until(|rows| rows.last().is_some_and(|row| row == expected));
    }

    /// Gives the terminal another width.
    pub fn resize(&mut self, columns: u16) {
        self.screen.screen_mut().set_size(side(ROWS), side(columns));
        let columns = columns.to_string();
        let mut stty = Command::new("stty");
        let set = stty.args(["-F", &self.terminal, "cols", &columns]).status();
        assert!(set.unwrap().success());
    }

    /// Closes the terminal's window, and waits for the end of the program.
    pub fn hang_up(self) {
        let program = pidfd_open(self.pid, PidfdFlags::empty()).unwrap();
        self.running.signal(Signal::KILL);
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let mut ended = [PollFd::new(&program, PollFlags::IN)];
        assert_eq!(poll(&mut ended, Some(&patience)), Ok(1), "it does not end");
    }

    /// Waits for the end, and returns the exit code.
    pub fn end(self) -> Option<i32> {
        self.running.end().code
    }
}

fn side(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

/// The rows of the screen: more than a test needs.
const TALL: u16 = 100;

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
    let command = format!("stty cols {columns} rows {TALL}; {settings} exec {program} {args}");
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
    let mut terminal = vt100::Parser::new(side(TALL), side(columns), 0);
    terminal.process(output.as_bytes());
    terminal.screen().contents()
}
