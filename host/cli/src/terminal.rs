//! The only place that reads stdin, and that writes to stdout and stderr. stdout carries answers and machine data; everything for people who watch
//! goes to stderr. Text that comes from a model or a tool is shown with its control characters made harmless.

mod audit;
mod input;
mod live;
mod prompt;
mod question;
mod result;
mod stdout;
mod text;

pub(crate) use agent_host_engine::text::{escape, escape_line};
pub(crate) use audit::audit_line;
pub(crate) use input::{InputGuard, answer, close as close_input, compose, data as piped_input};
pub(crate) use live::LiveView;
pub(crate) use prompt::{Review, Verdict};
pub(crate) use question::ask_question;
pub(crate) use result::{failure_text, summary, whole};
pub(crate) use text::{bytes, date, json_lines, json_text, micros, one_line, shrunk, tool_name};

use crate::exit::Exit;
use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal as _, Write};
use stdout::Recorded;
use tokio_util::sync::CancellationToken;

/// Where this process writes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Whether stdin is a terminal: only then can a person be asked.
    pub(crate) stdin: bool,
    /// Whether stdout is a terminal: then text is shown as it arrives.
    pub(crate) stdout: bool,
    /// Whether stderr is a terminal: then it may have a spinner.
    pub(crate) stderr: bool,
}

/// For errors.
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
/// For what went well.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// For denials.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// For names.
pub(crate) const BOLD: Style = Style::new().bold();
/// For what matters less.
pub(crate) const DIM: Style = Style::new().dimmed();

impl Terminal {
    pub(crate) fn from_process() -> Self {
        Self {
            stdin: input::is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }

    /// How many columns a row of stderr has; what most have, where it does not say.
    pub(crate) fn columns(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(io::stderr());
        match size.map(|size| usize::from(size.ws_col)) {
            Ok(columns @ 1..) => columns,
            Ok(0) | Err(_) => 80,
        }
    }

    /// Writes to stdout. Like all of its writers it keeps an error for [`Terminal::exit`], and writes nothing after it.
    pub(crate) fn print(&self, text: &str) {
        write(anstream::stdout().lock(), text.as_bytes());
    }

    /// Writes a line to stdout.
    pub(crate) fn println(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Writes bytes to stdout as they are.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) {
        write(io::stdout().lock(), bytes);
    }

    /// Returns a writer to stdout for whole documents. It never fails.
    pub(crate) fn writer(&self) -> impl Write + Send + use<> {
        Recorded(io::stdout())
    }

    /// Returns the token that is cancelled when a write to stdout fails.
    pub(crate) fn stdout_failed(&self) -> &'static CancellationToken {
        stdout::failed()
    }

    /// True if the reader of stdout closed its pipe.
    pub(crate) fn stdout_is_closed(&self) -> bool {
        stdout::error().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns how a command that ended with `exit` ends the process: an answer that was not written was not given. A closed
    /// pipe needs no words.
    pub(crate) fn exit(&self, exit: Exit) -> Exit {
        match stdout::error() {
            None => exit,
            Some(_) if self.stdout_is_closed() => Exit::PipeClosed,
            Some(error) => {
                self.error(&format!("could not write the answer to stdout: {error}"));
                Exit::Failed
            }
        }
    }

    /// Writes a line to stderr. Colours are left out where stderr is no terminal or `NO_COLOR` is set.
    pub(crate) fn note(&self, text: &str) {
        let mut err = anstream::stderr().lock();
        let _ = writeln!(err, "{text}");
    }

    /// Writes an error to stderr.
    pub(crate) fn error(&self, text: &str) {
        self.note(&format!("{RED}error:{RED:#} {}", escape(text)));
    }
}

fn write(out: impl Write, bytes: &[u8]) {
    let mut out = Recorded(out);
    // Neither fails: the error is kept.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
