//! The single reader of stdin.
//!
//! While no prompt is open, the terminal buffers what is typed, and [`compose`] takes it as the
//! next line. A security prompt ([`answer`]) never does: keys that arrive before it is drawn, or
//! before the keyboard was quiet for [`QUIET`] after that, move to the composer's next line, and
//! pasted text is refused. This module does not interpret answers.

#![expect(clippy::disallowed_methods, reason = "this is the owner of stdin")]

mod keys;
mod line;
mod modes;

pub(crate) use modes::{InputGuard, close};

use super::Terminal;
use crate::exit::Failure;
use keys::{Decoder, Key};
use line::Line;
use modes::Screen;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Signal, kill_current_process_group},
};
use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, Read as _},
    sync::{LazyLock, Mutex, MutexGuard, TryLockError},
    time::{Duration, Instant},
};

/// The time without keys after a security prompt is drawn, before keys count as an answer. Longer
/// than the pauses of a connection that delivers one paste in pieces, and shorter than it takes to
/// read the question.
const QUIET: Duration = Duration::from_millis(400);

/// The maximum wait for [`QUIET`]; then the prompt is put off, since input that never stops is not
/// typed by the user.
const MAX_SETTLE: Duration = Duration::from_secs(5);

/// The time for a signal to stop or end the process before the prompt resumes.
const SIGNAL_GRACE: Duration = Duration::from_millis(500);

/// The marker of an input line.
const MARKER: &str = "> ";

static READER: LazyLock<Mutex<Reader>> = LazyLock::new(Mutex::default);

/// Input state kept between lines.
#[derive(Debug, Default)]
struct Reader {
    decoder: Decoder,
    /// Keys that arrived with the end of the previous line.
    unread: VecDeque<Key>,
    /// Keys that a security prompt did not take: the start of the composer's next line.
    typed_ahead: Line,
}

/// Exclusive access to the keyboard. Dropping it restores the terminal's modes.
struct Keyboard {
    reader: MutexGuard<'static, Reader>,
    screen: Screen,
}

/// The result of waiting for a key.
enum Event {
    Key(Key),
    /// The timeout expired.
    Quiet,
    /// The process was stopped and resumed; the screen may show something else.
    Resumed,
    /// There is no more input, or the process ends.
    End,
}

/// The result of reading a line.
enum LineEnd {
    Complete,
    Pasted,
    Resumed,
    End,
}

/// The treatment of pasted text.
#[derive(Clone, Copy, PartialEq)]
enum PastePolicy {
    Accept,
    Refuse,
}

/// Reads the user's next line, starting with what was typed before a security prompt took the
/// keyboard; `None` at the end of the input.
pub(crate) fn compose(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    let mut line = std::mem::take(&mut keyboard.reader.typed_ahead);
    loop {
        terminal.note(question);
        match keyboard.line(&mut line, PastePolicy::Accept) {
            LineEnd::Complete => return Some(line.into_text()),
            LineEnd::Pasted | LineEnd::Resumed => {}
            LineEnd::End => return None,
        }
    }
}

/// Reads a line that is not shown, such as a key; `None` at the end of the input.
pub(crate) fn hidden(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    loop {
        terminal.note(question);
        let mut line = Line::default();
        match keyboard.hidden_line(&mut line) {
            LineEnd::Complete => return Some(line.into_text()),
            LineEnd::Pasted | LineEnd::Resumed => {}
            LineEnd::End => return None,
        }
    }
}

/// Draws a security prompt and reads its answer: one line typed after the prompt was drawn and the
/// keyboard was quiet. `None`, meaning not now, at the end of the input, if stdin is no terminal,
/// or while input arrives without a pause.
///
/// Every question whose answer may have an effect passes through this function, one at a time.
/// `question` is the whole prompt, drawn again after refused pasted text or a stop of the process;
/// its last line names the decision.
pub(crate) fn answer(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    loop {
        terminal.note(question);
        let mut line = Line::default();
        let typed = match keyboard.wait_until_quiet(terminal) {
            LineEnd::Complete => keyboard.line(&mut line, PastePolicy::Refuse),
            ended => ended,
        };
        match typed {
            LineEnd::Complete => return Some(line.into_text()),
            LineEnd::Pasted => terminal.note("Pasted text is no answer here. Please type it."),
            LineEnd::Resumed => {}
            LineEnd::End => return None,
        }
    }
}

/// True if stdin is a terminal, so the user can be asked.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Reads at most `max_bytes` of standard input as data, which answers no prompt. An error names the
/// data as `what`.
///
/// # Errors
/// When stdin cannot be read, or is not UTF-8.
pub(crate) fn data(max_bytes: u64, what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let mut input = io::stdin().take(max_bytes);
    input.read_to_string(&mut text).map_err(|error| {
        Failure::usage(format!("cannot read {what} from standard input: {error}"))
    })?;
    Ok(text)
}

impl Keyboard {
    /// Returns `None` if stdin is no terminal, or an abandoned prompt still waits for keys.
    fn take(terminal: &Terminal) -> Option<Self> {
        let reader = match READER.try_lock() {
            Ok(reader) => reader,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let screen = match (terminal.stderr, terminal.stdout) {
            (true, _) => Screen::Stderr,
            (false, true) => Screen::Stdout,
            (false, false) => Screen::Nowhere,
        };
        modes::enter(screen).then_some(Self { reader, screen })
    }

    /// Moves keys to the composer's line until the keyboard is quiet.
    fn wait_until_quiet(&mut self, terminal: &Terminal) -> LineEnd {
        let deadline = Instant::now() + MAX_SETTLE;
        loop {
            match self.next(Some(QUIET)) {
                Event::Key(Key::Enter) => drop(self.reader.typed_ahead.press(Key::Char(' '))),
                Event::Key(key) => drop(self.reader.typed_ahead.press(key)),
                Event::Quiet if !self.reader.decoder.in_paste() => return LineEnd::Complete,
                Event::Quiet => {}
                Event::Resumed => return LineEnd::Resumed,
                Event::End => return LineEnd::End,
            }
            if Instant::now() > deadline {
                terminal.note("Input arrives without a pause, so nothing is decided now.");
                return LineEnd::End;
            }
        }
    }

    /// Shows the line so far and reads the rest of it.
    fn line(&mut self, line: &mut Line, pastes: PastePolicy) -> LineEnd {
        self.show(&format!("{MARKER}{}", line.shown()));
        let mut is_pasted = false;
        let typed = loop {
            match self.next(None) {
                Event::Key(Key::Enter) if !is_pasted => break LineEnd::Complete,
                Event::Key(Key::End) if line.is_empty() => break LineEnd::End,
                Event::Key(Key::PasteBegins) if pastes == PastePolicy::Refuse => {
                    break self.refuse_paste();
                }
                Event::Key(key) => {
                    is_pasted = key == Key::PasteBegins || is_pasted && key != Key::PasteEnds;
                    let shown = line.press(key);
                    self.show(&shown);
                }
                Event::Quiet => {}
                Event::Resumed => break LineEnd::Resumed,
                Event::End => break LineEnd::End,
            }
        };
        self.show("\n");
        typed
    }

    /// Reads a line without an echo. A pasted line break ends it, too.
    fn hidden_line(&mut self, line: &mut Line) -> LineEnd {
        self.show(MARKER);
        let typed = loop {
            match self.next(None) {
                Event::Key(Key::Enter) if !line.is_empty() => break LineEnd::Complete,
                Event::Key(Key::End) if line.is_empty() => break LineEnd::End,
                Event::Key(key) => drop(line.press(key)),
                Event::Quiet => {}
                Event::Resumed => break LineEnd::Resumed,
                Event::End => break LineEnd::End,
            }
        };
        self.show("\n");
        typed
    }

    /// Reads a paste to its end and discards it.
    fn refuse_paste(&mut self) -> LineEnd {
        while self.reader.decoder.in_paste() {
            match self.next(Some(MAX_SETTLE)) {
                Event::Key(_) => {}
                // The end mark was lost.
                Event::Quiet | Event::End => return LineEnd::End,
                Event::Resumed => return LineEnd::Resumed,
            }
        }
        // Keys that arrived with the paste are discarded, too.
        self.reader.unread.clear();
        LineEnd::Pasted
    }

    /// Waits for a key; one that stands for a signal sends it.
    fn next(&mut self, timeout: Option<Duration>) -> Event {
        loop {
            match self.reader.unread.pop_front() {
                Some(Key::Interrupt) => return self.interrupt(Signal::INT),
                Some(Key::Quit) => return self.interrupt(Signal::QUIT),
                Some(Key::Suspend) => return self.suspend(),
                Some(key) => return Event::Key(key),
                None => {}
            }
            if let Some(event) = self.fill(timeout) {
                return event;
            }
        }
    }

    /// Reads available bytes into `unread`; `None` if there may be a key now.
    fn fill(&mut self, timeout: Option<Duration>) -> Option<Event> {
        let stdin = io::stdin();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return Some(Event::Quiet),
            Ok(_) => {}
            Err(Errno::INTR) => return None,
            Err(_) => return Some(Event::End),
        }
        if modes::is_closed() {
            return Some(Event::End);
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(count @ 1..) => {
                let Reader {
                    decoder, unread, ..
                } = &mut *self.reader;
                let bytes = bytes.iter().take(count);
                unread.extend(bytes.filter_map(|&byte| decoder.feed(byte)));
                None
            }
            Err(Errno::INTR) => None,
            Ok(_) | Err(_) => Some(Event::End),
        }
    }

    /// Sends a signal that ends the process or its turn. Keys after it are no answer, however long
    /// its handling takes.
    fn interrupt(&mut self, signal: Signal) -> Event {
        modes::leave();
        let _ = kill_current_process_group(signal);
        std::thread::sleep(SIGNAL_GRACE);
        Event::End
    }

    /// Stops the process with the shell's terminal modes restored. The signal takes a moment to
    /// arrive.
    fn suspend(&mut self) -> Event {
        modes::leave();
        let _ = kill_current_process_group(Signal::TSTP);
        std::thread::sleep(SIGNAL_GRACE);
        if modes::enter(self.screen) {
            Event::Resumed
        } else {
            Event::End
        }
    }

    /// Echoes typed text.
    fn show(&self, text: &str) {
        // A failed echo does not undo the key.
        let _ = match self.screen {
            Screen::Stdout => write(io::stdout(), text),
            Screen::Stderr => write(io::stderr(), text),
            Screen::Nowhere => Ok(()),
        };
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        modes::leave();
    }
}

fn write(mut screen: impl io::Write, text: &str) -> io::Result<()> {
    screen.write_all(text.as_bytes())?;
    screen.flush()
}
