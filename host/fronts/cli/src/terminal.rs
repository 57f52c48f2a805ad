//! The only module that reads stdin and writes stdout or stderr. stdout carries answers and machine
//! data, stderr everything else. Text of a model or a tool is shown with its control characters
//! escaped, and [`guarded`] is the last step of everything that a terminal shows, except for pictures,
//! which are encoded here.

mod calls;
mod elicitation;
mod form;
mod guard;
mod input;
mod live;
mod markdown;
mod pictures;
mod prompt;
mod question;
mod reasoning;
mod result;
mod spinner;
mod stdout;
mod text;

pub(crate) use agent_host_engine::text::{escape, escape_line};
pub(crate) use calls::call_line;
pub(crate) use elicitation::TerminalUser;
pub(crate) use guard::{GuardedStderr, guarded};
pub(crate) use input::{
    CommandWords, Completer, Composed, Composer, ImageSource, Images, InputGuard, KeptModes,
    Opening, ReadImage, SHOW_LAST, Words, abandon as abandon_prompt, answer,
    arrives_within as input_arrives_within, close as close_input, compose, data as piped_input,
    hidden, resized as resize_composer, shown_name, watch as watch_keyboard,
};
pub(crate) use live::LiveView;
pub(crate) use prompt::{BatchList, BatchReply, Review, Reviewed};
pub(crate) use question::{ask_question, choice_indexes, chosen};
pub(crate) use result::{full_text, outcome_style, summary};
pub(crate) use text::{
    at_words, audit_line, bytes, count, counted, date, dollars, duration, fitted, json_lines,
    json_text, micros, one_line, packed, path_text, section, size_change, tool_name, truncated,
    verdict_line,
};

use crate::{exit::Exit, log};
use anstyle::{AnsiColor, Style};
use input::PromptTicket;
use serde_json::Value;
use std::io::{self, IsTerminal as _, Write};
use stdout::ErrorRecorder;
use tokio_util::sync::CancellationToken;

/// The standard streams of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// True if stdin is a terminal, so the user can be asked.
    pub(crate) stdin: bool,
    /// True if stdout is a terminal, so text is streamed to it.
    pub(crate) stdout: bool,
    /// True if stderr is a terminal, so it may have a spinner.
    pub(crate) stderr: bool,
    /// The prompt that this copy is for.
    prompt: Option<PromptTicket>,
}

/// The title of the terminal's window, restored when it is dropped.
#[derive(Debug)]
pub(crate) struct WindowTitle;

impl Drop for WindowTitle {
    fn drop(&mut self) {
        let _ = io::stderr().write_all(b"\x1b[23;2t");
    }
}

/// The longest title of a window, in characters.
const MAX_TITLE_CHARACTERS: usize = 60;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// For errors.
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
/// For successes.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// For denials.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// For names.
pub(crate) const BOLD: Style = Style::new().bold();
/// For details.
pub(crate) const DIM: Style = Style::new().dimmed();

impl Terminal {
    pub(crate) fn from_process() -> Self {
        Self {
            stdin: input::is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
            prompt: None,
        }
    }

    /// Returns a copy for one prompt, which an [`abandon_prompt`] from now on ends, also before it
    /// has the keyboard.
    pub(crate) fn for_prompt(&self) -> Self {
        Self {
            prompt: Some(PromptTicket::new()),
            ..*self
        }
    }

    /// True if the user can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.stdin && self.stderr
    }

    /// Returns the number of columns of stderr, or 80 where it is unknown.
    pub(crate) fn columns(&self) -> usize {
        self.size().columns
    }

    /// Returns the size of stderr; 80 columns and 24 rows where it is unknown.
    pub(crate) fn size(&self) -> Size {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
        let known = |side: Option<u16>, otherwise| match side {
            Some(side @ 1..) => usize::from(side),
            Some(0) | None => otherwise,
        };
        Size {
            columns: known(size.map(|size| size.ws_col), 80),
            rows: known(size.map(|size| size.ws_row), 24),
        }
    }

    /// Returns the size of stdout, or 80 columns and 24 rows where it is unknown.
    fn stdout_size(&self) -> Size {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
        let or = |count: u16, default: usize| match usize::from(count) {
            0 => default,
            count => count,
        };
        Size {
            columns: or(columns, 80),
            rows: or(rows, 24),
        }
    }

    /// Returns the number of columns of stdout, if it is a terminal.
    pub(crate) fn stdout_columns(&self) -> Option<usize> {
        self.stdout.then(|| self.stdout_size().columns)
    }

    /// True if Markdown is rendered on stdout: a terminal that knows colours and cursor movements,
    /// without `NO_COLOR`.
    fn shows_markdown(&self) -> bool {
        let choice = anstream::AutoStream::choice(&io::stdout());
        self.stdout && moves_cursor() && choice != anstream::ColorChoice::Never
    }

    /// True if a list can be drawn over itself on stderr.
    pub(crate) fn shows_lists(&self) -> bool {
        self.stderr && moves_cursor()
    }

    /// Writes to stdout. An error is kept for [`Terminal::exit`], and nothing is written after it.
    pub(crate) fn print(&self, text: &str) {
        self.print_raw(&guarded(text));
    }

    /// Writes text with movements of the cursor to stdout.
    fn print_raw(&self, text: &str) {
        write(anstream::stdout().lock(), text.as_bytes());
    }

    /// Writes a picture to stderr, of which the protocol's bytes reach the terminal as they are.
    fn note_picture(&self, drawn: &str) {
        // A picture that fails leaves the line of its call.
        let _ = io::stderr().write_all(drawn.as_bytes());
    }

    /// Writes a line to stdout.
    pub(crate) fn println(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Writes a line to stdout: a JSON document, or text for users.
    pub(crate) fn println_as(
        &self,
        as_json: bool,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) {
        self.println(&if as_json { json_text(&json()) } else { text() });
    }

    /// Writes text of a model or a tool to stdout: a pipe gets it as it is, and a terminal must not
    /// obey it.
    pub(crate) fn println_untrusted(&self, text: &str) {
        if self.stdout {
            self.println(&escape(text));
        } else {
            self.print_raw(&format!("{text}\n"));
        }
    }

    /// Writes bytes to stdout as they are.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) {
        write(io::stdout().lock(), bytes);
    }

    /// Returns a writer to stdout for whole documents; its writes never fail.
    pub(crate) fn writer(&self) -> impl Write + Send + use<> {
        ErrorRecorder(io::stdout())
    }

    /// Returns the token that is cancelled when a write to stdout fails.
    pub(crate) fn stdout_failed(&self) -> &'static CancellationToken {
        stdout::failed()
    }

    /// True if the reader of stdout closed its pipe.
    pub(crate) fn stdout_is_closed(&self) -> bool {
        stdout::error().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit of the process for a command's `exit`: failed if stdout could not be
    /// written, or `PipeClosed`, without a message, if its reader closed the pipe.
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

    /// Rings the bell, where stderr is a terminal.
    pub(crate) fn ring(&self) {
        if self.stderr {
            // A bell that fails tells nothing.
            let _ = io::stderr().write_all(b"\x07");
        }
    }

    /// Sets the title of the terminal's window until the value is dropped, where the terminal keeps
    /// one; `xterm`'s control sequences (its "Operating System Commands", and 22 and 23 of its
    /// window operations, which keep and restore the title).
    pub(crate) fn titled(&self, title: &str) -> Option<WindowTitle> {
        let keeps_title = std::env::var_os("TERM").is_some_and(|term| term != "linux");
        if !(keeps_title && self.shows_lists()) {
            return None;
        }
        let title = one_line(title, MAX_TITLE_CHARACTERS);
        let written = io::stderr().write_all(format!("\x1b[22;2t\x1b]2;{title}\x07").as_bytes());
        written.is_ok().then_some(WindowTitle)
    }

    /// Writes a line to stderr, without colours if stderr is no terminal or `NO_COLOR` is set.
    pub(crate) fn note(&self, text: &str) {
        if log::is_json() {
            return log::write_message("INFO", text);
        }
        let mut err = anstream::stderr().lock();
        let _ = writeln!(err, "{}", guarded(text));
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&self, text: &str) {
        match log::is_json() {
            true => log::write_message("WARN", text),
            false => self.note(&format!("{YELLOW}warning:{YELLOW:#} {text}")),
        }
    }

    /// Writes lines to stderr, on a terminal broken between words. For text that is read, and never
    /// for a command, which is pasted as it is.
    pub(crate) fn note_at_words(&self, text: &str) {
        match self.stderr {
            true => self.note(&at_words(text, self.columns())),
            false => self.note(text),
        }
    }

    /// Writes an error to stderr.
    pub(crate) fn error(&self, text: &str) {
        match log::is_json() {
            true => log::write_message("ERROR", text),
            false => self.note(&format!("{RED}error:{RED:#} {}", escape(text))),
        }
    }
}

/// Whether the terminal knows movements of the cursor.
fn moves_cursor() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

fn write(out: impl Write, bytes: &[u8]) {
    let mut out = ErrorRecorder(out);
    // Cannot fail: `ErrorRecorder` keeps the error.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
