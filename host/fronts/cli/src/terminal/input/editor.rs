//! The text of the composer and the keys that edit it. Pure: it reads no terminal, so that keys
//! which are typed during an answer edit the same text.

mod emacs;
mod motion;
#[cfg(test)]
mod tests;

use super::keys::{Key, Named};
use motion::{Motion, Word};
use std::ops::Range;

/// The maximum message, in bytes, as for one from standard input; what exceeds it is counted.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of steps that can be undone.
const MAX_UNDO: usize = 100;

/// The maximum size of all texts that can be restored by undoing, in bytes.
const MAX_UNDO_BYTES: usize = 16 * 1024 * 1024;

/// The effect of a key beyond the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The text or the cursor may have changed.
    Edited,
    /// Enter: the message is complete.
    Submit,
    /// Tab.
    Complete,
    /// The earlier message of the history.
    Previous,
    /// The later message of the history.
    Next,
    /// Search in the history.
    Search,
    /// Escape that ends nothing in the text.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D without a text.
    Leave,
    /// Ctrl-V: insert the image of the clipboard.
    PasteImage,
    /// Ctrl-O: run the command that shows the last call, and keep the text.
    ShowLast,
    /// Draw everything again on an empty screen.
    ClearScreen,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-\.
    Quit,
}

/// The text, its cursor, and what was removed from it.
#[derive(Debug, Default)]
pub(super) struct Editor {
    text: String,
    /// The position of the cursor, in bytes; between two characters.
    cursor: usize,
    /// Texts and cursors before the last changes.
    undo: Vec<(String, usize)>,
    /// True while characters are typed one after the other: one step of `undo`.
    is_typing: bool,
    /// The text that was removed last, for insertion.
    removed: String,
    /// The paste that has not ended.
    paste: Option<String>,
    /// The number of bytes that exceeded [`MAX_TEXT_BYTES`].
    left_out: usize,
}

impl Editor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the position of the cursor, in bytes.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the number of bytes since the last call that exceeded the maximum message.
    pub(super) fn take_left_out(&mut self) -> usize {
        std::mem::take(&mut self.left_out)
    }

    /// Replaces the text, with the cursor behind it.
    pub(super) fn set(&mut self, text: &str) {
        self.save();
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Takes the text, and begins an empty one.
    pub(super) fn take(&mut self) -> String {
        let new = Self {
            removed: std::mem::take(&mut self.removed),
            left_out: self.left_out,
            ..Self::default()
        };
        std::mem::replace(self, new).text
    }

    /// Replaces a part of the text, with the cursor behind the new one.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.save();
        self.cut(range);
        self.insert(text);
    }

    /// Takes a key that is typed while no composer is open: Enter is a line break.
    pub(super) fn type_ahead(&mut self, key: Key) {
        match key {
            Key::Enter | Key::Alt('\n') => self.press(Key::Alt('\n')),
            Key::Tab | Key::End | Key::Escape => Action::Edited,
            key => self.press(key),
        };
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Key) -> Action {
        if let Some(action) = self.paste(key) {
            return action;
        }
        let was_typing = std::mem::replace(&mut self.is_typing, false);
        match key {
            Key::Interrupt => return Action::Interrupt,
            Key::Quit => return Action::Quit,
            Key::Suspend => return Action::Suspend,
            Key::Enter if self.continues() => {
                self.save();
                self.erase(Motion::Left);
                self.insert("\n");
                return Action::Edited;
            }
            Key::Enter => return Action::Submit,
            Key::Alt('\n') => {
                self.save();
                self.insert("\n");
                return Action::Edited;
            }
            Key::End if self.text().is_empty() => return Action::Leave,
            _ => {}
        }
        match key {
            Key::Char(character) => {
                if !was_typing || character.is_whitespace() {
                    self.save();
                }
                self.is_typing = true;
                self.insert(character.encode_utf8(&mut [0; 4]));
                Action::Edited
            }
            Key::Broken => {
                self.insert("\u{fffd}");
                Action::Edited
            }
            Key::Tab => Action::Complete,
            Key::Escape => Action::Escape,
            key => emacs::press(self, key),
        }
    }

    /// Takes a key of pasted text; `None` for one that is none.
    fn paste(&mut self, key: Key) -> Option<Action> {
        match (key, &mut self.paste) {
            (Key::PasteBegins, _) => self.paste = Some(String::new()),
            (Key::PasteEnds, _) => self.end_paste(),
            (Key::Char(character), Some(text)) => text.push(character),
            (Key::Enter, Some(text)) => text.push('\n'),
            (Key::Broken, Some(text)) => text.push('\u{fffd}'),
            (_, Some(_)) => {
                self.end_paste();
                return None;
            }
            (_, None) => return None,
        }
        Some(Action::Edited)
    }

    /// True while a paste has not ended.
    pub(super) fn is_pasting(&self) -> bool {
        self.paste.is_some()
    }

    /// Returns the paste that has not ended.
    pub(super) fn pasted(&self) -> Option<&str> {
        self.paste.as_deref()
    }

    /// Replaces the paste that has not ended.
    pub(super) fn set_pasted(&mut self, text: String) {
        self.paste = Some(text);
    }

    /// Takes the paste as it is, also if its end was lost.
    pub(super) fn end_paste(&mut self) {
        if let Some(text) = self.paste.take() {
            self.save();
            self.insert(&text);
        }
    }

    /// True if Enter continues the text: the cursor is at its end, behind a backslash.
    fn continues(&self) -> bool {
        self.cursor == self.text.len() && self.text.ends_with('\\')
    }

    fn insert(&mut self, text: &str) {
        let free = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        let (taken, left) = text.split_at(text.floor_char_boundary(free));
        self.left_out += left.len();
        self.text.insert_str(self.cursor, taken);
        self.cursor += taken.len();
    }

    /// Removes a part of the text, and leaves the cursor in its place.
    fn cut(&mut self, range: Range<usize>) -> String {
        self.cursor = range.start;
        self.text.drain(range).collect()
    }

    /// Removes the text up to a place.
    fn erase(&mut self, to: Motion) -> String {
        let range = motion::span(&self.text, self.cursor, to);
        self.cut(range)
    }

    /// Keeps the text for [`Self::undo`].
    fn save(&mut self) {
        self.undo.push((self.text().to_owned(), self.cursor()));
        let size =
            |undo: &[(String, usize)]| undo.iter().map(|(text, _)| text.len()).sum::<usize>();
        while self.undo.len() > MAX_UNDO || size(&self.undo) > MAX_UNDO_BYTES {
            self.undo.remove(0);
        }
    }

    /// Restores the text before the last change.
    fn undo(&mut self) {
        while let Some((text, cursor)) = self.undo.pop() {
            if text != self.text() {
                self.text = text;
                self.cursor = cursor;
                return;
            }
        }
    }

    /// Moves the cursor.
    fn go(&mut self, to: Motion) {
        self.cursor = motion::place(&self.text, self.cursor, to);
    }

    /// Removes the text up to a place, and keeps it for insertion.
    fn remove(&mut self, to: Motion) {
        let range = motion::span(&self.text, self.cursor, to);
        if !range.is_empty() {
            self.save();
            self.removed = self.cut(range);
        }
    }

    /// Inserts the text that was removed last.
    fn insert_removed(&mut self) {
        self.save();
        let removed = self.removed.clone();
        self.insert(&removed);
    }

    /// Returns the line of the cursor, without its line break.
    fn line(&self) -> Range<usize> {
        motion::line(&self.text, self.cursor)
    }

    /// Moves the cursor a line up or down, in its column; returns false without such a line.
    fn go_vertically(&mut self, is_up: bool) -> bool {
        let line = self.line();
        let target = match is_up {
            true => line.start.checked_sub(1),
            false => Some(line.end + 1).filter(|start| *start <= self.text().len()),
        };
        let Some(target) = target else {
            return false;
        };
        let column = self.text().get(line.start..self.cursor());
        let column = column.map_or(0, |before| before.chars().count());
        self.cursor = target;
        let line = self.line();
        let text = self.text().get(line.clone()).unwrap_or_default();
        let column = text.char_indices().nth(column);
        let to = column.map_or(line.end, |(index, _)| line.start + index);
        self.cursor = to;
        true
    }

    /// Moves up, or to the earlier message from the first line; likewise down.
    fn go_vertically_or(&mut self, is_up: bool) -> Action {
        match (self.go_vertically(is_up), is_up) {
            (true, _) => Action::Edited,
            (false, true) => Action::Previous,
            (false, false) => Action::Next,
        }
    }

    /// Takes a key with a name, such as an arrow.
    fn named(&mut self, key: Named) -> Action {
        match key {
            Named::Up => return self.go_vertically_or(true),
            Named::Down => return self.go_vertically_or(false),
            Named::Left => self.go(Motion::Left),
            Named::Right => self.go(Motion::Right),
            Named::WordLeft => self.go(Motion::WordBack(Word::Letters)),
            Named::WordRight => self.go(Motion::WordBehind(Word::Letters)),
            Named::Home => self.go(Motion::LineStart),
            Named::End => self.go(Motion::LineEnd),
            Named::Delete => {
                self.save();
                self.erase(Motion::Right);
            }
        }
        Action::Edited
    }
}
