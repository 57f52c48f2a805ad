//! Editing of an input line: its text, and the echo of each key. Pure.

use super::keys::Key;
use crate::terminal::escape;
use unicode_width::UnicodeWidthStr as _;

/// The maximum line, in bytes; characters beyond it are neither taken nor shown.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The input line of a security prompt.
#[derive(Debug, Default)]
pub(super) struct PromptLine {
    text: String,
}

impl PromptLine {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the whole line, escaped for display.
    pub(super) fn shown(&self) -> String {
        escape(&self.text)
    }

    /// Takes a key that does not end the line, and returns what to write to the terminal for it.
    pub(super) fn press(&mut self, key: Key) -> String {
        match key {
            Key::Char(character) => self.push(character),
            Key::Enter => self.push('\n'),
            Key::Erase => self.erase(|text| text.pop().is_some()),
            Key::EraseWord => self.erase(|text| {
                let kept = text.trim_end();
                let end = kept.rfind(char::is_whitespace).map_or(0, |space| space + 1);
                text.truncate(end);
                true
            }),
            Key::EraseLine => self.erase(|text| {
                text.clear();
                true
            }),
            // No other key is input of a security prompt.
            _ => String::new(),
        }
    }

    fn push(&mut self, character: char) -> String {
        if self.text.len() + character.len_utf8() > MAX_LINE_BYTES {
            return String::new();
        }
        self.text.push(character);
        escape(character.encode_utf8(&mut [0; 4]))
    }

    fn erase(&mut self, remove: impl FnOnce(&mut String) -> bool) -> String {
        let before = self.shown();
        if !remove(&mut self.text) {
            return String::new();
        }
        let after = self.shown();
        match before.strip_prefix(&after) {
            Some(gone) if !gone.contains(['\n', '\t']) => "\u{8} \u{8}".repeat(gone.width()),
            // A cursor cannot move back over a line break, so the line is shown again.
            _ => format!("\n{after}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, PromptLine};
    use pretty_assertions::assert_eq;

    #[test]
    fn keys_edit_line_and_echo() {
        let back = |columns| "\u{8} \u{8}".repeat(columns);
        let cases: [(&str, &[Key], &str, &str); 7] = [
            ("ab", &[Key::Erase], "a", &back(1)),
            ("", &[Key::Erase], "", ""),
            ("a日", &[Key::Erase], "a", &back(2)),
            ("one two ", &[Key::EraseWord], "one ", &back(4)),
            ("one two", &[Key::EraseLine], "", &back(7)),
            (
                "a\nb",
                &[Key::Erase, Key::Erase],
                "a",
                &format!("{}\na", back(1)),
            ),
            ("\u{202e}", &[Key::Erase], "", &back("\\u{202e}".len())),
        ];
        for (text, keys, expected, written) in cases {
            let mut line = PromptLine::default();
            for character in text.chars() {
                line.press(if character == '\n' {
                    Key::Enter
                } else {
                    Key::Char(character)
                });
            }
            let echo: String = keys.iter().map(|&key| line.press(key)).collect();
            assert_eq!(
                (line.into_text().as_str(), echo.as_str()),
                (expected, written),
                "{text:?}"
            );
        }
    }
}
