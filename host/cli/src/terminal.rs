//! The only place that writes to stdout and stderr. stdout carries answers and machine data; everything for people who watch
//! goes to stderr. Text that comes from a model or a tool is shown with its control characters made harmless.

mod audit;
mod live;
mod prompt;
mod question;
mod result;
mod text;

pub(crate) use agent_host_core::text::{harmless, harmless_line};
pub(crate) use audit::audit_line;
pub(crate) use live::LiveView;
pub(crate) use prompt::{Review, Verdict, read_line};
pub(crate) use question::ask_question;
pub(crate) use result::{failure_text, summary, whole};
pub(crate) use text::{bytes, date, micros, one_line, shrunk};

use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal as _, Write as _};

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
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }

    /// Writes to stdout. A reader that went away (a closed pipe) is no fault of ours: there is nobody left to tell.
    pub(crate) fn print(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a line to stdout.
    pub(crate) fn println(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Writes bytes to stdout as they are.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Writes a line to stderr. Colours are left out where stderr is no terminal or `NO_COLOR` is set.
    pub(crate) fn note(&self, text: &str) {
        let mut err = anstream::stderr().lock();
        let _ = writeln!(err, "{text}");
    }

    /// Writes an error to stderr.
    pub(crate) fn error(&self, text: &str) {
        self.note(&format!("{RED}error:{RED:#} {}", harmless(text)));
    }
}
