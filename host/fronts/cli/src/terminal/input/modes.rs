//! Terminal modes while keys are read: they arrive one by one without echo, pasted text is marked,
//! and signal keys arrive as bytes, so that the modes are restored before the signal is sent. A
//! conversation keeps them between its prompts, so that the terminal's own line editor, which
//! discards what exceeds 4,095 bytes, never sees a key.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    },
};
use std::{
    io,
    os::fd::AsFd,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Sequences that turn bracketed paste mode on and off.
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const DO_NOT_MARK_PASTES: &[u8] = b"\x1b[?2004l";

static MODES: Mutex<Modes> = Mutex::new(Modes {
    before: None,
    depth: 0,
    closed: false,
});

struct Modes {
    /// The original modes, while they are changed.
    before: Option<(Termios, Screen)>,
    /// The number of users of the changed modes.
    depth: usize,
    /// Set when the process ends: the modes are not changed again.
    closed: bool,
}

/// The output that echoes typed text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Screen {
    Stdout,
    Stderr,
    /// Neither is a terminal.
    Nowhere,
}

/// Changes the modes until [`leave`]; returns false if stdin is no terminal or the process ends.
pub(super) fn enter(screen: Screen) -> bool {
    let mut modes = locked();
    let entered = change(&mut modes, screen);
    modes.depth += usize::from(entered);
    entered
}

/// Restores the modes, if this is the last of their users.
pub(super) fn leave() {
    let mut modes = locked();
    modes.depth = modes.depth.saturating_sub(1);
    if modes.depth == 0 {
        restore(&mut modes);
    }
}

/// Restores the modes while something else has the terminal, such as the shell that stopped this
/// process.
pub(super) fn pause() {
    restore(&mut locked());
}

/// Changes the modes again after [`pause`]; returns false if the process ends.
pub(super) fn unpause(screen: Screen) -> bool {
    let mut modes = locked();
    modes.depth == 0 || change(&mut modes, screen)
}

fn change(modes: &mut Modes, screen: Screen) -> bool {
    if modes.closed {
        return false;
    }
    if modes.before.is_some() {
        return true;
    }
    let Ok(before) = tcgetattr(io::stdin()) else {
        return false;
    };
    let mut changed = before.clone();
    let local = &mut changed.local_modes;
    local.remove(LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN);
    local.remove(LocalModes::ECHO | LocalModes::ECHONL);
    // Otherwise a pasted line break of two characters would be two of them.
    changed.input_modes.remove(InputModes::ICRNL);
    changed.special_codes[SpecialCodeIndex::VMIN] = 1;
    changed.special_codes[SpecialCodeIndex::VTIME] = 0;
    // Input that was typed already stays readable: the caller tells it from what is typed next.
    if tcsetattr(io::stdin(), OptionalActions::Now, &changed).is_err() {
        return false;
    }
    screen.write_now(MARK_PASTES);
    modes.before = Some((before, screen));
    true
}

/// Restores the modes for good: an abandoned prompt changes nothing again, and reads nothing more.
pub(crate) fn close() {
    let mut modes = locked();
    modes.closed = true;
    restore(&mut modes);
}

/// Restores the modes for good when it is dropped, at the end of the process.
#[derive(Debug)]
pub(crate) struct InputGuard;

impl Drop for InputGuard {
    fn drop(&mut self) {
        close();
    }
}

pub(super) fn is_closed() -> bool {
    locked().closed
}

fn restore(modes: &mut Modes) {
    if let Some((before, screen)) = modes.before.take() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        screen.write_now(DO_NOT_MARK_PASTES);
    }
}

/// Locks the modes; held briefly, so that an immediate exit can wait for it, too.
fn locked() -> MutexGuard<'static, Modes> {
    MODES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Writes without blocking: a terminal that Ctrl-S halted gets nothing.
    fn write_now(self, bytes: &[u8]) {
        match self {
            Self::Stdout => write_now(io::stdout(), bytes),
            Self::Stderr => write_now(io::stderr(), bytes),
            Self::Nowhere => {}
        }
    }
}

fn write_now(screen: impl AsFd, bytes: &[u8]) {
    let mut ready = [PollFd::new(&screen, PollFlags::OUT)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if poll(&mut ready, Some(&at_once)) == Ok(1) {
        let _ = rustix::io::write(&screen, bytes);
    }
}
