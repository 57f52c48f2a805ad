//! Where the cursor goes: by characters as a user counts them, words and lines. Pure.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;

/// A place as seen from the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// This many characters before the cursor.
    Left(usize),
    /// This many characters behind it.
    Right(usize),
    /// The beginning of the line.
    LineStart,
    /// The end of the line.
    LineEnd,
    /// The beginning of the text.
    Start,
    /// The end of the text.
    End,
    /// The beginning of this or an earlier word.
    WordBack(usize, Word),
    /// The beginning of a later word.
    WordStart(usize, Word),
    /// The last character of this or a later word.
    WordEnd(usize, Word),
    /// The place behind the end of this or a later word.
    WordBehind(usize, Word),
    /// A character, the n-th of its kind.
    Find(usize, Search),
}

/// The characters of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Letters and digits, as in Emacs.
    Letters,
    /// Letters, digits and `_`, or other signs in a row, as in vi.
    Vi,
    /// Anything but blanks.
    Blanks,
}

/// A search for a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) character: char,
    pub(super) is_back: bool,
    /// True if it stops beside the character.
    pub(super) stops_before: bool,
}

impl Word {
    /// Returns the kind of a character; 0 for one between words.
    fn kind(self, character: &str) -> u8 {
        let first = character.chars().next().unwrap_or(' ');
        let is_letter = first.is_alphanumeric();
        match self {
            Self::Letters => is_letter.into(),
            Self::Vi if is_letter || first == '_' => 1,
            Self::Vi => u8::from(!first.is_whitespace()) * 2,
            Self::Blanks => (!first.is_whitespace()).into(),
        }
    }
}

/// Returns the place of a motion from the cursor.
pub(super) fn place(text: &str, cursor: usize, motion: &Motion) -> usize {
    let (before, after) = text.split_at(cursor);
    match *motion {
        Motion::Left(count) => {
            let characters = before.grapheme_indices(true).rev().take(count);
            characters.last().map_or(cursor, |(at, _)| at)
        }
        Motion::Right(count) => {
            cursor
                + after
                    .graphemes(true)
                    .take(count)
                    .map(str::len)
                    .sum::<usize>()
        }
        Motion::LineStart => line(text, cursor).start,
        Motion::LineEnd => line(text, cursor).end,
        Motion::Start => 0,
        Motion::End => text.len(),
        Motion::WordBack(count, word) => repeat(count, cursor, |at| word_back(text, at, word)),
        Motion::WordStart(count, word) => repeat(count, cursor, |at| word_start(text, at, word)),
        Motion::WordBehind(count, word) => repeat(count, cursor, |at| word_behind(text, at, word)),
        Motion::WordEnd(count, word) => repeat(count, cursor, |at| {
            let next = place(text, at, &Motion::Right(1));
            place(text, word_behind(text, next, word), &Motion::Left(1))
        }),
        Motion::Find(count, search) => {
            find(text, cursor, count, search).map_or(cursor, |at| {
                match (search.stops_before, search.is_back) {
                    (false, _) => at,
                    (true, false) => place(text, at, &Motion::Left(1)),
                    (true, true) => at + search.character.len_utf8(),
                }
            })
        }
    }
}

/// Returns the part of the text between the cursor and the place of a motion, for an operator: a
/// character that was searched for is part of it.
pub(super) fn span(text: &str, cursor: usize, motion: &Motion) -> Range<usize> {
    let place = match *motion {
        Motion::Find(count, search) if !search.is_back => {
            let found = find(text, cursor, count, search);
            found.map_or(cursor, |at| match search.stops_before {
                true => at,
                false => at + search.character.len_utf8(),
            })
        }
        _ => place(text, cursor, motion),
    };
    cursor.min(place)..cursor.max(place)
}

/// Returns the line of a place, without its line break.
pub(super) fn line(text: &str, place: usize) -> Range<usize> {
    let (before, after) = text.split_at(place);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = after.find('\n').unwrap_or(after.len());
    start..place + end
}

/// Repeats a motion until the text ends.
fn repeat(count: usize, from: usize, next: impl Fn(usize) -> usize) -> usize {
    let mut at = from;
    for _ in 0..count {
        let to = next(at);
        if to == at {
            break;
        }
        at = to;
    }
    at
}

/// Returns the place behind the characters of this kind.
fn skip(text: &str, from: usize, word: Word, kind: u8) -> usize {
    let rest = text.get(from..).unwrap_or_default().graphemes(true);
    let skipped = rest.take_while(|character| word.kind(character) == kind);
    from + skipped.map(str::len).sum::<usize>()
}

fn word_behind(text: &str, from: usize, word: Word) -> usize {
    let start = skip(text, from, word, 0);
    match kind_at(text, start, word) {
        Some(kind) => skip(text, start, word, kind),
        None => start,
    }
}

fn word_start(text: &str, from: usize, word: Word) -> usize {
    let behind = match kind_at(text, from, word) {
        Some(kind) if kind > 0 => skip(text, from, word, kind),
        _ => from,
    };
    skip(text, behind, word, 0)
}

fn word_back(text: &str, from: usize, word: Word) -> usize {
    let before = text.get(..from).unwrap_or_default();
    let mut characters = before.graphemes(true).rev().peekable();
    let mut at = from;
    while let Some(blank) = characters.next_if(|character| word.kind(character) == 0) {
        at -= blank.len();
    }
    let kind = characters.peek().map(|character| word.kind(character));
    for character in characters.take_while(|character| Some(word.kind(character)) == kind) {
        at -= character.len();
    }
    at
}

/// Returns the kind of the character behind a place.
fn kind_at(text: &str, place: usize, word: Word) -> Option<u8> {
    let mut rest = text.get(place..)?.graphemes(true);
    rest.next().map(|character| word.kind(character))
}

/// Returns the place of a character, not counting the one at the cursor.
fn find(text: &str, cursor: usize, count: usize, search: Search) -> Option<usize> {
    let nth = count.checked_sub(1)?;
    if search.is_back {
        let before = text.get(..cursor)?;
        let found = before.rmatch_indices(search.character).nth(nth);
        return found.map(|(at, _)| at);
    }
    let start = place(text, cursor, &Motion::Right(1));
    let mut found = text.get(start..)?.match_indices(search.character);
    found.nth(nth).map(|(at, _)| start + at)
}
