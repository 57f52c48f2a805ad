//! The terminal's modes while a line is read: each key comes at once and is not echoed, pasted text comes between marks, and
//! the keys that send signals come as bytes, so that the modes are put back before the signal is sent.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr},
};
use std::{
    io,
    os::fd::AsFd,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Turns the marks around pasted text on and off (bracketed paste mode).
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const DO_NOT_MARK_PASTES: &[u8] = b"\x1b[?2004l";

static MODES: Mutex<Modes> = Mutex::new(Modes {
    before: None,
    closed: false,
});

struct Modes {
    /// What is put back, while the modes are changed.
    before: Option<(Termios, Screen)>,
    /// Set once the process ends: the modes are not changed again.
    closed: bool,
}

/// Which output shows what is typed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Screen {
    Stdout,
    Stderr,
    /// Neither is a terminal.
    Nowhere,
}

/// Changes the modes; false where stdin is no terminal, or the process ends.
pub(super) fn enter(screen: Screen) -> bool {
    let mut modes = locked();
    if modes.closed {
        return false;
    }
    let Ok(before) = tcgetattr(io::stdin()) else {
        return false;
    };
    let mut changed = before.clone();
    let local = &mut changed.local_modes;
    local.remove(LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN);
    local.remove(LocalModes::ECHO | LocalModes::ECHONL);
    changed.special_codes[SpecialCodeIndex::VMIN] = 1;
    changed.special_codes[SpecialCodeIndex::VTIME] = 0;
    // What was typed already stays, and can be read from now on: it has to be told apart from what is typed next.
    if tcsetattr(io::stdin(), OptionalActions::Now, &changed).is_err() {
        return false;
    }
    screen.write_now(MARK_PASTES);
    modes.before = Some((before, screen));
    true
}

/// Puts the modes back.
pub(super) fn leave() {
    restore(&mut locked());
}

/// Puts the modes back for good: a prompt that was abandoned changes nothing again, and reads nothing more.
pub(crate) fn close() {
    let mut modes = locked();
    modes.closed = true;
    restore(&mut modes);
}

/// Puts the modes back for good when it is dropped, so that the process does not end without.
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

/// Held for moments only, so that also a process that ends at once can wait for it.
fn locked() -> MutexGuard<'static, Modes> {
    MODES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Writes unless that had to wait, as on a terminal that was halted by Ctrl-S.
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
