//! The place of a text that is most like one that does not occur in it, for a model that copied it
//! with a mistake. All texts have line feeds only. The cost is linear in the text, times the
//! logarithm of the length that is searched for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The least bytes, without white space, that a place has in common with the text.
const MIN_COMMON_BYTES: usize = 3;

/// The most lines of the place that are shown.
const MAX_LINES: usize = 12;

/// The most characters of a line that are shown.
const MAX_LINE_CHARS: usize = 160;

/// The characters of a long line that are shown before the difference.
const LEAD_CHARS: usize = 60;

/// A place to compare `old` with.
#[derive(Clone, Copy)]
struct Place {
    /// The offset in the text where `old` would begin.
    start: usize,
    /// The bytes that are the same there, without white space.
    common: usize,
}

/// Names the nearest place with its lines and the first character that differs, if one is near.
pub(super) fn describe(text: &str, old: &str) -> Option<String> {
    let places = [by_lines(text, old), by_start(text, old), by_end(text, old)];
    // Of equal ones the first, so that whole lines are preferred.
    let place = places
        .into_iter()
        .flatten()
        .rev()
        .max_by_key(|place| place.common)?;
    if place.common < MIN_COMMON_BYTES {
        return None;
    }
    let here = text.get(place.start..)?;
    let (same, found, wanted) = first_difference(here, old)?;
    let at = place.start + same;
    let line_start = |offset: usize| {
        let before = text.get(..offset).unwrap_or_default();
        before.rfind('\n').map_or(0, |index| index + 1)
    };
    let number = |offset: usize| text.get(..offset).unwrap_or_default().matches('\n').count() + 1;
    let column = text.get(line_start(at)..at)?.chars().count();
    let first = number(place.start);
    let differing = number(at) - first;
    let count = old.lines().count().max(differing + 1);
    let skipped = (differing + 1).saturating_sub(MAX_LINES);
    let lines: Vec<String> = text
        .get(line_start(place.start)..)?
        .split('\n')
        .take(count)
        .enumerate()
        .skip(skipped)
        .take(MAX_LINES)
        .map(|(index, line)| shown_line(line, (index == differing).then_some(column)))
        .collect();
    let (from, last) = (first + skipped, first + skipped + lines.len() - 1);
    let range = if from == last {
        format!("line {from}")
    } else {
        format!("lines {from} to {last}")
    };
    Some(format!(
        "the nearest place is {range}:\n{}\nThe first difference is in line {}, column {}: the file has {}, `old` has {}",
        lines.join("\n"),
        first + differing,
        column + 1,
        named(found),
        named(wanted),
    ))
}

/// The bytes that both texts begin with, and the characters after them; `None` is the end.
fn first_difference(text: &str, old: &str) -> Option<(usize, Option<char>, Option<char>)> {
    let mut same = 0;
    let mut found = text.chars();
    for wanted in old.chars() {
        match found.next() {
            Some(other) if other == wanted => same += wanted.len_utf8(),
            other => return Some((same, other, Some(wanted))),
        }
    }
    None
}

/// The place where most lines of `old` are, white space aside. Each line votes for the place by its
/// first occurrence in `old`, so that the cost is linear however often a line repeats.
fn by_lines(text: &str, old: &str) -> Option<Place> {
    let mut wanted = HashMap::new();
    for (index, line) in old.lines().enumerate() {
        if let Some((hash, length)) = squeezed(line)
            && let Entry::Vacant(entry) = wanted.entry(hash)
        {
            entry.insert((index, length));
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let vote = squeezed(line).and_then(|(hash, _)| wanted.get(&hash));
        if let Some((index, length)) = vote
            && let Some(start) = number.checked_sub(*index)
        {
            *votes.entry(start).or_default() += length;
        }
    }
    let (line, common) = votes
        .into_iter()
        .max_by_key(|(line, common)| (*common, std::cmp::Reverse(*line)))?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    // `old` may begin in the middle of a line.
    let first = text.get(start..)?.lines().next()?;
    let inside = old.lines().next().filter(|wanted| first.ends_with(wanted));
    let skipped = inside.map_or(0, |wanted| first.len() - wanted.len());
    Some(Place {
        start: start + skipped,
        common,
    })
}

/// A hash of a line without its white space, and its length; `None` for a blank line.
fn squeezed(line: &str) -> Option<(u64, usize)> {
    let mut hasher = DefaultHasher::new();
    let mut length = 0;
    for word in line.split_whitespace() {
        word.hash(&mut hasher);
        length += word.len();
    }
    (length > 0).then(|| (hasher.finish(), length))
}

/// The place where the longest beginning of `old` is.
fn by_start(text: &str, old: &str) -> Option<Place> {
    let length = longest(old.len(), |length| {
        text.contains(at_boundary(old, length, false).0)
    });
    let (start, _) = at_boundary(old, length, false);
    place_of(start, text.find(start)?)
}

/// The place where the longest end of `old` is, with as many characters before it as `old` has.
fn by_end(text: &str, old: &str) -> Option<Place> {
    let length = longest(old.len(), |length| {
        text.contains(at_boundary(old, old.len() - length, true).1)
    });
    let (before, end) = at_boundary(old, old.len() - length, true);
    let above = text.get(..text.find(end)?)?;
    let start = match before.chars().count() {
        0 => above.len(),
        count => above.char_indices().nth_back(count - 1)?.0,
    };
    place_of(end, start)
}

fn place_of(common: &str, start: usize) -> Option<Place> {
    let common = common.split_whitespace().map(str::len).sum();
    Some(Place { start, common })
}

/// The largest length that holds. What holds for a length holds for all shorter ones.
fn longest(max: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (0, max);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if holds(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

/// Splits a text at an offset, or at the next character boundary before or after it.
fn at_boundary(text: &str, offset: usize, is_after: bool) -> (&str, &str) {
    text.split_at(if is_after {
        text.ceil_char_boundary(offset)
    } else {
        text.floor_char_boundary(offset)
    })
}

/// A line, or the part of a long one around the column of the difference.
fn shown_line(line: &str, column: Option<usize>) -> String {
    let skipped = match column {
        Some(column) if line.chars().nth(MAX_LINE_CHARS).is_some() => {
            column.saturating_sub(LEAD_CHARS)
        }
        _ => 0,
    };
    let mut rest = line.chars().skip(skipped);
    let shown: String = rest.by_ref().take(MAX_LINE_CHARS).collect();
    let lead = if skipped > 0 { "..." } else { "" };
    let tail = if rest.next().is_some() { "..." } else { "" };
    format!("{lead}{shown}{tail}")
}

fn named(character: Option<char>) -> String {
    match character {
        None => "its end".to_owned(),
        Some('\t') => "a tab".to_owned(),
        Some(' ') => "a space".to_owned(),
        Some('\n') => "a line end".to_owned(),
        Some(other) if other.is_ascii_graphic() => format!("`{other}`"),
        Some(other) if other.is_control() || other.is_whitespace() || other == '\u{feff}' => {
            format!("U+{:04X}", u32::from(other))
        }
        Some(other) => format!("`{other}` (U+{:04X})", u32::from(other)),
    }
}

#[cfg(test)]
mod tests;
