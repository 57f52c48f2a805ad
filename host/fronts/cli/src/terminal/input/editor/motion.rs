//! Where the cursor goes: by characters as a user counts them, words and lines. Pure.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;

/// A place as seen from the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// One character before the cursor.
    Left,
    /// One character behind it.
    Right,
    /// The beginning of the line.
    LineStart,
    /// The end of the line.
    LineEnd,
    /// The beginning of the text.
    Start,
    /// The end of the text.
    End,
    /// The beginning of this or an earlier word.
    WordBack(Word),
    /// The place behind the end of this or a later word.
    WordBehind(Word),
}

/// The characters of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Letters and digits, as in Emacs.
    Letters,
    /// Anything but blanks.
    Blanks,
}

impl Word {
    fn has(self, character: &str) -> bool {
        let first = character.chars().next().unwrap_or(' ');
        match self {
            Self::Letters => first.is_alphanumeric(),
            Self::Blanks => !first.is_whitespace(),
        }
    }
}

/// Returns the place of a motion from the cursor.
pub(super) fn place(text: &str, cursor: usize, motion: Motion) -> usize {
    let (before, after) = text.split_at(cursor);
    let before = before.graphemes(true).rev();
    let after = after.graphemes(true);
    match motion {
        Motion::Left => cursor - bytes(before.take(1)),
        Motion::Right => cursor + bytes(after.take(1)),
        Motion::LineStart => line(text, cursor).start,
        Motion::LineEnd => line(text, cursor).end,
        Motion::Start => 0,
        Motion::End => text.len(),
        Motion::WordBack(word) => cursor - bytes(through_word(before, word)),
        Motion::WordBehind(word) => cursor + bytes(through_word(after, word)),
    }
}

/// Returns the part of the text between the cursor and the place of a motion.
pub(super) fn span(text: &str, cursor: usize, motion: Motion) -> Range<usize> {
    let place = place(text, cursor, motion);
    cursor.min(place)..cursor.max(place)
}

/// Returns the line of a place, without its line break.
pub(super) fn line(text: &str, place: usize) -> Range<usize> {
    let (before, after) = text.split_at(place);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = after.find('\n').unwrap_or(after.len());
    start..place + end
}

/// Returns the characters up to the end of the first word among them.
fn through_word<'a>(
    characters: impl Iterator<Item = &'a str>,
    word: Word,
) -> impl Iterator<Item = &'a str> {
    let mut is_inside = false;
    characters.take_while(move |character| {
        let was_inside = std::mem::replace(&mut is_inside, word.has(character));
        is_inside || !was_inside
    })
}

fn bytes<'a>(characters: impl Iterator<Item = &'a str>) -> usize {
    characters.map(str::len).sum()
}
