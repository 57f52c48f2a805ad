//! The single reader of stdin.
//!
//! One prompt at a time has the keyboard. Keys that arrive while none is open wait in the terminal,
//! or in a conversation go to the text of the composer ([`watch()`]). A security prompt
//! ([`answer`]) takes none of them: keys that arrive before it is drawn, or before the keyboard was
//! quiet for [`QUIET`] after that, move to the composer's text, and pasted text is refused. This
//! module does not interpret answers.

#![expect(clippy::disallowed_methods, reason = "this is the owner of stdin")]

mod completion;
mod composer;
mod editor;
mod history;
mod images;
mod keys;
mod line;
mod list;
mod modes;
mod piped;
mod report;
mod screen;
mod watch;

pub(crate) use completion::{CommandWords, Completer, Words};
pub(crate) use composer::{Composed, Composer, Opening, SHOW_LAST, compose};
pub(crate) use images::{ImageSource, Images, ReadImage, shown_name};
pub(crate) use modes::{InputGuard, close};
pub(crate) use piped::{arrives_within, data};
pub(crate) use report::reports;
pub(crate) use watch::watch;

use super::Terminal;
use editor::Editor;
use keys::KeyDecoder;
pub(super) use keys::{Key, Named};
use line::PromptLine;
pub(super) use list::pick;
use modes::Screen;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    io::Errno,
    process::{Signal, kill_current_process_group},
};
use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _},
    os::fd::OwnedFd,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
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

/// The time after an Escape in which the rest of a sequence arrives, also over a slow connection.
const ESCAPE_DELAY: Duration = Duration::from_millis(60);

/// The marker of an input line.
const MARKER: &str = "> ";

static READER: LazyLock<Mutex<InputReader>> = LazyLock::new(Mutex::default);

/// The number of prompts that wait for the keyboard, which [`watch()`] leaves to them.
static CLAIMS: AtomicUsize = AtomicUsize::new(0);

/// The number of calls of [`abandon`]; a prompt ends when it changes.
static ABANDONED: AtomicU64 = AtomicU64::new(0);

/// True if the terminal has another size than when it was last asked for.
static IS_RESIZED: AtomicBool = AtomicBool::new(false);

/// Readable when the owner of the keyboard is to look at the values above.
static WAKE: LazyLock<Option<OwnedFd>> =
    LazyLock::new(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok());

/// Input state kept between lines.
#[derive(Debug, Default)]
struct InputReader {
    decoder: KeyDecoder,
    /// Keys that arrived with the end of the previous line.
    unread: VecDeque<Key>,
    /// The text of the composer, with what was typed while it was not open.
    editor: Editor,
    /// True if the terminal was asked about itself.
    was_asked: bool,
}

/// Exclusive access to the keyboard. Dropping it restores the terminal's modes.
struct Keyboard {
    reader: MutexGuard<'static, InputReader>,
    screen: Screen,
    prompt: PromptTicket,
}

/// A prompt that [`abandon`] ends: the value of [`ABANDONED`] when it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PromptTicket(u64);

/// The result of waiting for a key.
enum InputEvent {
    Key(Key),
    /// The timeout expired.
    Quiet,
    /// The process was stopped and resumed; the screen may show something else.
    Resumed,
    /// The terminal has another size.
    Resized,
    /// Another part of the program has woken the owner of the keyboard.
    Woken,
    /// There is no more input, no one waits for it, or the process ends.
    End,
}

/// The result of reading a line.
#[derive(Clone, Copy)]
enum LineEnd {
    Complete,
    Pasted,
    Resumed,
    End,
}

/// Reads a line that is not shown, such as a key; `None` at the end of the input.
pub(crate) fn hidden(terminal: &Terminal, question: &str) -> Option<String> {
    let mut keyboard = Keyboard::take(terminal)?;
    loop {
        terminal.note(question);
        let mut line = PromptLine::default();
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
        let mut line = PromptLine::default();
        let typed = match keyboard.wait_until_quiet(terminal) {
            LineEnd::Complete => keyboard.line(&mut line),
            ended => ended,
        };
        match typed {
            LineEnd::Complete => return Some(line.into_text()),
            LineEnd::Pasted => terminal.note("Pasted text is not accepted here. Please type it."),
            LineEnd::Resumed => {}
            LineEnd::End => return None,
        }
    }
}

/// True if stdin is a terminal, so the user can be asked.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Keeps the terminal's modes of a prompt between prompts, until it is dropped. Nothing that is
/// typed meanwhile is shown or lost.
#[derive(Debug)]
pub(crate) struct KeptModes(bool);

impl KeptModes {
    pub(crate) fn enter(terminal: &Terminal) -> Self {
        Self(modes::enter(screen(terminal)))
    }
}

impl Drop for KeptModes {
    fn drop(&mut self) {
        if self.0 {
            modes::leave();
        }
    }
}

/// Ends the prompts that were asked for so far, whose callers have gone.
pub(crate) fn abandon() {
    ABANDONED.fetch_add(1, Ordering::SeqCst);
    wake();
}

/// Has the composer draw itself for the new size of the terminal.
pub(crate) fn resized() {
    IS_RESIZED.store(true, Ordering::SeqCst);
    wake();
}

/// Wakes the owner of the keyboard.
fn wake() {
    if let Some(wake) = WAKE.as_ref() {
        // Full means that it is woken already.
        let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
    }
}

/// Returns the output that shows what is typed.
fn screen(terminal: &Terminal) -> Screen {
    match (terminal.stderr, terminal.stdout) {
        (true, _) => Screen::Stderr,
        (false, true) => Screen::Stdout,
        (false, false) => Screen::Nowhere,
    }
}

impl PromptTicket {
    pub(super) fn new() -> Self {
        Self(ABANDONED.load(Ordering::SeqCst))
    }

    fn is_abandoned(self) -> bool {
        self != Self::new()
    }
}

impl Keyboard {
    /// Takes the keyboard for a prompt; `None` if stdin is no terminal, or it was abandoned.
    fn take(terminal: &Terminal) -> Option<Self> {
        CLAIMS.fetch_add(1, Ordering::SeqCst);
        wake();
        let keyboard = Self::lock(terminal);
        CLAIMS.fetch_sub(1, Ordering::SeqCst);
        keyboard
    }

    fn lock(terminal: &Terminal) -> Option<Self> {
        Self::hold(
            terminal,
            READER.lock().unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn hold(terminal: &Terminal, reader: MutexGuard<'static, InputReader>) -> Option<Self> {
        let prompt = terminal.prompt.unwrap_or_else(PromptTicket::new);
        let screen = screen(terminal);
        let has_keyboard = !prompt.is_abandoned() && modes::enter(screen);
        has_keyboard.then_some(Self {
            reader,
            screen,
            prompt,
        })
    }

    /// Moves keys to the composer's text until the keyboard is quiet.
    fn wait_until_quiet(&mut self, terminal: &Terminal) -> LineEnd {
        let deadline = Instant::now() + MAX_SETTLE;
        loop {
            match self.next(Some(QUIET)) {
                InputEvent::Key(key) => self.reader.editor.type_ahead(key),
                InputEvent::Quiet if !self.reader.decoder.in_paste() => return LineEnd::Complete,
                InputEvent::Quiet | InputEvent::Resized | InputEvent::Woken => {}
                InputEvent::Resumed => return LineEnd::Resumed,
                InputEvent::End => return LineEnd::End,
            }
            if Instant::now() > deadline {
                terminal.note("Input is arriving without a pause, so nothing was decided.");
                return LineEnd::End;
            }
        }
    }

    /// Reads a line of a security prompt.
    fn line(&mut self, line: &mut PromptLine) -> LineEnd {
        self.show(MARKER);
        let typed = loop {
            match self.next(None) {
                InputEvent::Key(Key::Enter) => break LineEnd::Complete,
                InputEvent::Key(Key::End) if line.is_empty() => break LineEnd::End,
                InputEvent::Key(Key::PasteBegins) => break self.refuse_paste(),
                InputEvent::Key(key) => {
                    let shown = line.press(key);
                    self.show(&shown);
                }
                InputEvent::Quiet | InputEvent::Resized | InputEvent::Woken => {}
                InputEvent::Resumed => break LineEnd::Resumed,
                InputEvent::End => break LineEnd::End,
            }
        };
        self.show("\n");
        typed
    }

    /// Reads a line without an echo. A pasted line break ends it, too.
    fn hidden_line(&mut self, line: &mut PromptLine) -> LineEnd {
        self.show(MARKER);
        let typed = loop {
            match self.next(None) {
                InputEvent::Key(Key::Enter) if !line.is_empty() => break LineEnd::Complete,
                InputEvent::Key(Key::End) if line.is_empty() => break LineEnd::End,
                InputEvent::Key(key) => drop(line.press(key)),
                InputEvent::Quiet | InputEvent::Resized | InputEvent::Woken => {}
                InputEvent::Resumed => break LineEnd::Resumed,
                InputEvent::End => break LineEnd::End,
            }
        };
        self.show("\n");
        typed
    }

    /// Reads a paste to its end and discards it.
    fn refuse_paste(&mut self) -> LineEnd {
        while self.reader.decoder.in_paste() {
            match self.next(Some(MAX_SETTLE)) {
                InputEvent::Key(_) | InputEvent::Resized | InputEvent::Woken => {}
                // The end mark was lost.
                InputEvent::Quiet | InputEvent::End => return LineEnd::End,
                InputEvent::Resumed => return LineEnd::Resumed,
            }
        }
        // Keys that arrived with the paste are discarded, too.
        self.reader.unread.clear();
        LineEnd::Pasted
    }

    /// Waits for a key of a security prompt; one that stands for a signal sends it.
    fn next(&mut self, timeout: Option<Duration>) -> InputEvent {
        loop {
            match self.reader.unread.pop_front() {
                Some(Key::Interrupt) => return self.interrupt(Signal::INT),
                Some(Key::Quit) => return self.interrupt(Signal::QUIT),
                Some(Key::Suspend) => return self.suspend(),
                Some(key) => return InputEvent::Key(key),
                None => {}
            }
            if let Some(event) = self.fill(timeout) {
                return event;
            }
        }
    }

    /// Waits for a key of the composer, for which Escape is a key, and Ctrl-C no signal.
    fn key(&mut self, timeout: Option<Duration>) -> InputEvent {
        loop {
            match self.event(timeout) {
                InputEvent::Woken => {}
                event => return event,
            }
        }
    }

    /// Waits for a key, or until something wakes the owner of the keyboard.
    fn event(&mut self, timeout: Option<Duration>) -> InputEvent {
        loop {
            if let Some(key) = self.reader.unread.pop_front() {
                return InputEvent::Key(key);
            }
            let in_escape = self.reader.decoder.in_escape();
            let timeout = if in_escape {
                Some(ESCAPE_DELAY)
            } else {
                timeout
            };
            match self.fill(timeout) {
                Some(InputEvent::Quiet) if in_escape => {
                    return InputEvent::Key(self.reader.decoder.end_escape());
                }
                Some(event) => return event,
                None => {}
            }
        }
    }

    /// Reads available bytes into `unread`; `None` if there may be a key now.
    fn fill(&mut self, timeout: Option<Duration>) -> Option<InputEvent> {
        let stdin = io::stdin();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut ready = vec![PollFd::new(&stdin, PollFlags::IN)];
        ready.extend(WAKE.iter().map(|wake| PollFd::new(wake, PollFlags::IN)));
        match poll(&mut ready, timeout.as_ref()) {
            Ok(0) => return Some(InputEvent::Quiet),
            Ok(_) => {}
            Err(Errno::INTR) => return None,
            Err(_) => return Some(InputEvent::End),
        }
        let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        if modes::is_closed() {
            return Some(InputEvent::End);
        }
        if is_ready(ready.get(1)) {
            return Some(self.woken());
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(count @ 1..) => {
                let InputReader {
                    decoder, unread, ..
                } = &mut *self.reader;
                for &byte in bytes.iter().take(count) {
                    decoder.feed(byte, unread);
                }
                None
            }
            Err(Errno::INTR) => None,
            Ok(_) | Err(_) => Some(InputEvent::End),
        }
    }

    /// Returns why the owner of the keyboard was woken.
    fn woken(&self) -> InputEvent {
        if let Some(wake) = WAKE.as_ref() {
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
        if self.prompt.is_abandoned() {
            return InputEvent::End;
        }
        match IS_RESIZED.swap(false, Ordering::SeqCst) {
            true => InputEvent::Resized,
            false => InputEvent::Woken,
        }
    }

    /// Sends a signal that ends the process or its turn. Keys after it are no answer, however long
    /// its handling takes.
    fn interrupt(&mut self, signal: Signal) -> InputEvent {
        modes::pause();
        let _ = kill_current_process_group(signal);
        std::thread::sleep(SIGNAL_GRACE);
        modes::unpause(self.screen);
        InputEvent::End
    }

    /// Stops the process with the shell's terminal modes restored. The signal takes a moment to
    /// arrive.
    fn suspend(&mut self) -> InputEvent {
        modes::pause();
        let _ = kill_current_process_group(Signal::TSTP);
        std::thread::sleep(SIGNAL_GRACE);
        if modes::unpause(self.screen) {
            InputEvent::Resumed
        } else {
            InputEvent::End
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
