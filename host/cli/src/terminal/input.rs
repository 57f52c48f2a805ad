//! The terminal's input, which has one owner: nothing else reads stdin.
//!
//! While nothing is asked, the terminal keeps what is typed. [`compose`] takes it up as the next line. A security prompt
//! ([`answer`]) never does: whatever arrives before its question was drawn, and until the keyboard was quiet for [`QUIET`] after
//! that, is moved to the composer's next line and answers nothing. Nor does pasted text answer it. It never decides what an
//! answer means.

#![expect(clippy::disallowed_methods, reason = "this is the owner of stdin")]

mod keys;
mod line;
mod modes;

pub(crate) use modes::{InputGuard, close};

use super::Terminal;
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

/// How long the keyboard has to be quiet after a security prompt was drawn, before keys are an answer. It is longer than the
/// pauses of a connection that delivers one paste in pieces, and shorter than it takes to read the question.
const QUIET: Duration = Duration::from_millis(400);

/// How long a security prompt waits for that. Then it is put off: input that never stops is no person's.
const MAX_NOISE: Duration = Duration::from_secs(5);

/// How long a signal is given to stop the process, or to end it, before the prompt resumes.
const SIGNAL_GRACE: Duration = Duration::from_millis(500);

/// What marks the line that takes keys.
const MARKER: &str = "> ";

static READER: LazyLock<Mutex<Reader>> = LazyLock::new(Mutex::default);

/// What is left from one line for the next.
#[derive(Debug, Default)]
struct Reader {
    decoder: Decoder,
    /// Keys that came with the end of the line before.
    unread: VecDeque<Key>,
    /// What arrived at a security prompt and was not for it: the beginning of the composer's next line.
    typed_ahead: Line,
}

/// Exclusive use of the keyboard. Dropping it puts the terminal's modes back.
struct Keyboard {
    reader: MutexGuard<'static, Reader>,
    screen: Screen,
}

/// What came of waiting for a key.
enum Event {
    Key(Key),
    /// Nothing came in time.
    Quiet,
    /// The process was stopped and resumed; the screen shows something else by now.
    Resumed,
    /// There is no more input, or the process ends.
    End,
}

/// What came of reading a line.
enum Typed {
    Line,
    Pasted,
    Resumed,
    End,
}

/// What happens to pasted text.
#[derive(Clone, Copy, PartialEq)]
enum Pastes {
    Taken,
    Refused,
}

/// Reads the user's next line, which begins with what they typed before a security prompt took the keyboard. Nothing at the
/// end of the input.
pub(crate) fn compose(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    let mut line = std::mem::take(&mut keyboard.reader.typed_ahead);
    loop {
        terminal.note(question);
        match keyboard.line(&mut line, Pastes::Taken) {
            Typed::Line => return Some(line.into_text()),
            Typed::Pasted | Typed::Resumed => {}
            Typed::End => return None,
        }
    }
}

/// Draws a security prompt and reads its answer: one line that was typed after the prompt was drawn and the keyboard quiet.
/// Nothing at the end of the input, where stdin is no terminal, or while input arrives that does not stop: not now.
///
/// Every question whose answer may have an effect is asked by this, each by itself. `question` is all of the prompt and is
/// drawn again where pasted text was refused or the process was stopped; its last line says what is decided.
pub(crate) fn answer(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    loop {
        terminal.note(question);
        let mut line = Line::default();
        let typed = match keyboard.settle(terminal) {
            Typed::Line => keyboard.line(&mut line, Pastes::Refused),
            unsettled => unsettled,
        };
        match typed {
            Typed::Line => return Some(line.into_text()),
            Typed::Pasted => terminal.note("Pasted text is no answer here. Please type it."),
            Typed::Resumed => {}
            Typed::End => return None,
        }
    }
}

/// Whether stdin is a terminal, so that something can be asked there.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Reads standard input to its end: as data, which answers nothing.
///
/// # Errors
/// When it cannot be read, or is not UTF-8.
pub(crate) fn data(max_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    io::stdin().take(max_bytes).read_to_string(&mut text)?;
    Ok(text)
}

impl Keyboard {
    /// Nothing where stdin is no terminal, or something that was abandoned still waits for keys.
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

    /// Moves what is typed to the composer until nothing is typed any more.
    fn settle(&mut self, terminal: &Terminal) -> Typed {
        let patience = Instant::now() + MAX_NOISE;
        loop {
            match self.next(Some(QUIET)) {
                Event::Key(Key::Enter) => drop(self.reader.typed_ahead.press(Key::Char(' '))),
                Event::Key(key) => drop(self.reader.typed_ahead.press(key)),
                Event::Quiet if !self.reader.decoder.in_paste() => return Typed::Line,
                Event::Quiet => {}
                Event::Resumed => return Typed::Resumed,
                Event::End => return Typed::End,
            }
            if Instant::now() > patience {
                terminal.note("Input arrives without a pause, so nothing is decided now.");
                return Typed::End;
            }
        }
    }

    /// Shows the line so far, and reads the rest of it.
    fn line(&mut self, line: &mut Line, pastes: Pastes) -> Typed {
        self.show(&format!("{MARKER}{}", line.shown()));
        let mut is_pasted = false;
        let typed = loop {
            match self.next(None) {
                Event::Key(Key::Enter) if !is_pasted => break Typed::Line,
                Event::Key(Key::End) if line.is_empty() => break Typed::End,
                Event::Key(Key::PasteBegins) if pastes == Pastes::Refused => {
                    break self.refuse_paste();
                }
                Event::Key(key) => {
                    is_pasted = key == Key::PasteBegins || is_pasted && key != Key::PasteEnds;
                    let shown = line.press(key);
                    self.show(&shown);
                }
                Event::Quiet => {}
                Event::Resumed => break Typed::Resumed,
                Event::End => break Typed::End,
            }
        };
        self.show("\n");
        typed
    }

    /// Reads a paste to its end, and forgets it.
    fn refuse_paste(&mut self) -> Typed {
        while self.reader.decoder.in_paste() {
            match self.next(Some(MAX_NOISE)) {
                Event::Key(_) => {}
                // Its end was lost.
                Event::Quiet | Event::End => return Typed::End,
                Event::Resumed => return Typed::Resumed,
            }
        }
        // The decoder has seen the end, and maybe more: all that came with the paste goes with it.
        self.reader.unread.clear();
        Typed::Pasted
    }

    /// Waits for a key. Keys that send a signal send it.
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

    /// Reads what there is; nothing when there is something now.
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

    /// Sends a signal that ends things. What is typed after it is no answer, however long its handling takes.
    fn interrupt(&mut self, signal: Signal) -> Event {
        modes::leave();
        let _ = kill_current_process_group(signal);
        std::thread::sleep(SIGNAL_GRACE);
        Event::End
    }

    /// Stops the process, with the terminal as its shell wants it. The signal is on its way for a moment.
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

    /// Shows what is typed where it would be echoed.
    fn show(&self, text: &str) {
        // What cannot be shown has been typed nevertheless.
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
