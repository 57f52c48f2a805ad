//! The answers of the terminal about itself: whether it draws pictures, and the size of a cell.
//!
//! The answers arrive where keys do. The decoder takes them out of the keys whenever they come, so
//! that one that is late is never typed input.

use super::{CLAIMS, InputEvent, Keyboard, READER, arrives_within, wake};
use crate::terminal::Terminal;
use rustix::{process::getpgrp, termios::tcgetpgrp};
use std::{
    io,
    sync::{PoisonError, TryLockError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

/// The maximum wait for the answers. A terminal that gives none is asked no more.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum wait for the keyboard, which a prompt may have for long.
const HANDOVER: Duration = Duration::from_millis(50);

/// Asks whether a picture could be drawn, by [kitty's graphics
/// protocol](https://sw.kovidgoyal.net/kitty/graphics-protocol/#querying-support-and-available-transmission-mediums).
const ASK_KITTY: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";

/// Asks for the name and version of the terminal (`xterm`'s XTVERSION), the size of a cell in
/// pixels (16 of its window operations), and the primary device attributes (DA1), which every
/// terminal answers, and in the order of the questions. What a terminal shows of these is erased.
const ASK: &str = "\x1b[>0q\x1b[16t\x1b[c\r\x1b[K";

/// The maximum length of an answer in a string, in bytes.
pub(super) const MAX_STRING: usize = 256;

/// The attribute of a terminal that draws sixels.
const SIXEL: &[u8] = b"4";

/// The answers of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalReports {
    /// True if it draws pictures of kitty's protocol.
    pub(crate) kitty: bool,
    /// True if it draws sixels.
    pub(crate) sixel: bool,
    /// Its name and version.
    pub(crate) name: String,
    /// The width and the height of a cell, in pixels.
    pub(crate) cell: Option<(u32, u32)>,
    /// True if it has answered everything that it will.
    is_complete: bool,
}

impl TerminalReports {
    /// Takes a control sequence; returns false if it is not an answer.
    pub(super) fn control(&mut self, parameters: &[u8], last: u8) -> bool {
        let mut numbers = parameters.split(|byte| *byte == b';');
        match (parameters, last) {
            ([b'?', ..], b'c') => {
                self.sixel = numbers.skip(1).any(|number| number == SIXEL);
                self.is_complete = true;
            }
            ([b'6', b';', ..], b't') => {
                let mut number = || str::from_utf8(numbers.next()?).ok()?.parse::<u32>().ok();
                self.cell = (|| {
                    number()?;
                    let (height, width) = (number()?, number()?);
                    (height > 0 && width > 0).then_some((width, height))
                })();
            }
            _ => return false,
        }
        true
    }

    /// Takes an answer in a string, without its ends.
    pub(super) fn string(&mut self, string: &[u8]) {
        if let Some(answer) = string.strip_prefix(b"Gi=31") {
            self.kitty = answer.ends_with(b";OK");
        } else if let Some(name) = string.strip_prefix(b">|") {
            self.name = String::from_utf8_lossy(name).into_owned();
        }
    }
}

/// Asks the terminal once, and returns its answers; `None` if it gives none, if the keyboard
/// belongs to another process or to a prompt, or if something was typed ahead, which stays where
/// it is. In a terminal multiplexer `is_multiplexed` leaves out what those misread.
pub(crate) fn reports(terminal: &Terminal, is_multiplexed: bool) -> Option<TerminalReports> {
    let mut keyboard = free_keyboard(terminal)?;
    if !keyboard.reader.was_asked {
        if !keyboard.reader.unread.is_empty() || arrives_within(Duration::ZERO) {
            return None;
        }
        keyboard.reader.was_asked = true;
        let kitty = if is_multiplexed { "" } else { ASK_KITTY };
        keyboard.show(&format!("{kitty}{ASK}"));
        let deadline = Instant::now() + PATIENCE;
        while !keyboard.reader.decoder.reports().is_complete {
            let left = deadline.saturating_duration_since(Instant::now());
            // Keys stay unread.
            if let Some(InputEvent::Quiet | InputEvent::End) = keyboard.fill(Some(left)) {
                break;
            }
        }
    }
    let reports = keyboard.reader.decoder.reports();
    reports.is_complete.then(|| reports.clone())
}

/// Returns the keyboard, unless a prompt has it, or another process, which would stop this one.
fn free_keyboard(terminal: &Terminal) -> Option<Keyboard> {
    if tcgetpgrp(io::stdin()) != Ok(getpgrp()) {
        return None;
    }
    CLAIMS.fetch_add(1, Ordering::SeqCst);
    wake();
    let deadline = Instant::now() + HANDOVER;
    let reader = loop {
        match READER.try_lock() {
            Ok(reader) => break Some(reader),
            Err(TryLockError::Poisoned(poisoned)) => break Some(PoisonError::into_inner(poisoned)),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => break None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    };
    CLAIMS.fetch_sub(1, Ordering::SeqCst);
    Keyboard::hold(terminal, reader?)
}
