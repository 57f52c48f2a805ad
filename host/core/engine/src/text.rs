//! Makes untrusted text (of models, components, servers, files) safe to display: bounds it, and
//! replaces or escapes characters that move the cursor, change the direction of writing or are
//! invisible. All text that leaves to something which displays it passes one of these functions:
//!
//! | text | function | joiners and variation selectors |
//! |---|---|---|
//! | prose on several lines, perhaps in pieces: an answer | [`escape`] | stay |
//! | a name, a title, a path, a summary on one line | [`escape_line`] | stay where they shape what is around them |
//! | text that a decision depends on | [`framed`] | escaped, as unusual spaces are |
//! | JSON on a terminal or in a log | [`escape_json`] | escaped; the value is unchanged |
//! | the strings of a JSON message whose reader displays them | [`escape_values`] | stay |
//!
//! Data for programs is not escaped: results for a model, the HTTP API, exports.

mod scripts;
#[cfg(test)]
mod tests;

pub use scripts::mixed_scripts;

use serde_json::{Map, Value};
use std::{borrow::Cow, fmt::Write as _};
use unicode_width::UnicodeWidthChar as _;

/// Whether a character can make text look like other text: controls except line breaks and tabs,
/// the characters that set the direction of writing (Unicode Standard Annex 9, section 2),
/// zero-width spaces, and tags (Unicode Standard, section 23.9), which can spell a message to a
/// model. Joiners are excluded, since some languages need them.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(
            c,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
                | '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}'
        )
}

/// Replaces deceptive characters and cuts the text to `max_bytes`.
#[must_use]
pub fn sanitize(text: &str, max_bytes: usize) -> String {
    const MARK: &str = "...";
    let mut out = String::with_capacity(text.len().min(max_bytes));
    for c in text.chars() {
        let c = if is_deceptive(c) { '\u{FFFD}' } else { c };
        if out.len() + c.len_utf8() > max_bytes {
            out.truncate(out.floor_char_boundary(max_bytes.saturating_sub(MARK.len())));
            out.push_str(MARK);
            break;
        }
        out.push(c);
    }
    out
}

/// Escapes control characters (which move cursors, set titles and colours), bidirectional overrides
/// (which make text look like other text) and invisible characters. Line breaks and tabs stay, and
/// so do joiners and variation selectors, which emoji and some languages need. Each character is
/// judged by itself, so the pieces of a text may be escaped one by one.
#[must_use]
pub fn escape(text: &str) -> String {
    escape_if(text, is_hidden)
}

/// Whether [`escape`] escapes a character.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    is_deceptive(c) || is_invisible(c)
}

/// Escapes also joiners and unusual spaces, for text that a decision depends on: different texts
/// look different.
fn escape_ambiguous(text: &str) -> String {
    escape_if(text, is_ambiguous)
}

fn is_ambiguous(c: char) -> bool {
    let is_unusual_space = c.is_whitespace() && !matches!(c, ' ' | '\n' | '\t');
    is_hidden(c) || is_joiner(c) || is_unusual_space
}

/// Whether [`framed`] shows a text without escapes of invisible characters.
pub(crate) fn is_plainly_shown(text: &str) -> bool {
    !text.contains(is_ambiguous)
}

/// Replaces some characters by their escapes.
fn escape_if(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Escapes text as [`escape`] does, and joiners and variation selectors that shape nothing; line
/// breaks and tabs become spaces.
#[must_use]
pub fn escape_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        let after = characters.peek().copied();
        match character {
            '\n' | '\t' => out.push(' '),
            c if is_hidden(c) || (is_joiner(c) && !is_shaping(before, c, after)) => {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
        before = Some(character);
    }
    out
}

/// Whether a joiner or variation selector shapes the characters around it: as a part of an emoji
/// (Unicode Technical Standard 51, section 1.4.9), or between letters of a script that needs it
/// (Unicode Standard Annex 31, section 2.3.1).
fn is_shaping(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after.unwrap_or(' ')) else {
        return false;
    };
    match joiner {
        '\u{fe0e}' | '\u{fe0f}' => is_pictograph(before) || after == '\u{20e3}',
        '\u{200d}' if is_pictograph(after) => is_pictograph(before) || before == '\u{fe0f}',
        '\u{200c}' | '\u{200d}' => is_joining_letter(before) && is_joining_letter(after),
        _ => false,
    }
}

/// Whether a character is of a block that has emoji.
fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{2bff}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    ) && !is_joiner(character)
}

/// Whether a character is of a block of a script that is written with joiners: Arabic and those
/// like it, those of India, Myanmar and Khmer, and Mongolian.
fn is_joining_letter(character: char) -> bool {
    matches!(
        character,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
    ) && !is_joiner(character)
}

/// Escapes every character of JSON text that a terminal obeys, reorders or hides as `\uXXXX`: C1
/// controls, DEL, bidirectional and zero-width characters, line separators. The value is unchanged,
/// since such characters occur only in strings.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| is_hidden(c) || is_joiner(c);
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unsafe(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Escapes text onto one line of at most `max` characters.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    truncated(escape_line(text), max)
}

/// Cuts text after `max` characters.
#[must_use]
pub fn truncated(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Formats a number of bytes, such as `12.3 KiB`.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut unit = 0;
    let mut scale = 1_u64;
    while unit + 1 < UNITS.len() && count / scale >= 1024 {
        scale *= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if scale == 1 {
        return format!("{count} {name}");
    }
    let tenths = count.saturating_mul(10) / scale;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// Escapes every string and key of a JSON message as [`escape`] does, except below the keys in
/// `verbatim`: those have bytes, or are compared with what comes back.
pub fn escape_values(message: &mut Value, verbatim: &[&str]) {
    match message {
        Value::String(text) if text.contains(is_hidden) => *text = escape(text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| escape_values(item, verbatim)),
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains(is_hidden)) {
                let taken = std::mem::take(fields).into_iter();
                *fields = taken
                    .map(|(key, value)| (escape(&key), value))
                    .collect::<Map<_, _>>();
            }
            for (key, value) in fields {
                if !verbatim.contains(&key.as_str()) {
                    escape_values(value, verbatim);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Frames untrusted text in a question of the host, so that no row looks like the host's own:
/// escapes it, including joiners, unusual spaces and characters like the bar, and breaks it into
/// rows of at most `columns` that begin with a bar. Beyond `max_rows` rows, a last row says how
/// many are not shown.
#[must_use]
pub fn framed(text: &str, columns: usize, max_rows: usize) -> String {
    let width = columns.saturating_sub(BAR_COLUMNS).max(MIN_FRAME_COLUMNS);
    let rows: Vec<String> = text
        .split('\n')
        .flat_map(|line| wrapped(line, width))
        .collect();
    let left_out = rows.len().saturating_sub(max_rows);
    let mut out: Vec<String> = rows
        .into_iter()
        .take(max_rows)
        .map(|row| format!("{BAR}{row}"))
        .collect();
    if left_out > 0 {
        out.push(match left_out {
            1 => "(1 more row of this text is not shown)".to_owned(),
            _ => format!("({left_out} more rows of this text are not shown)"),
        });
    }
    out.join("\n")
}

/// Splits a line into one or more rows of at most `width` columns.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let (mut used, mut stacked) = (0, 0);
    let written = escape_ambiguous(line).replace('\t', " ");
    for character in written.chars() {
        let columns = character.width_cjk().unwrap_or_default();
        stacked = if columns == 0 { stacked + 1 } else { 0 };
        // A stack of accents reaches into the rows above and below.
        let is_escaped = is_frame(character) || stacked > MAX_STACKED;
        let piece = if is_escaped {
            character.escape_unicode().to_string()
        } else {
            character.to_string()
        };
        let columns = if is_escaped { piece.len() } else { columns };
        if used + columns > width {
            rows.push(String::new());
            used = 0;
        }
        used += columns;
        if let Some(row) = rows.last_mut() {
            row.push_str(&piece);
        }
    }
    rows
}

/// The start of each row of framed text.
const BAR: &str = "│ ";

/// The columns of [`BAR`] on a terminal that draws the bar two columns wide.
const BAR_COLUMNS: usize = 3;

/// The least width of the text beside the bar, in columns, on a terminal of any width.
const MIN_FRAME_COLUMNS: usize = 20;

/// The most zero-width characters after one character.
const MAX_STACKED: usize = 2;

/// Whether a character is of the Unicode blocks Box Drawing or Block Elements.
fn is_frame(character: char) -> bool {
    matches!(character, '\u{2500}'..='\u{259f}')
}

/// Whether a character is invisible besides the deceptive ones: default-ignorable characters that
/// no language needs, line separators, and annotation marks. A tool's description may contain them,
/// copied by its author; displayed text has them escaped.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{2061}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// Whether a character is a joiner, variation selector or filler: without a shape, but needed by
/// some languages.
pub(crate) fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
    )
}
