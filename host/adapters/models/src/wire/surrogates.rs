//! Unpaired surrogates in JSON. A string of JSON may have the escape of half a character
//! (RFC 8259, section 8.2), and servers that stream by UTF-16 units send the halves of one character
//! in two events. The parser refuses such an escape, so it is rewritten before the data is parsed
//! again: most data is never scanned.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// The first of the private characters that stand for halves until both have arrived.
const FIRST_MARK: u32 = 0x0010_F800;

/// The surrogates; the first half of a character, then the second.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;
const FIRST_OF_LOW: u32 = 0xDC00;

/// The bytes of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Rewrites the escapes of unpaired surrogates; borrowed if there is none. With `may_continue`, a
/// first half at the end of a string and a second half at the start of one become marks, which
/// [`join`] joins; any other half becomes U+FFFD.
pub(crate) fn rewrite(json: &str, may_continue: bool) -> Cow<'_, str> {
    let mut rewritten = String::new();
    let mut copied = 0;
    let mut at = 0;
    // The end of the escape before: a quote there is part of a string, not its start.
    let mut escaped = 0;
    while let Some(found) = rest(json, at).find('\\') {
        let start = at + found;
        at = start + 2;
        let Some(half) = surrogate(rest(json, start)) else {
            escaped = at;
            continue;
        };
        let end = start + ESCAPE_BYTES;
        let is_first = half < FIRST_OF_LOW;
        at = end;
        if is_first && surrogate(rest(json, end)).is_some_and(|next| next >= FIRST_OF_LOW) {
            at = end + ESCAPE_BYTES;
            escaped = at;
            continue;
        }
        let is_at_edge = if is_first {
            rest(json, end).starts_with('"')
        } else {
            start > escaped && json.get(..start).is_some_and(|json| json.ends_with('"'))
        };
        rewritten.push_str(json.get(copied..start).unwrap_or_default());
        rewritten.push(if may_continue && is_at_edge {
            mark_of(half)
        } else {
            char::REPLACEMENT_CHARACTER
        });
        copied = end;
        escaped = end;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    rewritten.push_str(rest(json, copied));
    Cow::Owned(rewritten)
}

/// Replaces the marks of two halves in a row by their character, and any other by U+FFFD.
pub(crate) fn join(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let Some(half) = half_of(character) else {
            joined.push(character);
            continue;
        };
        let second = characters.peek().copied().and_then(half_of);
        let pair = second.map(|second| char::decode_utf16([half, second]).next());
        match pair {
            Some(Some(Ok(whole))) => {
                joined.push(whole);
                characters.next();
            }
            Some(_) | None => joined.push(char::REPLACEMENT_CHARACTER),
        }
    }
    joined
}

/// Splits the mark of a first half off the end of a text.
pub(crate) fn split_first_half(text: &str) -> (&str, Option<char>) {
    let last = text.chars().next_back();
    match last.filter(|last| half_of(*last).is_some_and(|half| u32::from(half) < FIRST_OF_LOW)) {
        Some(mark) => {
            let length = text.len() - mark.len_utf8();
            (text.get(..length).unwrap_or_default(), Some(mark))
        }
        None => (text, None),
    }
}

/// Returns the surrogate whose escape a text begins with.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u32::from_str_radix(digits, 16).ok()?;
    // `from_str_radix` takes a sign.
    (SURROGATES.contains(&unit) && !digits.starts_with('+')).then_some(unit)
}

fn mark_of(half: u32) -> char {
    let mark = FIRST_MARK + (half - SURROGATES.start());
    char::from_u32(mark).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn half_of(mark: char) -> Option<u16> {
    let offset = u32::from(mark).checked_sub(FIRST_MARK)?;
    u16::try_from(SURROGATES.start() + offset).ok()
}

fn rest(json: &str, from: usize) -> &str {
    json.get(from..).unwrap_or_default()
}
