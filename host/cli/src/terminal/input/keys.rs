//! Decodes a terminal's bytes into keys. Pure.

/// A key or the edge of a paste, by its meaning to an input line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
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
    /// The terminal begins to send pasted text (bracketed paste mode).
    PasteBegins,
    /// The pasted text ends.
    PasteEnds,
    /// Any other key, such as an arrow: no input, but the keyboard is not quiet.
    Other,
}

/// The maximum length of escape parameters, in bytes; longer ones are skipped.
const MAX_PARAMETERS: usize = 16;

/// The position in an escape or UTF-8 sequence.
#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After `ESC [`, with the parameters so far.
    Control(Vec<u8>),
    /// After `ESC O`: one more byte.
    Single,
    /// In a character of several bytes.
    Utf8(Vec<u8>),
}

/// Decodes keys, one byte at a time.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    state: State,
    in_paste: bool,
}

impl Decoder {
    /// True inside a paste.
    pub(super) fn in_paste(&self) -> bool {
        self.in_paste
    }

    /// Takes a byte and returns the key that it completes, if any.
    pub(super) fn feed(&mut self, byte: u8) -> Option<Key> {
        match std::mem::take(&mut self.state) {
            State::Ground => self.ground(byte),
            State::Escape => match byte {
                b'[' => self.enter(State::Control(Vec::new())),
                b'O' => self.enter(State::Single),
                // An Escape key by itself, and then another key.
                0..=0x1f | 0x7f => self.ground(byte),
                _ => Some(Key::Other),
            },
            State::Control(parameters) => self.control(parameters, byte),
            State::Single => match byte {
                0..=0x1f | 0x7f => self.ground(byte),
                _ => Some(Key::Other),
            },
            State::Utf8(bytes) => self.utf8(bytes, byte),
        }
    }

    fn enter(&mut self, state: State) -> Option<Key> {
        self.state = state;
        None
    }

    fn ground(&mut self, byte: u8) -> Option<Key> {
        Some(match byte {
            0x1b => return self.enter(State::Escape),
            b'\r' | b'\n' => Key::Enter,
            0x20..=0x7e => Key::Char(char::from(byte)),
            0x80.. => return self.utf8(Vec::new(), byte),
            b'\t' if self.in_paste => Key::Char('\t'),
            // Also in a paste, whose end may never come.
            0x03 => Key::Interrupt,
            // No other control character in a paste is a command.
            _ if self.in_paste => Key::Other,
            0x04 => Key::End,
            0x08 | 0x7f => Key::Erase,
            0x15 => Key::EraseLine,
            0x17 => Key::EraseWord,
            0x1a => Key::Suspend,
            0x1c => Key::Quit,
            _ => Key::Other,
        })
    }

    fn control(&mut self, mut parameters: Vec<u8>, byte: u8) -> Option<Key> {
        match byte {
            0x20..=0x3f => {
                if parameters.len() < MAX_PARAMETERS {
                    parameters.push(byte);
                }
                self.enter(State::Control(parameters))
            }
            0x40..=0x7e => Some(match (parameters.as_slice(), byte) {
                (b"200", b'~') => {
                    self.in_paste = true;
                    Key::PasteBegins
                }
                (b"201", b'~') => {
                    self.in_paste = false;
                    Key::PasteEnds
                }
                _ => Key::Other,
            }),
            _ => self.ground(byte),
        }
    }

    fn utf8(&mut self, mut bytes: Vec<u8>, byte: u8) -> Option<Key> {
        bytes.push(byte);
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(match text.chars().next() {
                Some(character) if !character.is_control() => Key::Char(character),
                _ => Key::Other,
            }),
            // Incomplete.
            Err(error) if error.error_len().is_none() => self.enter(State::Utf8(bytes)),
            Err(_) if byte.is_ascii() => self.ground(byte),
            Err(_) => Some(Key::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Decoder,
        Key::{
            Char, End, Enter, Erase, EraseLine, Interrupt, Other, PasteBegins, PasteEnds, Suspend,
        },
    };
    use pretty_assertions::assert_eq;

    #[test]
    fn terminal_bytes_decode_into_keys() {
        let cases: [(&[u8], &[super::Key]); 13] = [
            (b"y\r", &[Char('y'), Enter]),
            (b"n\n\x7f\x15", &[Char('n'), Enter, Erase, EraseLine]),
            (b"\x03\x1a\x04", &[Interrupt, Suspend, End]),
            ("é日👍".as_bytes(), &[Char('é'), Char('日'), Char('👍')]),
            // Arrows, function keys, a key with Alt: none of them is a letter.
            (
                b"\x1b[A\x1b[15;5~\x1bOPy",
                &[Other, Other, Other, Char('y')],
            ),
            (b"\x1by", &[Other]),
            (b"\x1b\r\x1b[\x03", &[Enter, Interrupt]),
            // Broken and hidden characters.
            (b"\xffy", &[Other, Char('y')]),
            (b"\xc3y", &[Char('y')]),
            ("\u{9b}y".as_bytes(), &[Other, Char('y')]),
            (b"\0", &[Other]),
            (
                b"\x1b[200~y\x15\x03\r\t\x1b[201~\x15",
                &[
                    PasteBegins,
                    Char('y'),
                    Other,
                    Interrupt,
                    Enter,
                    Char('\t'),
                    PasteEnds,
                    EraseLine,
                ],
            ),
            (b"\x1b[2000000000000000000000000~y", &[Other, Char('y')]),
        ];
        for (bytes, expected) in cases {
            let mut decoder = Decoder::default();
            let keys: Vec<super::Key> = bytes
                .iter()
                .filter_map(|&byte| decoder.feed(byte))
                .collect();
            assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
            assert!(!decoder.in_paste());
        }
    }
}
