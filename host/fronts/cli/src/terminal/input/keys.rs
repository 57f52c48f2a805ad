//! Decodes a terminal's bytes into keys. Pure.

#[cfg(test)]
mod tests;

use super::report::{MAX_STRING, TerminalReports};
use std::collections::VecDeque;

/// A key or the edge of a paste, by its meaning to an input line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::terminal) enum Key {
    Char(char),
    Enter,
    Tab,
    /// Escape by itself; returned by [`KeyDecoder::end_escape`] alone.
    Escape,
    /// Backspace.
    Erase,
    /// Ctrl-W.
    EraseWord,
    /// Ctrl-U.
    EraseLine,
    /// Ctrl-D.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl with another key, as the lower-case letter or the sign.
    Control(char),
    /// Alt with a key; `\n` is Alt-Enter, and `\u{7f}` Alt-Backspace.
    Alt(char),
    /// A key without a character.
    Named(Named),
    /// The terminal begins to send pasted text (bracketed paste mode).
    PasteBegins,
    /// The pasted text ends.
    PasteEnds,
    /// Bytes that are no UTF-8.
    Broken,
    /// Any other key, such as F5: no input, but the keyboard is not quiet.
    Other,
}

/// A key that moves the cursor or edits, and has no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::terminal) enum Named {
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Delete,
}

/// The maximum length of escape parameters, in bytes; longer ones are skipped. Terminals list their
/// attributes in up to 40.
const MAX_PARAMETERS: usize = 64;

/// The rest of the sequence that ends a paste, after its Escape.
const PASTE_END: &[u8] = b"[201~";

/// The position in an escape or UTF-8 sequence.
#[derive(Debug, Default)]
enum SequencePosition {
    #[default]
    Ground,
    Escape,
    /// After `ESC [`, with the parameters so far.
    Control(Vec<u8>),
    /// After `ESC O`: one more byte.
    Single,
    /// In a character of several bytes.
    Utf8(Vec<u8>),
    /// After `ESC _` or `ESC P`, which also Alt and the key send.
    StringBegins(u8),
    /// In a string of the terminal, such as an answer, so far.
    String(Vec<u8>),
    /// After the Escape that ends a string.
    StringEnds,
    /// In a paste, after Escape and this many bytes of [`PASTE_END`].
    PasteEscape(usize),
}

/// Decodes keys, one byte at a time.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    state: SequencePosition,
    in_paste: bool,
    /// True after a pasted carriage return: a line feed belongs to it.
    after_return: bool,
    /// The answers of the terminal so far, which are no keys.
    reports: TerminalReports,
}

impl KeyDecoder {
    /// True inside a paste.
    pub(super) fn in_paste(&self) -> bool {
        self.in_paste
    }

    /// Returns the answers of the terminal so far.
    pub(super) fn reports(&self) -> &TerminalReports {
        &self.reports
    }

    /// True after the beginning of a sequence that may be a key by itself.
    pub(super) fn in_escape(&self) -> bool {
        matches!(
            self.state,
            SequencePosition::Escape | SequencePosition::StringBegins(_)
        )
    }

    /// Ends a sequence that no byte follows.
    pub(super) fn end_escape(&mut self) -> Key {
        match std::mem::take(&mut self.state) {
            SequencePosition::StringBegins(introducer) => Key::Alt(char::from(introducer)),
            _ => Key::Escape,
        }
    }

    /// Takes a byte and adds the keys that it completes.
    pub(super) fn feed(&mut self, byte: u8, keys: &mut VecDeque<Key>) {
        let key = match std::mem::take(&mut self.state) {
            SequencePosition::Ground => self.ground(byte),
            SequencePosition::Escape => self.escape(byte),
            SequencePosition::StringBegins(introducer) => match (introducer, byte) {
                (b'_', b'G') | (b'P', b'>') => self.enter(SequencePosition::String(vec![byte])),
                _ => {
                    keys.push_back(Key::Alt(char::from(introducer)));
                    self.ground(byte)
                }
            },
            SequencePosition::String(string) => self.string(string, byte),
            SequencePosition::StringEnds if byte == b'\\' => None,
            SequencePosition::StringEnds => self.escape(byte),
            SequencePosition::Control(parameters) => self.control(parameters, byte),
            SequencePosition::Single => match byte {
                0..=0x1f | 0x7f => self.ground(byte),
                _ => Some(named(&[], byte)),
            },
            // No byte within a character.
            SequencePosition::Utf8(_) if !matches!(byte, 0x80..=0xbf) => {
                keys.push_back(Key::Broken);
                self.ground(byte)
            }
            SequencePosition::Utf8(bytes) => self.utf8(bytes, byte),
            SequencePosition::PasteEscape(matched) => self.paste_escape(matched, byte, keys),
        };
        keys.extend(key);
    }

    fn enter(&mut self, state: SequencePosition) -> Option<Key> {
        self.state = state;
        None
    }

    fn escape(&mut self, byte: u8) -> Option<Key> {
        match byte {
            b'[' => self.enter(SequencePosition::Control(Vec::new())),
            b'O' => self.enter(SequencePosition::Single),
            b'_' | b'P' => self.enter(SequencePosition::StringBegins(byte)),
            b'\r' | b'\n' => Some(Key::Alt('\n')),
            0x08 | 0x7f => Some(Key::Alt('\u{7f}')),
            0x20..=0x7e => Some(Key::Alt(char::from(byte))),
            // An Escape key by itself, and then another key.
            0..=0x1f => self.ground(byte),
            0x80.. => Some(Key::Other),
        }
    }

    /// Takes a byte of an answer. Any other control character than its ends is a key, so that an
    /// answer whose end was lost takes no more than a line.
    fn string(&mut self, mut string: Vec<u8>, byte: u8) -> Option<Key> {
        match byte {
            0x07 => self.reports.string(&string),
            0x1b => {
                self.reports.string(&string);
                return self.enter(SequencePosition::StringEnds);
            }
            0..=0x1f => return self.ground(byte),
            _ => {
                if string.len() < MAX_STRING {
                    string.push(byte);
                }
                return self.enter(SequencePosition::String(string));
            }
        }
        None
    }

    fn ground(&mut self, byte: u8) -> Option<Key> {
        if self.in_paste {
            return self.pasted(byte);
        }
        Some(match byte {
            0x1b => return self.enter(SequencePosition::Escape),
            b'\r' | b'\n' => Key::Enter,
            b'\t' => Key::Tab,
            0x20..=0x7e => Key::Char(char::from(byte)),
            0x80.. => return self.utf8(Vec::new(), byte),
            0x03 => Key::Interrupt,
            0x04 => Key::End,
            0x08 | 0x7f => Key::Erase,
            0x15 => Key::EraseLine,
            0x17 => Key::EraseWord,
            0x1a => Key::Suspend,
            0x1c => Key::Quit,
            0x1f => Key::Control('_'),
            0x01..=0x19 => Key::Control(char::from(byte + 0x60)),
            0 | 0x1b..=0x1f => Key::Other,
        })
    }

    /// Takes a byte of pasted text, in which no control character is a command but Ctrl-C: the end
    /// of the paste may never come.
    fn pasted(&mut self, byte: u8) -> Option<Key> {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        Some(match byte {
            0x1b => return self.enter(SequencePosition::PasteEscape(0)),
            0x03 => Key::Interrupt,
            b'\n' if after_return => return None,
            b'\r' | b'\n' => Key::Enter,
            0x80.. => return self.utf8(Vec::new(), byte),
            _ => Key::Char(char::from(byte)),
        })
    }

    /// Takes a byte after an Escape in a paste: of the end mark, or of the text.
    fn paste_escape(&mut self, matched: usize, byte: u8, keys: &mut VecDeque<Key>) -> Option<Key> {
        if PASTE_END.get(matched) == Some(&byte) {
            if matched + 1 < PASTE_END.len() {
                return self.enter(SequencePosition::PasteEscape(matched + 1));
            }
            self.in_paste = false;
            return Some(Key::PasteEnds);
        }
        keys.push_back(Key::Char('\u{1b}'));
        let text = PASTE_END.iter().take(matched);
        keys.extend(text.map(|&byte| Key::Char(char::from(byte))));
        self.pasted(byte)
    }

    fn control(&mut self, mut parameters: Vec<u8>, byte: u8) -> Option<Key> {
        match byte {
            0x20..=0x3f => {
                if parameters.len() < MAX_PARAMETERS {
                    parameters.push(byte);
                }
                self.enter(SequencePosition::Control(parameters))
            }
            _ if self.reports.control(&parameters, byte) => None,
            0x40..=0x7e => Some(match (parameters.as_slice(), byte) {
                (b"200", b'~') => {
                    self.in_paste = true;
                    self.after_return = false;
                    Key::PasteBegins
                }
                (b"201", b'~') => Key::PasteEnds,
                (parameters, _) => named(parameters, byte),
            }),
            _ => self.ground(byte),
        }
    }

    fn utf8(&mut self, mut bytes: Vec<u8>, byte: u8) -> Option<Key> {
        bytes.push(byte);
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(match text.chars().next() {
                Some(character) if self.in_paste || !character.is_control() => Key::Char(character),
                _ => Key::Other,
            }),
            // Incomplete.
            Err(error) if error.error_len().is_none() => self.enter(SequencePosition::Utf8(bytes)),
            Err(_) => Some(Key::Broken),
        }
    }
}

/// Returns the key of a sequence that begins with `ESC [` or `ESC O`.
fn named(parameters: &[u8], last: u8) -> Key {
    // With Ctrl or Alt.
    let by_word = matches!(parameters, b"1;5" | b"1;3" | b"5" | b"3");
    Key::Named(match (parameters, last) {
        (_, b'C') if by_word => Named::WordRight,
        (_, b'D') if by_word => Named::WordLeft,
        ([], b'A') => Named::Up,
        ([], b'B') => Named::Down,
        ([], b'C') => Named::Right,
        ([], b'D') => Named::Left,
        ([], b'H') | (b"1" | b"7", b'~') => Named::Home,
        ([], b'F') | (b"4" | b"8", b'~') => Named::End,
        (b"3", b'~') => Named::Delete,
        _ => return Key::Other,
    })
}
